// One instruction of nvdisasm's text.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_SASS_INSTRUCTION_H_
#define VRAMSPAN_TOOLS_PROVE_SASS_INSTRUCTION_H_

#include <optional>
#include <string_view>
#include <vector>

#include "tools/prove/sass_operand.h"

namespace vramspan::prove {

// A predicate and what it must be, as a number; kOtherGuard: it is not told from others.
using SassGuard = uint8_t;
inline constexpr SassGuard kNoGuard = 0, kOtherGuard = 1;
SassGuard GuardOf(std::string_view text);  // P0, !UP1
constexpr SassGuard Opposite(SassGuard guard) { return guard ^ 1; }

struct SassInstruction {
  SassGuard guard = kNoGuard;  // It runs where that holds.
  std::string_view opcode;     // Up to the first dot.
  std::string_view modifiers;  // From there on, dots included.
  std::vector<SassOperand> operands;
  std::string_view text;

  bool Has(std::string_view modifier) const;  // As a whole: "64", not "U64".
  std::string_view Label() const;             // That it names: `(.L_x_1)
  // It may do nothing: it has a guard, or a predicate that is not always true.
  bool Conditional() const;
};

// /*0010*/   @!P0 LDG.E R2, desc[UR4][R2.64] ;
std::optional<SassInstruction> ParseInstruction(std::string_view line);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_SASS_INSTRUCTION_H_
