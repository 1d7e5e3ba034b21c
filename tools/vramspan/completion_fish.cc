#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include "tools/vramspan/completion_scripts.h"

namespace vramspan::completion {
namespace {

std::string FishOffers(const ValueTable& value) {
  const std::string words = absl::StrJoin(value.words, " ");
  if (value.is_list) return Quoted(absl::StrCat("(__fish_append , ", words, ")"));
  if (!value.folders) return Quoted(words);
  return Quoted(absl::StrCat(words, words.empty() ? "" : " ", "(__fish_complete_directories)"));
}

std::string OptionLine(const std::string& in, const OptionTable& option) {
  std::string line = in;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    absl::StrAppend(&line, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  absl::StrAppend(&line, " -d ", Quoted(option.help));
  if (option.takes == OptionTable::Takes::kPerhapsValue && option.value.files) {
    absl::StrAppend(&line, "\n", in, " -a ",
                    Quoted(absl::StrCat("(__vramspan_files_of ", option.names.back(), ")")));
  }
  if (option.takes != OptionTable::Takes::kValue) return line + "\n";
  const bool offers = option.value.folders || !option.value.words.empty();
  return absl::StrCat(line, option.value.files ? " -r -F" : " -x",
                      offers ? absl::StrCat(" -a ", FishOffers(option.value)) : "", "\n");
}

}  // namespace

std::string FishScript(const CommandTable& root) {
  std::vector<std::string> commands, valued, programs;
  std::string lines;
  for (const auto& [words, command] : Flat(root)) {
    const std::string in =
        absl::StrCat("complete -c vramspan -n ", Quoted(absl::StrCat("__vramspan_in ", words)));
    if (!words.empty()) commands.push_back(Quoted(words));
    for (const CommandTable& action : command->actions) {
      absl::StrAppend(&lines, in, " -a ", action.name, " -d ", Quoted(action.summary), "\n");
    }
    for (const OptionTable& option : command->options) {
      absl::StrAppend(&lines, OptionLine(in, option));
      if (option.takes != OptionTable::Takes::kValue) continue;
      for (const std::string& name : option.names) {
        valued.push_back(Quoted(absl::StrCat(words, " ", name)));
      }
    }
    for (const ValueTable& place : command->places) {
      if (place.program) programs.push_back(Quoted(words));
      if (place.files) absl::StrAppend(&lines, in, " -F\n");
      if (!place.words.empty()) absl::StrAppend(&lines, in, " -x -a ", FishOffers(place), "\n");
    }
  }
  const auto set = [](const char* name, const std::vector<std::string>& values) {
    return absl::StrCat("set -g ", name, " \\\n    ", absl::StrJoin(values, " \\\n    "), "\n");
  };
  return absl::StrCat(FishFunctions(), set("__vramspan_commands", commands),
                      set("__vramspan_valued", valued), set("__vramspan_programs", programs), "\n",
                      lines);
}

}  // namespace vramspan::completion
