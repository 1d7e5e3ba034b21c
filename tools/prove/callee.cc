#include "tools/prove/callee.h"

#include <absl/strings/numbers.h>

#include <cmath>

namespace vramspan::prove {
namespace {

// How far back is looked. Hostile code has a long way from each call to the begin of its block.
constexpr size_t kMostBack = 256;

struct Write {
  const SassInstruction* instruction = nullptr;
  size_t at = 0;
};

// How many registers it writes at most. Only what stands around such calls is told from others.
uint16_t MostWritten(const SassInstruction& i) {
  const bool one = i.opcode == "MOV" || i.opcode == "UMOV" || i.opcode == "IADD3" ||
                   (i.opcode == "IMAD" && !i.Has("WIDE")) || i.opcode == "HFMA2";
  return one && !i.Has("64") ? 1 : i.opcode == "LEPC" ? 2 : 128;
}

// It may write the register: as the destination, or as a further register of that. Another function
// may write any.
bool MayWrite(const SassInstruction& i, SassRegister reg) {
  if (i.opcode == "CALL") return true;
  for (const SassOperand& operand : i.operands) {
    if (operand.kind == SassOperand::Kind::kPredicate) continue;
    if (operand.kind != SassOperand::Kind::kRegister) return false;
    const SassRegister to = operand.reg;
    return !to.zero && to.uniform == reg.uniform && to.number <= reg.number &&
           reg.number < to.number + MostWritten(i);
  }
  return false;
}

// The last instruction before `at` that may write the register, if it surely writes it, and
// nothing else is on the way from there.
std::optional<Write> LastWrite(const SassCode& code, const Blocks& blocks, SassRegister reg,
                               size_t at) {
  for (size_t back = 0; back < kMostBack; ++back) {
    if (at == 0 || blocks.IsHead(at)) return std::nullopt;
    const SassInstruction& i = code.instructions[--at];
    if (!MayWrite(i, reg)) continue;
    const bool surely = i.guard == kNoGuard && !i.operands.empty() &&
                        i.operands[0].kind == SassOperand::Kind::kRegister &&
                        i.operands[0].reg == reg;
    return surely ? std::optional<Write>({&i, at}) : std::nullopt;
  }
  return std::nullopt;
}

// A number that it puts into a register.
std::optional<uint64_t> Immediate(const SassInstruction& i) {
  const auto number = [&i](size_t k) {
    return k < i.operands.size() ? i.operands[k].Number() : std::nullopt;
  };
  if (i.opcode == "MOV" || i.opcode == "UMOV") return number(1);
  if (i.opcode == "IMAD" && i.Has("MOV") && i.operands.size() == 4) return number(3);
  // Half-precision numbers so small are whole multiples of two to the power of -24.
  double lower = 0;
  if (i.opcode == "HFMA2" && i.operands.size() == 5 && i.operands[1].text == "-RZ" &&
      i.operands[2].text == "RZ" && i.operands[3].text == "0" &&
      absl::SimpleAtod(i.operands[4].text, &lower) && lower >= 0 && lower < 0x1p-14) {
    return static_cast<uint64_t>(std::llround(lower * 0x1p24));
  }
  return std::nullopt;
}

}  // namespace

std::string_view CalleeOf(const SassText& text, const SassCode& code, const Blocks& blocks,
                          size_t call) {
  const std::optional<Write> load =
      LastWrite(code, blocks, code.instructions[call].operands[0].reg, call);
  if (!load || load->instruction->opcode != "LDC" || !load->instruction->Has("64") ||
      load->instruction->operands.size() != 2) {
    return "";
  }
  const SassOperand& from = load->instruction->operands[1];
  if (from.kind != SassOperand::Kind::kConstant || !from.known_bank || from.bank != 4) return "";
  uint64_t offset = from.offset;
  if (from.by_register) {
    const std::optional<Write> index = LastWrite(code, blocks, from.reg, load->at);
    const std::optional<uint64_t> begin =
        index ? Immediate(*index->instruction) : std::optional<uint64_t>();
    if (!begin) return "";
    offset += *begin;
  }
  const auto found = text.addresses.find(offset);
  return found != text.addresses.end() ? found->second : "";
}

}  // namespace vramspan::prove
