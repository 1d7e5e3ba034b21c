#include "tools/prove/sass_instruction.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>

namespace vramspan::prove {
namespace {

// More than any has. Hostile text would have memory taken for as many as it has commas.
constexpr size_t kMostOperands = 16;
constexpr std::string_view kBlanks = " \t\r\v\f";

// At commas that stand in no brackets.
bool SplitOperands(std::string_view text, std::vector<SassOperand>* operands) {
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view one = absl::StripAsciiWhitespace(text.substr(from, i - from));
    from = i + 1;
    if (one.empty()) continue;
    if (operands->size() == kMostOperands) return false;
    operands->push_back(ParseOperand(one));
  }
  return true;
}

// ?WAIT6_END_GROUP, ?trans1, &req={0}, &wr_early=0x0
bool IsOfSchedule(std::string_view word) {
  if (absl::StartsWith(word, "?WAIT") || absl::StartsWith(word, "?trans")) return true;
  if (!absl::ConsumePrefix(&word, "&")) return false;
  const size_t name = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (name == 0 || name == std::string_view::npos) return false;
  word.remove_prefix(name);
  return absl::StartsWith(word, "={") || absl::StartsWith(word, "=0x");
}

// Of Blackwell nvdisasm says what an instruction waits for, as well: &req={0} ?WAIT6_END_GROUP
std::string_view WithoutSchedule(std::string_view line) {
  while (true) {
    const size_t space = line.find_last_of(kBlanks);
    if (space == std::string_view::npos || space + 1 >= line.size()) return line;
    const std::string_view last = line.substr(space + 1);
    const std::string_view rest = absl::StripTrailingAsciiWhitespace(line.substr(0, space));
    // Behind a comma it is an operand.
    if (!IsOfSchedule(last) || absl::EndsWith(rest, ",")) return line;
    line = rest;
  }
}

}  // namespace

SassGuard GuardOf(std::string_view text) {
  const bool negated = absl::ConsumePrefix(&text, "!");
  const bool uniform = absl::ConsumePrefix(&text, "U");
  if (text.size() != 2 || text[0] != 'P' || text[1] < '0' || text[1] > '7') return kOtherGuard;
  return static_cast<SassGuard>(2 + (uniform ? 32 : 0) + (text[1] - '0') * 2 + (negated ? 1 : 0));
}

bool SassInstruction::Has(std::string_view modifier) const {
  for (const std::string_view one : absl::StrSplit(modifiers, '.')) {
    if (one == modifier) return true;
  }
  return false;
}

std::string_view SassInstruction::Label() const {
  for (const SassOperand& operand : operands) {
    const size_t open = operand.text.find("`("), close = operand.text.rfind(')');
    if (open != std::string_view::npos && close != std::string_view::npos && close > open + 2) {
      return operand.text.substr(open + 2, close - open - 2);
    }
  }
  return "";
}

bool SassInstruction::Conditional() const {
  if (guard != kNoGuard) return true;
  for (const SassOperand& operand : operands) {
    const bool predicate = operand.kind == SassOperand::Kind::kPredicate;
    if (predicate && operand.text != "PT" && operand.text != "UPT") return true;
  }
  return false;
}

std::optional<SassInstruction> ParseInstruction(std::string_view line) {
  if (!absl::ConsumePrefix(&line, "/*")) return std::nullopt;
  const size_t end = line.find("*/"), stop = line.rfind(';');
  if (end == std::string_view::npos || stop == std::string_view::npos || stop < end + 2)
    return std::nullopt;
  line = WithoutSchedule(absl::StripAsciiWhitespace(line.substr(end + 2, stop - end - 2)));
  // Two of them in a row are not read as one.
  if (line.find(';') != std::string_view::npos) return std::nullopt;
  SassInstruction instruction;
  instruction.text = line;
  if (absl::StartsWith(line, "@")) {
    const size_t space = line.find_first_of(kBlanks);
    if (space == std::string_view::npos) return std::nullopt;
    instruction.guard = GuardOf(line.substr(1, space - 1));
    line = absl::StripLeadingAsciiWhitespace(line.substr(space));
  }
  const size_t space = std::min(line.find_first_of(kBlanks), line.size());
  const std::string_view word = line.substr(0, space);
  const size_t dot = std::min(word.find('.'), word.size());
  instruction.opcode = word.substr(0, dot);
  instruction.modifiers = word.substr(dot);
  if (instruction.opcode.empty()) return std::nullopt;
  if (!SplitOperands(line.substr(space), &instruction.operands)) return std::nullopt;
  return instruction;
}

}  // namespace vramspan::prove
