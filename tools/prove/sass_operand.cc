#include "tools/prove/sass_operand.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

namespace vramspan::prove {
namespace {

using Kind = SassOperand::Kind;

// Of an address: no more are ever seen, and hostile text has as many as it likes.
constexpr size_t kMostParts = 4;

std::optional<uint64_t> HexNumber(std::string_view text) {
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&text, "0x") || text.empty() || !absl::ascii_isxdigit(text[0]) ||
      !absl::SimpleHexAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

// R12, UR4, RZ, URZ; what follows a dot is none of it.
std::optional<SassRegister> ParseRegister(std::string_view text) {
  SassRegister reg;
  reg.uniform = absl::ConsumePrefix(&text, "U");
  if (!absl::ConsumePrefix(&text, "R")) return std::nullopt;
  text = text.substr(0, text.find('.'));
  if (text == "Z") {
    reg.zero = true;
    return reg;
  }
  uint32_t number = 0;
  if (text.empty() || !absl::ascii_isdigit(text[0]) || !absl::SimpleAtoi(text, &number) ||
      number >= kSassRegisters) {
    return std::nullopt;
  }
  reg.number = static_cast<uint16_t>(number);
  return reg;
}

bool IsPredicate(std::string_view text) {
  absl::ConsumePrefix(&text, "!");
  absl::ConsumePrefix(&text, "U");
  if (!absl::ConsumePrefix(&text, "P")) return false;
  text = text.substr(0, text.find('.'));
  return text == "T" || text == "R" || (text.size() == 1 && absl::ascii_isdigit(text[0]));
}

bool IsNumber(std::string_view text) {
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  if (absl::StartsWith(text, "INF") || absl::StartsWith(text, "QNAN") ||
      absl::StartsWith(text, "SNAN")) {
    return true;
  }
  // 32@hi(name) is none.
  constexpr std::string_view kDigits = "0123456789abcdefABCDEFx.+-";
  return !text.empty() && absl::ascii_isdigit(text[0]) &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

// SR_TID.X, SRZ, B6, `(.L_x_1), desc[UR4], gdesc[UR8]: of the machine, or of the compiler.
bool IsSpecial(std::string_view text) {
  // Of products of a warp group, by which code waits for them: gsb0.
  if (text.size() == 4 && absl::StartsWith(text, "gsb")) return absl::ascii_isdigit(text[3]);
  if (absl::StartsWith(text, "SR") || absl::StartsWith(text, "`(")) return true;
  if (absl::StartsWith(text, "desc[") || absl::StartsWith(text, "gdesc[")) return true;
  absl::ConsumePrefix(&text, "S");  // Scoreboards, SB0, as well.
  return text.size() >= 2 && text[0] == 'B' && absl::ascii_isdigit(text[1]);
}

// What stands in brackets: registers and numbers, added up.
bool ParseAddress(std::string_view inside, SassOperand* operand) {
  for (std::string_view part : absl::StrSplit(inside, '+')) {
    part = absl::StripAsciiWhitespace(part);
    const bool negative = absl::ConsumePrefix(&part, "-");
    const std::optional<SassRegister> reg = ParseRegister(part);
    if (!reg) {
      const std::optional<uint64_t> number = HexNumber(part);
      if (!number) return false;
      operand->offset += negative ? -*number : *number;
      continue;
    }
    if (negative || operand->parts.size() == kMostParts) return false;
    const bool narrow = absl::EndsWith(part, ".U32") || absl::EndsWith(part, ".S32");
    operand->parts.push_back({.reg = *reg, .narrow = narrow});
  }
  return true;
}

// c[0x0][0x28], c[0x0][R5+0x4], cx[UR4][0x18]
bool ParseConstant(std::string_view text, SassOperand* operand) {
  const size_t first = text.find('['), second = text.find("]["), end = text.rfind(']');
  if (second == std::string_view::npos || end <= second + 1) return false;
  const std::optional<uint64_t> bank = HexNumber(text.substr(first + 1, second - first - 1));
  operand->known_bank = bank.has_value();
  operand->bank = bank.value_or(0);
  std::string_view offset = text.substr(second + 2, end - second - 2);
  const size_t plus = offset.find('+');
  if (const std::optional<SassRegister> reg = ParseRegister(offset.substr(0, plus))) {
    operand->by_register = !reg->zero;
    operand->reg = *reg;
    if (plus == std::string_view::npos) return true;
    offset = offset.substr(plus + 1);
  }
  const bool negative = absl::ConsumePrefix(&offset, "-");
  const std::optional<uint64_t> number = HexNumber(offset);
  if (!number) return false;
  operand->offset = negative ? -*number : *number;
  return true;
}

// `[...]`, or what stands behind desc[...].
bool ParseBrackets(std::string_view text, SassOperand* operand) {
  const size_t open = text.rfind('['), close = text.rfind(']');
  if (close == std::string_view::npos || close < open) return false;
  return ParseAddress(text.substr(open + 1, close - open - 1), operand);
}

}  // namespace

std::optional<SassRegister> Further(SassRegister reg, unsigned by) {
  if (reg.zero) return reg;
  if (reg.number + by >= kSassRegisters) return std::nullopt;
  reg.number = static_cast<uint16_t>(reg.number + by);
  return reg;
}

std::optional<uint64_t> SassOperand::Number() const {
  return kind == Kind::kNumber ? HexNumber(text) : std::nullopt;
}

bool SassOperand::IsPlainRegister() const {
  std::string_view bare = text;
  absl::ConsumeSuffix(&bare, ".reuse");
  absl::ConsumePrefix(&bare, "U");
  return kind == Kind::kRegister && absl::StartsWith(bare, "R") && !absl::StrContains(bare, '.');
}

SassOperand ParseOperand(std::string_view text) {
  SassOperand operand{.text = text};
  std::string_view bare = text;
  while (!bare.empty() && absl::StrContains("-~|!", bare[0])) bare.remove_prefix(1);
  absl::ConsumeSuffix(&bare, ".reuse");
  absl::ConsumeSuffix(&bare, "|");
  const auto kind = [&operand](bool understood, Kind is) {
    if (understood) operand.kind = is;
  };
  if (absl::StartsWith(bare, "c[") || absl::StartsWith(bare, "cx[")) {
    kind(ParseConstant(bare, &operand), Kind::kConstant);
  } else if (absl::StartsWith(bare, "[") ||
             (absl::StartsWith(bare, "desc[") && absl::StrContains(bare, "]["))) {
    kind(ParseBrackets(bare, &operand), Kind::kAddress);
  } else if (IsPredicate(text)) {
    operand.kind = Kind::kPredicate;
  } else if (const std::optional<SassRegister> reg = ParseRegister(bare)) {
    operand.kind = Kind::kRegister;
    operand.reg = *reg;
  } else if (IsNumber(text)) {
    operand.kind = Kind::kNumber;
  } else if (IsSpecial(text)) {
    operand.kind = Kind::kSpecial;
  }
  return operand;
}

}  // namespace vramspan::prove
