#include "tools/prove/windows.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// LDC R1, c[0x0][0x28]: where the stack begins, of 32 bits. It is no address of the window.
bool TakesStackPointer(const SassInstruction& i) {
  const bool takes = i.opcode == "LDC" || i.opcode == "MOV" || i.opcode == "IMAD";
  return takes && !i.Has("64") && !i.operands.empty() && i.operands[0].kind == Kind::kRegister &&
         IsStackPointer(i.operands[0].reg);
}

// ULDC.64 UR4, c[0x0][0x208]: how global memory is reached.
bool IsDescriptor(const SassInstruction& i, const SassOperand& operand, const Machine& machine) {
  return (i.opcode == "ULDC" || i.opcode == "LDCU") && i.modifiers == ".64" &&
         operand.offset == machine.descriptor;
}

bool TakesWindow(const SassInstruction& i, const Machine& machine) {
  return absl::c_any_of(i.operands, [&](const SassOperand& operand) {
    if (operand.kind == Kind::kSpecial) return absl::StrContains(operand.text, "WIN");
    if (operand.kind != Kind::kConstant) return false;
    if (!operand.known_bank) return true;
    const bool before =
        operand.bank == 0 && operand.offset < machine.parameters && operand.offset >= machine.sizes;
    return before && !TakesStackPointer(i) && !IsDescriptor(i, operand, machine);
  });
}

}  // namespace

bool MayTakeWindows(const SassCode& code, const Machine& machine) {
  return absl::c_any_of(code.instructions,
                        [&machine](const SassInstruction& i) { return TakesWindow(i, machine); });
}

}  // namespace vramspan::prove
