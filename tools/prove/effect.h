// One instruction at work on what is known before it: what all rules share.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_EFFECT_H_
#define VRAMSPAN_TOOLS_PROVE_EFFECT_H_

#include <absl/container/inlined_vector.h>

#include <string>
#include <string_view>

#include "tools/prove/state.h"

namespace vramspan::prove {

// Of the architecture that is read.
struct Machine {
  uint64_t parameters = 0;  // Where they begin in bank 0; 0: the architecture is not known.
  uint64_t window = 0;      // Where the address of them stands there; 0: it is not known.
  uint64_t bank = 0;        // The same of the bank as a whole, of which they are a part.
  // Up to there it begins with how many threads and blocks there are, of 32 bits each.
  uint64_t sizes = 0;
  uint64_t stack = 0;       // Where the stack pointer stands there, of 32 bits,
  uint64_t descriptor = 0;  // and the descriptor of global memory, of 64.
  // Of the code that is read: it may have addresses of shared and local memory's windows.
  bool windows = true;
};
Machine MachineOf(int version);

class Effect {
 public:
  // `shared`: what any thread of the kernel has put into shared memory. `settled`: nothing more
  // will be found that may be in the registers.
  Effect(const SassInstruction& instruction, const Machine& machine, bool settled, State* state,
         Origin* shared, std::string* why);

  const SassInstruction& instruction() const { return i_; }
  std::string_view opcode() const { return i_.opcode; }
  bool Has(std::string_view modifier) const { return i_.Has(modifier); }
  bool settled() const { return settled_; }
  const Machine& machine() const { return machine_; }
  State& state() { return state_; }
  Origin& shared() { return shared_; }
  // Says so, and is false.
  bool Doubt(std::string_view what);

  // The first operand that is no predicate, if it is a register; null else.
  const SassOperand* destination() const { return destination_; }
  using Operands = absl::InlinedVector<const SassOperand*, 6>;
  // The operands behind it that are no predicates.
  const Operands& sources() const { return sources_; }
  // How many registers a value has, by the modifiers.
  unsigned Width() const;

  // Of an operand, or of the register so many further on.
  Origin At(const SassOperand& operand, unsigned further = 0) const;
  Origin AtSource(size_t number, unsigned further = 0) const;  // kNumber, if there is none.
  Origin OfAll(unsigned further = 0) const;                    // The last of all sources'.
  Origin OfSum() const;                                        // Of all sources.
  Origin OfConstant(const SassOperand& operand, unsigned further = 0) const;
  // The register that follows this one: the upper half of a pair that begins with it.
  Origin Upper(SassRegister reg) const;

  // It writes so many registers from `reg` on, and perhaps the same to more, up to `most`.
  void Set(SassRegister reg, unsigned count, Origin origin, unsigned most = 0);
  void To(unsigned count, Origin origin, unsigned most = 0);  // Where its destination is.
  void ToPair(Origin lower, Origin upper);

 private:
  const SassInstruction& i_;
  const Machine& machine_;
  const bool settled_;
  State& state_;
  Origin& shared_;
  std::string& why_;
  const SassOperand* destination_ = nullptr;
  Operands sources_;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_EFFECT_H_
