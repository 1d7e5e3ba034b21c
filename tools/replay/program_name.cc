#include "tools/replay/program_name.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <vector>

namespace vramspan::replay {
namespace {

struct Interpreter {
  std::string_view name;
  std::string_view code;    // Options of one letter behind which code comes,
  std::string_view module;  // a module,
  std::string_view value;   // or a value that is no script.
};

constexpr Interpreter kInterpreters[] = {
    {"python", "c", "m", "WX"}, {"pypy", "c", "m", "WX"}, {"perl", "eE", "", "I"},
    {"ruby", "e", "", "IrC"},   {"node", "ep", "", "r"},  {"julia", "eE", "", "tpLCJ"},
    {"sh", "c", "", "oO"},      {"bash", "c", "", "oO"},  {"dash", "c", "", "o"},
    {"zsh", "c", "", "o"},
};

std::string_view Base(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Without its version, as in python3.11.
std::string_view WithoutVersion(std::string_view file) {
  const size_t end = file.find_last_not_of("0123456789.");
  return end == std::string_view::npos ? file : file.substr(0, end + 1);
}

std::string ScriptOf(const Interpreter& interpreter, const std::vector<std::string_view>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.empty()) continue;
    if (word == "--") return i + 1 < words.size() ? std::string(Base(words[i + 1])) : "";
    if (word.front() != '-') return std::string(Base(word));
    if (word.starts_with("--")) continue;
    // Letters, of which the first that takes something takes what is left of the word.
    for (size_t at = 1; at < word.size(); ++at) {
      const char letter = word[at];
      const bool module = absl::StrContains(interpreter.module, letter);
      if (absl::StrContains(interpreter.code, letter)) return "";
      if (!module && !absl::StrContains(interpreter.value, letter)) continue;
      std::string_view taken = word.substr(at + 1);
      if (taken.empty() && i + 1 < words.size()) taken = words[++i];
      if (module) return std::string(taken);
      break;
    }
  }
  return "";
}

}  // namespace

ProgramName NameOfProgram(std::string_view command) {
  const std::vector<std::string_view> words = absl::StrSplit(command, ' ');
  const std::string_view file = Base(words.front());
  const std::string_view plain = WithoutVersion(file);
  const auto* const interpreter =
      std::find_if(std::begin(kInterpreters), std::end(kInterpreters),
                   [&](const Interpreter& i) { return i.name == plain; });
  if (interpreter == std::end(kInterpreters)) return {std::string(file), ""};
  return {std::string(plain), ScriptOf(*interpreter, words)};
}

bool SameProgram(const ProgramName& a, const ProgramName& b) { return a.text() == b.text(); }

}  // namespace vramspan::replay
