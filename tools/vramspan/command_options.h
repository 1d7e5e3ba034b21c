// The options of a command. command_options.cc, command_table.cc and main.cc alone know the library
// that parses them: it is slow to compile.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_OPTIONS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vramspan/command_table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vramspan {

// What is shown for the value of a word by place that is a program.
inline constexpr char kProgram[] = "PROGRAM";
// Where CLI11 has a value's type: the words that completion offers, with commas between them.
inline constexpr char kOneOf[] = "one of ", kListOf[] = "list of ";

// One option, as what is to hold for it is said. Copies are the same option.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption& Required();
  CommandOption& OneOf(const std::vector<std::string>& words);
  CommandOption& Within(int least, int most);
  CommandOption&
  AtLeastNone();  // A count: what is less than 0 is refused, not taken for a large one.
  CommandOption& ShowDefault();  // The help says what the variable holds now.
  // What the help shows behind the name for the value: "SIZE", or "[=FILE]" where it may be
  // missing. Completion offers what it names: the words of "auto|off", files for "FILE", folders
  // for "DIR", and commands for kProgram. Of a word by place the help shows none.
  CommandOption& Shown(const std::string& value);
  // Words that completion offers beside that: others may be right as well.
  CommandOption& Suggests(const std::vector<std::string>& words);
  CommandOption& SuggestsListOf(const std::vector<std::string>& words);  // "a,b".
  CommandOption& Excludes(const CommandOption& other);
  CommandOption& Needs(const CommandOption& other);

 private:
  CLI::Option* option_;
};

// What a command or an action of one takes. `names` as in "-o,--output", without dashes for words
// by place. What is given is written to `value`, which stays as it is where nothing is, and
// outlives the parsing.
class CommandOptions {
 public:
  explicit CommandOptions(CLI::App* app);

  CommandOption Option(const std::string& names, std::string& value, const std::string& help);
  CommandOption Option(const std::string& names, std::optional<std::string>& value,
                       const std::string& help);
  CommandOption Option(const std::string& names, std::vector<std::string>& value,
                       const std::string& help);
  CommandOption Option(const std::string& names, int& value, const std::string& help);
  CommandOption Option(const std::string& names, std::optional<int>& value,
                       const std::string& help);
  CommandOption Option(const std::string& names, uint32_t& value, const std::string& help);
  CommandOption Option(const std::string& names, uint64_t& value, const std::string& help);
  CommandOption Flag(const std::string& names, bool& value, const std::string& help);
  // A flag that may have a text: "--name{what it stands for without one}".
  CommandOption Flag(const std::string& names, std::string& value, const std::string& help);

  void Group(const std::string& title);  // What the help puts the options that follow under.
  // What the help ends with: what the command does, "Exit status", "Examples", "Read more". Lines
  // that begin with a space stay as they are. Others may be of any length.
  void Footer(const std::string& text);
  void WordsLast();  // All behind the first word by place are words by place.

  // An action: one of them is to be chosen.
  CommandOptions Action(const std::string& name, const std::string& summary);
  std::string ChosenAction() const;

  // What all commands of the program take.
  CommandTable WholeTable() const;

  // Once parsed: the option that was given "--", the end of the options, for its value; or none.
  std::optional<std::string> OptionWithoutValue() const;
  // The option that `word` names, whether it takes a value; or none.
  std::optional<bool> TakesValue(const std::string& word) const;

 private:
  CLI::App* app_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_OPTIONS_H_
