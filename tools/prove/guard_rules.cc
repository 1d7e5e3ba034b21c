#include "tools/prove/guard_rules.h"

#include <bit>
#include <optional>
#include <string_view>

namespace vramspan::prove {
namespace {

// Of a mask that code clears at once: more are not looked at.
constexpr int kMostCleared = 4;
constexpr uint64_t kAllBits = 0xffffffff;

bool Is(const SassInstruction& i, size_t operand, std::string_view text) {
  return i.operands[operand].text == text;
}

bool IsRegister(const SassInstruction& i, size_t operand) {
  return i.operands[operand].IsPlainRegister() && !i.operands[operand].reg.zero;
}

// A number of 32 bits that stands in the instruction.
std::optional<uint32_t> MaskOf(const SassOperand& operand) {
  const std::optional<uint64_t> number = operand.Number();
  if (!number || *number > kAllBits) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

// Which bit the mask is.
std::optional<uint8_t> OneBit(std::optional<uint32_t> mask) {
  if (!mask || !std::has_single_bit(*mask)) return std::nullopt;
  return static_cast<uint8_t>(std::countr_zero(*mask));
}

// LOP3.LUT R48, R48, 0x10, RZ, `table`, !PT: the mask.
std::optional<uint32_t> MaskOfItself(const SassInstruction& i, std::string_view table) {
  const bool is = i.opcode == "LOP3" && i.modifiers == ".LUT" && i.operands.size() == 6 &&
                  IsRegister(i, 0) && IsRegister(i, 1) && i.operands[0].reg == i.operands[1].reg &&
                  Is(i, 3, "RZ") && Is(i, 4, table) && Is(i, 5, "!PT");
  return is ? MaskOf(i.operands[2]) : std::nullopt;
}

}  // namespace

GuardRule::GuardRule(const SassInstruction& i, const Registers& before) {
  if (const auto mask = MaskOfItself(i, "0xc0")) ChangeBits(i, Bits::kCleared, ~*mask, before);
  if (const auto mask = MaskOfItself(i, "0xfc")) ChangeBits(i, Bits::kSet, *mask, before);
  if (i.guard != kNoGuard) return;
  if (i.opcode == "P2R" && i.modifiers.empty() && i.operands.size() == 4 && IsRegister(i, 0) &&
      Is(i, 1, "PR") && Is(i, 2, "RZ")) {
    const std::optional<uint8_t> bit = OneBit(MaskOf(i.operands[3]));
    if (!bit || *bit > 6) return;
    const char name[] = {'P', static_cast<char>('0' + *bit), 0};
    in_ = {Registers::Index(i.operands[0].reg)};
    guard_ = GuardOf(name);
  }
  if (i.opcode == "ISETP" && i.operands.size() == 5 && Is(i, 1, "PT") && IsRegister(i, 2) &&
      Is(i, 3, "RZ") && Is(i, 4, "PT")) {
    const bool equal = i.modifiers == ".EQ.AND";
    if (!equal && i.modifiers != ".NE.AND") return;
    in_ = {Registers::Index(i.operands[2].reg)};
    guard_ = GuardOf(i.operands[0].text);
    if (equal && guard_ != kOtherGuard) guard_ = Opposite(guard_);
  }
  if (i.opcode == "LOP3" && i.modifiers == ".LUT" && i.operands.size() == 7 && Is(i, 1, "RZ") &&
      IsRegister(i, 2) && Is(i, 4, "RZ") && Is(i, 5, "0xc0") && Is(i, 6, "!PT")) {
    const std::optional<uint8_t> bit = OneBit(MaskOf(i.operands[3]));
    if (!bit) return;
    in_ = {Registers::Index(i.operands[2].reg), *bit};
    guard_ = GuardOf(i.operands[0].text);
  }
}

void GuardRule::ChangeBits(const SassInstruction& i, Bits become, uint32_t bits,
                           const Registers& before) {
  index_ = Registers::Index(i.operands[0].reg);
  stay_ = before.saved().Of(index_, ~bits);
  if (become == Bits::kCleared) {
    if (i.guard == kNoGuard && std::popcount(bits) <= kMostCleared) zeros_ = bits;
    return;
  }
  const std::optional<uint8_t> bit = OneBit(bits);
  if (bit && i.guard > kOtherGuard && before.saved().IsZero({index_, *bit})) {
    in_ = {index_, *bit};
    guard_ = i.guard;
  }
}

void GuardRule::ApplyTo(Registers* registers) const {
  registers->PutBack(stay_);
  for (uint8_t bit = 0; bit < SavedIn::kAll; ++bit) {
    if ((zeros_ >> bit & 1) != 0) registers->Save({index_, bit}, kNoGuard);
  }
  if (guard_ > kOtherGuard) registers->Save(in_, guard_);
}

}  // namespace vramspan::prove
