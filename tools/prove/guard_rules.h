// Which instructions put a predicate by in a register, and which take it from there.
//
//   P2R R51, PR, RZ, 0x40                          R51 is not 0 where P6 holds,
//   ISETP.NE.AND P3, PT, R51, RZ, PT               and P3 holds where R51 is not 0.
//   LOP3.LUT R48, R48, 0xffffffef, RZ, 0xc0, !PT   Bit 4 of R48 is 0,
//   @P6 LOP3.LUT R48, R48, 0x10, RZ, 0xfc, !PT     but 1 where P6 holds,
//   LOP3.LUT P3, RZ, R48, 0x10, RZ, 0xc0, !PT      and P3 holds where it is 1.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_GUARD_RULES_H_
#define VRAMSPAN_TOOLS_PROVE_GUARD_RULES_H_

#include "tools/prove/registers.h"
#include "tools/prove/sass_instruction.h"

namespace vramspan::prove {

// What one instruction does to such predicates. Made before the instruction has written anything.
class GuardRule {
 public:
  GuardRule(const SassInstruction& instruction, const Registers& before);
  // After it has written its registers and predicates.
  void ApplyTo(Registers* registers) const;

 private:
  enum class Bits : uint8_t { kCleared, kSet };
  // Of the register that the instruction begins with; all other bits of it stay.
  void ChangeBits(const SassInstruction& i, Bits become, uint32_t bits, const Registers& before);

  SavedGuards stay_;  // What is known of bits that it leaves as they are.
  // Of some bits of a register, that they are 0; or of a register or its bit, where it is not.
  uint16_t index_ = 0;
  uint32_t zeros_ = 0;
  SavedIn in_;
  SassGuard guard_ = kOtherGuard;
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_GUARD_RULES_H_
