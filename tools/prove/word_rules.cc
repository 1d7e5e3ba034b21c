#include "tools/prove/word_rules.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <array>
#include <limits>
#include <string_view>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// The word of the parameters that the constant is, or the one so many further on.
std::optional<ParameterWord> WordAt(const SassOperand& operand, uint64_t parameters, unsigned bytes,
                                    uint64_t further = 0) {
  if (operand.kind != Kind::kConstant || !absl::StartsWith(operand.text, "c[") ||
      !absl::EndsWith(operand.text, "]") || !operand.known_bank || operand.bank != 0 ||
      operand.by_register || operand.offset < parameters) {
    return std::nullopt;
  }
  const uint64_t at = operand.offset - parameters + further * sizeof(uint32_t);
  if (at % bytes != 0 || at > std::numeric_limits<uint16_t>::max()) return std::nullopt;
  return ParameterWord{static_cast<uint16_t>(at), static_cast<uint8_t>(bytes)};
}

// That the operand is.
std::optional<ParameterWord> WordOf(const SassOperand& operand, uint64_t parameters,
                                    const KnownWords& known) {
  const bool reg = operand.IsPlainRegister() && !operand.reg.zero;
  return reg ? known.Of(operand.reg) : WordAt(operand, parameters, sizeof(uint32_t));
}

// RZ, 0x3, -0x1
std::optional<uint32_t> NumberOf(const SassOperand& operand) {
  if (operand.IsPlainRegister() && operand.reg.zero) return 0;
  std::string_view text = operand.text;
  const bool negative = absl::ConsumePrefix(&text, "-");
  uint64_t number = 0;
  if (operand.kind != Kind::kNumber || !absl::ConsumePrefix(&text, "0x") || text.empty() ||
      text.size() > 8 || !absl::SimpleHexAtoi(text, &number)) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(negative ? -number : number);
}

// LDC.64 R4, c[0x0][0x228]; ULDC.U8 UR12, c[0x0][0x474]
void Load(const SassInstruction& i, uint64_t parameters, Learnt* learnt) {
  struct Form {
    std::string_view modifiers;
    unsigned count, bytes;
  };
  static constexpr Form kForms[] = {
      {"", 1, 4}, {".64", 2, 4}, {".128", 4, 4}, {".U8", 1, 1}, {".U16", 1, 2}};
  if (i.operands.size() != 2 || !i.operands[0].IsPlainRegister()) return;
  for (const Form& form : kForms) {
    for (unsigned k = 0; form.modifiers == i.modifiers && k < form.count; ++k) {
      const std::optional<SassRegister> to = Further(i.operands[0].reg, k);
      const auto word = WordAt(i.operands[1], parameters, form.bytes, k);
      if (to && !to->zero && word) learnt->words.emplace_back(*to, *word);
    }
  }
}

// MOV R2, UR4. IMAD.MOV.U32 R2, RZ, RZ, UR4 is one, too.
bool IsMove(const SassInstruction& i) {
  if (i.opcode == "MOV" || i.opcode == "UMOV" || i.opcode == "R2UR") {
    return i.modifiers.empty() && i.operands.size() == 2;
  }
  return i.opcode == "IMAD" && (i.modifiers == ".MOV.U32" || i.modifiers == ".U32") &&
         i.operands.size() == 4 && NumberOf(i.operands[1]) == 0 && NumberOf(i.operands[2]) == 0;
}

enum class Sides : uint8_t { kWordFirst, kNumberFirst };

// Where `word` compares so with the number. Nothing: it always does, or never.
std::optional<ParameterRange> RangeOf(std::string_view how, bool is_signed, Sides sides,
                                      ParameterWord word, uint32_t number) {
  if (how == "EQ" || how == "NE") {
    const ParameterRange equal = {word.at, number, number, word.bytes};
    return how == "EQ" ? equal : Outside(equal);
  }
  const uint32_t least = is_signed ? uint32_t{1} << 31 : 0, most = least - 1;
  const bool mirrored = sides == Sides::kNumberFirst;
  const bool less = (how == "LT" || how == "LE") != mirrored;
  const bool equal = how == "LE" || how == "GE";
  if (number == (less == equal ? most : least)) return std::nullopt;
  if (less) return ParameterRange{word.at, least, equal ? number : number - 1, word.bytes};
  return ParameterRange{word.at, equal ? number : number + 1, most, word.bytes};
}

// ISETP.NE.U32.AND P0, PT, R0, 0x3, PT
void Compare(const SassInstruction& i, uint64_t parameters, const KnownWords& known,
             Learnt* learnt) {
  std::string_view how = i.modifiers;
  static constexpr std::array<std::string_view, 6> kHow = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  const bool plain = absl::ConsumePrefix(&how, ".") && absl::ConsumeSuffix(&how, ".AND");
  const bool is_signed = !absl::ConsumeSuffix(&how, ".U32");
  bool known_how = false;
  for (const std::string_view one : kHow) known_how |= one == how;
  if (!plain || !known_how || i.operands.size() != 5) return;
  const auto always = [](const SassOperand& operand) {
    return operand.text == "PT" || operand.text == "UPT";
  };
  const SassGuard to = GuardOf(i.operands[0].text);
  if (to <= kOtherGuard || to != (to & ~1) || !always(i.operands[1]) || !always(i.operands[4])) {
    return;
  }
  std::optional<ParameterWord> word = WordOf(i.operands[2], parameters, known);
  std::optional<uint32_t> number = NumberOf(i.operands[3]);
  Sides sides = Sides::kWordFirst;
  if (!word) {
    sides = Sides::kNumberFirst;
    word = WordOf(i.operands[3], parameters, known);
    number = NumberOf(i.operands[2]);
  }
  if (!word || !number) return;
  if (const auto range = RangeOf(how, is_signed, sides, *word, *number)) {
    learnt->test = {to, *range};
  }
}

// PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0: what the last of three is, where all must hold. 0x40:
// what it is not.
void MovePredicate(const SassInstruction& i, const KnownWords& known, Learnt* learnt) {
  if (i.modifiers != ".LUT" || i.operands.size() != 7) return;
  const std::optional<uint32_t> table = NumberOf(i.operands[5]);
  if (table != 0x80 && table != 0x40) return;
  for (const size_t k : {1, 2, 3}) {
    if (i.operands[k].text != "PT" && i.operands[k].text != "UPT") return;
  }
  const SassGuard to = GuardOf(i.operands[0].text), from = GuardOf(i.operands[4].text);
  if (to <= kOtherGuard || to != (to & ~1) || from <= kOtherGuard) return;
  if (const std::optional<ParameterRange> range = known.TestOf(from)) {
    learnt->test = {to, table == 0x80 ? *range : Outside(*range)};
  }
}

// All of the one is in the other.
bool IsInside(const ParameterRange& inner, const ParameterRange& outer) {
  const uint32_t begin = inner.first - outer.first;
  return uint64_t{begin} + (inner.last - inner.first) <= outer.last - outer.first;
}

}  // namespace

Learnt LearntFrom(const SassInstruction& i, uint64_t parameters, const KnownWords& before) {
  Learnt learnt;
  if (i.guard != kNoGuard) return learnt;
  if (i.opcode == "LDC" || i.opcode == "ULDC" || i.opcode == "LDCU") {
    Load(i, parameters, &learnt);
  } else if (i.opcode == "ISETP" || i.opcode == "UISETP") {
    Compare(i, parameters, before, &learnt);
  } else if (i.opcode == "PLOP3" || i.opcode == "UPLOP3") {
    MovePredicate(i, before, &learnt);
  } else if (IsMove(i) && i.operands[0].IsPlainRegister() && !i.operands[0].reg.zero) {
    const std::optional<ParameterWord> word = WordOf(i.operands.back(), parameters, before);
    if (word) learnt.words.emplace_back(i.operands[0].reg, *word);
  }
  return learnt;
}

// Of a pair that was not seen to be one: BMOV.64 R20, ATEXIT_PC
std::optional<SassRegister> MayWriteToo(const SassInstruction& i) {
  if (!absl::StrContains(i.modifiers, "64") || i.operands.empty() ||
      i.operands[0].kind != Kind::kRegister) {
    return std::nullopt;
  }
  return Further(i.operands[0].reg, 1);
}

std::optional<bool> Decided(const ParameterRange& range, const ParameterRanges& assumed) {
  for (const ParameterRange& one : assumed) {
    if (one.at != range.at || one.bytes != range.bytes) continue;
    if (IsInside(one, range)) return true;
    if (IsInside(one, Outside(range))) return false;
  }
  return std::nullopt;
}

}  // namespace vramspan::prove
