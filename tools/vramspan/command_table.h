// What a command line may hold, as --help shows it: scripts for completion are made of it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_TABLE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_TABLE_H_

#include <string>
#include <utility>
#include <vector>

namespace vramspan {

// What a value, or a word by place, may be as far as can be told.
struct ValueTable {
  std::vector<std::string> words;
  bool is_list = false;  // Several words, with commas between them.
  bool files = false, folders = false;
  bool program = false;  // A command of the system's, and all that is behind it is its own.
};

struct OptionTable {
  enum class Takes { kNothing, kPerhapsValue, kValue };  // kPerhapsValue: `--name=VALUE` alone.

  std::vector<std::string> names;  // With their dashes.
  std::string help;                // The first sentence, without a dot.
  Takes takes = Takes::kNothing;
  ValueTable value;
};

struct CommandTable {
  std::string name, summary;
  std::vector<OptionTable> options;
  std::vector<ValueTable> places;  // Words by place. The last may come several times.
  std::vector<CommandTable> actions;
};

// Each command and action with the words that call it, as "broker serve". The first is `root`, with
// no words.
std::vector<std::pair<std::string, const CommandTable*>> Flat(const CommandTable& root);

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_TABLE_H_
