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

// Which bit of a number of 32 the mask is.
std::optional<uint8_t> OneBit(const std::optional<uint64_t>& mask) {
  if (!mask || *mask > kAllBits || !std::has_single_bit(*mask)) return std::nullopt;
  return static_cast<uint8_t>(std::countr_zero(*mask));
}

// LOP3.LUT R48, R48, 0x10, RZ, `table`, !PT
bool OfItself(const SassInstruction& i, std::string_view table) {
  return i.opcode == "LOP3" && i.modifiers == ".LUT" && i.operands.size() == 6 &&
         IsRegister(i, 0) && IsRegister(i, 1) && i.operands[0].reg == i.operands[1].reg &&
         i.operands[2].Number() <= kAllBits && Is(i, 3, "RZ") && Is(i, 4, table) && Is(i, 5, "!PT");
}

}  // namespace

GuardRule::GuardRule(const SassInstruction& i, const Registers& before) {
  if (OfItself(i, "0xc0") || OfItself(i, "0xfc")) ChangeBits(i, before);
  if (i.guard != kNoGuard) return;
  if (i.opcode == "P2R" && i.modifiers.empty() && i.operands.size() == 4 && IsRegister(i, 0) &&
      Is(i, 1, "PR") && Is(i, 2, "RZ")) {
    const std::optional<uint8_t> bit = OneBit(i.operands[3].Number());
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
    const std::optional<uint8_t> bit = OneBit(i.operands[3].Number());
    if (!bit) return;
    in_ = {Registers::Index(i.operands[2].reg), *bit};
    guard_ = GuardOf(i.operands[0].text);
  }
}

void GuardRule::ChangeBits(const SassInstruction& i, const Registers& before) {
  const bool clears = Is(i, 4, "0xc0");
  const auto mask = static_cast<uint32_t>(*i.operands[2].Number());
  const uint32_t changed = clears ? ~mask : mask;
  index_ = Registers::Index(i.operands[0].reg);
  stay_ = before.saved().Of(index_, ~changed);
  if (clears && i.guard == kNoGuard && std::popcount(changed) <= kMostCleared) zeros_ = changed;
  const std::optional<uint8_t> bit = clears ? std::nullopt : OneBit(mask);
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
