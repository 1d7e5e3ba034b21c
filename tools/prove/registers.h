// What is known of the registers of a thread and of its warp.
//
// A register that is written under a guard holds something else where the guard does not hold. Code
// that reads it under the same guard reads only what was written. Without this the code for "if it
// is in range" would be in doubt. It holds as long as nothing writes the guard's predicate, or a
// register has it still (saved_guards.h).
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_REGISTERS_H_
#define VRAMSPAN_TOOLS_PROVE_REGISTERS_H_

#include <absl/container/inlined_vector.h>

#include <array>
#include <bitset>

#include "tools/prove/origins.h"
#include "tools/prove/sass_instruction.h"
#include "tools/prove/saved_guards.h"

namespace vramspan::prove {

class Registers {
 public:
  // Of all registers, of both kinds.
  static uint16_t Index(SassRegister reg) {
    return static_cast<uint16_t>(reg.number + (reg.uniform ? kSassRegisters : 0u));
  }
  // As an instruction with that guard reads it.
  Origin Of(SassRegister reg, SassGuard guard) const;
  // As an instruction with that guard writes it.
  void Set(SassRegister reg, SassGuard guard, Origin origin);
  // It may hold this as well.
  void Add(SassRegister reg, Origin origin);
  // The predicate of that guard is another now; or each of them is.
  void Forget(SassGuard guard);
  void ForgetAll();
  // Predicates that registers have (saved_guards.h). Of a guard that is made of one what was
  // written under it is known again.
  const SavedGuards& saved() const { return saved_; }
  void Save(SavedIn in, SassGuard guard);
  void PutBack(const SavedGuards& saved) { saved_.PutBack(saved); }
  // The register may be another, and is no address.
  void MayBeANumber(SassRegister reg) { saved_.Written(Index(reg)); }
  size_t Bytes() const { return guarded_.capacity() * sizeof(GuardedRegister) + saved_.Bytes(); }
  // Takes in what may be there as well. Whether that changed anything.
  bool Join(const Registers& other);

  // A function begins, of which it is to be told what it writes.
  void BeginFunction() { written_.reset(); }
  // As `function` left them that was called. What it does not write is the caller's.
  void TakeWritten(const Registers& function);

 private:
  static constexpr size_t kAll = size_t{2} * kSassRegisters;
  // Beyond it the first is forgotten: then a guard does not help, which proves less.
  static constexpr size_t kMostGuarded = 64;
  const GuardedRegister* Find(size_t index) const;
  void Note(const GuardedRegister& written);

  std::array<Origin, kAll> values_{};
  std::bitset<kAll> written_;
  absl::InlinedVector<GuardedRegister, 4> guarded_;
  SavedGuards saved_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_REGISTERS_H_
