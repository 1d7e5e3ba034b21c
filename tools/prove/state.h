// All that is known before an instruction.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_STATE_H_
#define VRAMSPAN_TOOLS_PROVE_STATE_H_

#include <array>

#include "tools/prove/known_words.h"
#include "tools/prove/local_memory.h"
#include "tools/prove/registers.h"

namespace vramspan::prove {

class State {
 public:
  static constexpr size_t kBarriers = 16;
  static constexpr uint32_t kAnywhere = ~uint32_t{0};

  State() { go_on_.fill(kAnywhere); }

  Registers& registers() { return registers_; }
  const Registers& registers() const { return registers_; }
  void Set(SassRegister reg, SassGuard guard, Origin origin);
  void Add(SassRegister reg, Origin origin);
  // Predicates are others now: that of the guard, or all.
  void Forget(SassGuard guard);
  void ForgetAll();

  KnownWords& words() { return words_; }
  const KnownWords& words() const { return words_; }

  LocalMemory& local() { return local_; }
  const LocalMemory& local() const { return local_; }

  // The instruction that threads go on with which meet at the barrier; kAnywhere: it is not known.
  uint32_t GoOn(size_t barrier) const { return go_on_[barrier]; }
  void SetGoOn(size_t barrier, uint32_t at) { go_on_[barrier] = at; }

  void BeginFunction() { registers_.BeginFunction(); }
  void TakeWritten(const State& function);
  bool Join(const State& other);
  size_t Bytes() const {
    return sizeof(State) + registers_.Bytes() + words_.Bytes() + local_.Bytes();
  }

 private:
  Registers registers_;
  KnownWords words_;
  LocalMemory local_;
  std::array<uint32_t, kBarriers> go_on_{};
};

// By the ABI of all compilers of CUDA.
inline bool IsStackPointer(SassRegister reg) {
  return !reg.uniform && !reg.zero && reg.number == 1;
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_STATE_H_
