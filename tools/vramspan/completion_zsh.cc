#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include "tools/vramspan/completion_scripts.h"

namespace vramspan::completion {
namespace {

std::string ZshAction(const ValueTable& value) {
  std::vector<std::string> ways;
  const std::string words = absl::StrJoin(value.words, " ");
  if (value.is_list) return absl::StrCat("_sequence compadd - ", words);
  if (value.program) return "__vramspan_program";
  if (value.files && words.empty()) return "_files";
  if (value.folders && words.empty()) return "_files -/";
  if (value.folders) {
    return absl::StrCat("_alternative \"words\\:word\\:(", words,
                        ")\" \"folders\\:folder\\:_files -/\"");
  }
  return words.empty() ? " " : absl::StrCat("(", words, ")");
}

// As _arguments takes them.
std::string OptionWords(const OptionTable& option) {
  const std::string help =
      absl::StrReplaceAll(option.help, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
  std::string words;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    const char* how = "";
    if (option.takes == OptionTable::Takes::kValue) how = is_long ? "=" : "+";
    if (option.takes == OptionTable::Takes::kPerhapsValue) how = "=-";
    std::string spec =
        absl::StrCat("(", absl::StrJoin(option.names, " "), ")", name, how, "[", help, "]");
    if (option.takes == OptionTable::Takes::kPerhapsValue) absl::StrAppend(&spec, ":");
    if (option.takes != OptionTable::Takes::kNothing) {
      absl::StrAppend(&spec, ":value:", ZshAction(option.value));
    }
    absl::StrAppend(&words, " \\\n    ", Quoted(spec));
  }
  return words;
}

std::string FunctionOf(const std::string& words) {
  return absl::StrCat("_vramspan", words.empty() ? "" : "_",
                      absl::StrReplaceAll(words, {{" ", "_"}}));
}

}  // namespace

std::string ZshScript(const CommandTable& root) {
  std::string script(ZshFunctions());
  for (const auto& [words, command] : Flat(root)) {
    const std::string function = FunctionOf(words);
    absl::StrAppend(&script, function, "() {\n");
    if (command->actions.empty()) {
      absl::StrAppend(&script, "  _arguments -S");
    } else {
      std::vector<std::string> actions;
      for (const CommandTable& action : command->actions) {
        actions.push_back("    " + Quoted(absl::StrCat(action.name, ":", action.summary)));
      }
      absl::StrAppend(&script, "  local -a actions=(\n", absl::StrJoin(actions, "\n"),
                      "\n  )\n  __vramspan_actions ", function);
    }
    for (const OptionTable& option : command->options) {
      absl::StrAppend(&script, OptionWords(option));
    }
    for (size_t i = 0; i < command->places.size(); ++i) {
      const ValueTable& place = command->places[i];
      const std::string number = i + 1 < command->places.size() ? absl::StrCat(i + 1) : "*";
      absl::StrAppend(&script, " \\\n    ",
                      place.program ? Quoted(absl::StrCat("(-)*:: :", ZshAction(place)))
                                    : Quoted(absl::StrCat(number, ":word:", ZshAction(place))));
    }
    absl::StrAppend(&script, "\n}\n\n");
  }
  // The file is the function when it is loaded by its name, and defines it when it is read.
  return absl::StrCat(script, "if [[ $funcstack[1] == _vramspan ]]; then\n  _vramspan \"$@\"\n",
                      "else\n  compdef _vramspan vramspan\nfi\n");
}

}  // namespace vramspan::completion
