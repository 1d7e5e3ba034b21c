#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include "tools/vramspan/completion_scripts.h"

namespace vramspan::completion {
namespace {

std::string BashOffers(const ValueTable& value) {
  std::vector<std::string> offers;
  if (value.is_list) offers.push_back("<list>");
  if (value.files) offers.push_back("<files>");
  if (value.folders) offers.push_back("<folders>");
  if (value.program) offers.push_back("<program>");
  offers.insert(offers.end(), value.words.begin(), value.words.end());
  return Quoted(absl::StrJoin(offers, " "));
}

std::string TableOf(const CommandTable& command) {
  std::vector<std::string> actions, options, places;
  for (const CommandTable& action : command.actions) actions.push_back(action.name);
  for (const OptionTable& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  for (const ValueTable& place : command.places) {
    places.push_back(BashOffers(place));
    if (place.program) options.push_back("--");
  }
  return absl::StrCat("actions=", Quoted(absl::StrJoin(actions, " ")),
                      " options=", Quoted(absl::StrJoin(options, " ")), " places=(",
                      absl::StrJoin(places, " "), ")");
}

}  // namespace

std::string BashScript(const CommandTable& root) {
  std::string tables, values;
  for (const auto& [words, command] : Flat(root)) {
    absl::StrAppend(&tables, "    ", Quoted(words), ") ", TableOf(*command), " ;;\n");
    for (const OptionTable& option : command->options) {
      if (option.takes == OptionTable::Takes::kNothing) continue;
      const auto pattern = [&words = words](std::string* out, const std::string& name) {
        absl::StrAppend(out, Quoted(absl::StrCat(words, " ", name)));
      };
      const bool always = option.takes == OptionTable::Takes::kValue;
      absl::StrAppend(&values, "    ", absl::StrJoin(option.names, " | ", pattern),
                      ") takes=", always ? "yes" : "perhaps", " offers=", BashOffers(option.value),
                      " ;;\n");
    }
  }
  return absl::StrCat(BashFunctions(), "__vramspan_table() {\n  actions= options= places=()\n",
                      "  case $1 in\n", tables, "  esac\n}\n\n",
                      "__vramspan_value() {\n  takes=no offers=\n  case \"$1 $2\" in\n", values,
                      "  esac\n}\n");
}

}  // namespace vramspan::completion
