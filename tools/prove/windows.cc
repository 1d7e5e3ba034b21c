#include "tools/prove/windows.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <string_view>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// SR_SWINHI, and what has a number in place of a name: SR47
bool IsWindow(std::string_view special) {
  if (absl::StrContains(special, "WIN")) return true;
  return absl::ConsumePrefix(&special, "SR") && !special.empty() && absl::ascii_isdigit(special[0]);
}

// LDC R1, c[0x0][0x28]: where the stack begins, of 32 bits. It is no address of the window.
bool TakesStackPointer(const SassInstruction& i, const SassOperand& operand,
                       const Machine& machine) {
  const bool load = i.opcode == "LDC" && i.modifiers.empty();
  const bool move = (i.opcode == "MOV" && i.modifiers.empty()) ||
                    (i.opcode == "IMAD" && i.modifiers == ".MOV.U32");
  return (load || move) && !i.operands.empty() && i.operands[0].IsPlainRegister() &&
         IsStackPointer(i.operands[0].reg) && &operand == &i.operands.back() &&
         operand.offset == machine.stack;
}

// ULDC.64 UR4, c[0x0][0x208]: how global memory is reached.
bool IsDescriptor(const SassInstruction& i, const SassOperand& operand, const Machine& machine) {
  return (i.opcode == "ULDC" || i.opcode == "LDCU") && i.modifiers == ".64" &&
         operand.offset == machine.descriptor;
}

// That it takes of a constant, at most.
uint64_t BytesOf(const SassInstruction& i) {
  for (const std::string_view wide : {"64", "96", "128", "U64", "S64", "F64", "WIDE"}) {
    if (i.Has(wide)) return 16;
  }
  return i.opcode[0] == 'D' ? 16 : 4;
}

bool TakesWindow(const SassInstruction& i, const Machine& machine) {
  return absl::c_any_of(i.operands, [&](const SassOperand& operand) {
    if (operand.kind == Kind::kSpecial) return IsWindow(operand.text);
    if (operand.kind != Kind::kConstant) return false;
    if (!operand.known_bank) return true;
    if (operand.bank != 0) return false;
    // An index is counted from where an array of the parameters begins.
    constexpr uint64_t kMostOffset = 1 << 16;
    if (operand.by_register) {
      return operand.offset < machine.parameters || operand.offset >= kMostOffset;
    }
    const bool before =
        operand.offset < machine.parameters && operand.offset + BytesOf(i) > machine.sizes;
    return before && !TakesStackPointer(i, operand, machine) && !IsDescriptor(i, operand, machine);
  });
}

}  // namespace

bool MayTakeWindows(const SassCode& code, const Machine& machine) {
  return absl::c_any_of(code.instructions,
                        [&machine](const SassInstruction& i) { return TakesWindow(i, machine); });
}

}  // namespace vramspan::prove
