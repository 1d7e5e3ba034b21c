// Predicates that code has put by in registers, and what it wrote under such a predicate.
//
// There are seven predicates, and code that stores a tile needs one for each row. So it saves one
// in a register or in a bit of one, makes another of it, and asks the register later. An address
// that was written under the first is right again under the last (guard_rules.h).
//
// Pure. Bounded: what is beyond the bounds is forgotten, which proves less.
#ifndef VRAMSPAN_TOOLS_PROVE_SAVED_GUARDS_H_
#define VRAMSPAN_TOOLS_PROVE_SAVED_GUARDS_H_

#include <absl/container/inlined_vector.h>

#include <cstdint>

#include "tools/prove/origins.h"
#include "tools/prove/sass_instruction.h"

namespace vramspan::prove {

// A register that was written under a guard.
struct GuardedRegister {
  uint16_t index = 0;  // As Registers numbers them.
  SassGuard guard = kNoGuard;
  Origin origin{};  // Where the guard holds.
};

// Where a predicate is kept: it holds where that is not 0.
struct SavedIn {
  static constexpr uint8_t kAll = 32;
  uint16_t index = 0;  // A register,
  uint8_t bit = kAll;  // and one of its bits, or all of them.
  bool operator==(const SavedIn&) const = default;
};

class SavedGuards {
 public:
  // `in` is not 0 where the guard holds, and 0 elsewhere. kNoGuard: it is 0.
  void Save(SavedIn in, SassGuard guard);
  bool IsZero(SavedIn in) const;
  // The predicate is another from here on. `written` was written under it.
  void Keep(const GuardedRegister& written);
  void Forget(SassGuard guard);
  void ForgetGuards();
  void ForgetAll();

  // Of what was kept by `in`, each as written under `guard`, which holds where `in` is not 0.
  template <typename Visit>
  void ForEachKept(SavedIn in, SassGuard guard, Visit visit) const {
    for (const Kept& one : kept_) {
      if (one.in != in) continue;
      visit(GuardedRegister{one.index, one.holds ? guard : Opposite(guard), one.origin});
    }
  }

  // The register is another from here on; or it may hold this as well.
  void Written(uint16_t index);
  void Added(uint16_t index, Origin origin);
  // What is kept by these bits of the register, which may then be put back.
  SavedGuards Of(uint16_t index, uint32_t bits) const;
  void PutBack(const SavedGuards& of);

  // Keeps what is known both here and there. Whether that changed anything.
  bool Join(const SavedGuards& other);

  size_t size() const { return saved_.size() + kept_.size(); }
  // Beside what it holds in itself.
  size_t Bytes() const {
    return saved_.capacity() * sizeof(Saved) + kept_.capacity() * sizeof(Kept);
  }

 private:
  static constexpr size_t kMostSaved = 128, kMostKept = 256;
  struct Saved {
    SavedIn in;
    SassGuard guard = kNoGuard;
    bool operator==(const Saved&) const = default;
  };
  struct Kept {
    uint16_t index = 0;
    SavedIn in;          // Written where this is not 0,
    bool holds = false;  // or else where it is 0.
    Origin origin{};
  };
  const Kept* Find(const Kept& like) const;

  absl::InlinedVector<Saved, 4> saved_;
  absl::InlinedVector<Kept, 4> kept_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_SAVED_GUARDS_H_
