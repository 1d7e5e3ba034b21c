#include "tools/vramspan/command_table.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "tools/vramspan/command_options.h"

namespace vramspan {
namespace {

std::string FirstSentence(const std::string& help) {
  std::string first = help.substr(0, help.find('\n'));
  for (const char* end : {". ", " (default"}) first = first.substr(0, first.find(end));
  return first;
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  });
}

ValueTable ValueOf(const CLI::Option& option) {
  ValueTable value;
  const std::string& shown = option.get_option_text();
  for (std::string_view piece : absl::StrSplit(shown, '|')) {
    if (absl::ConsumePrefix(&piece, "[=")) absl::ConsumeSuffix(&piece, "]");
    value.files |= piece.starts_with("FILE");
    value.folders |= piece == "DIR";
    value.program |= piece == kProgram;
    if (IsWord(piece)) value.words.emplace_back(piece);
  }
  const std::string type = option.get_type_name();
  std::string_view suggested = type;
  value.is_list = absl::ConsumePrefix(&suggested, kListOf);
  if (value.is_list || absl::ConsumePrefix(&suggested, kOneOf)) {
    for (const std::string_view word : absl::StrSplit(suggested, ',')) {
      value.words.emplace_back(word);
    }
  }
  return value;
}

OptionTable OptionOf(const CLI::Option& option) {
  OptionTable table;
  for (const std::string& name : option.get_snames()) table.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) table.names.push_back("--" + name);
  table.help = FirstSentence(option.get_description());
  if (option.get_option_text().starts_with("[=")) {
    table.takes = OptionTable::Takes::kPerhapsValue;
  } else if (option.get_items_expected_max() != 0) {
    table.takes = OptionTable::Takes::kValue;
  }
  if (table.takes != OptionTable::Takes::kNothing) table.value = ValueOf(option);
  return table;
}

CommandTable CommandOf(const CLI::App& app) {
  CommandTable table;
  table.name = app.get_name();
  table.summary = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      table.places.push_back(ValueOf(*option));
    } else {
      table.options.push_back(OptionOf(*option));
    }
  }
  for (const CLI::App* action : app.get_subcommands([](const CLI::App*) { return true; })) {
    // One in no group is shown nowhere.
    if (!action->get_group().empty()) table.actions.push_back(CommandOf(*action));
  }
  return table;
}

void AddFlat(const std::string& words, const CommandTable& command,
             std::vector<std::pair<std::string, const CommandTable*>>* flat) {
  flat->emplace_back(words, &command);
  for (const CommandTable& action : command.actions) {
    AddFlat(words.empty() ? action.name : absl::StrCat(words, " ", action.name), action, flat);
  }
}

}  // namespace

CommandTable CommandOptions::WholeTable() const {
  const CLI::App* root = app_;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return CommandOf(*root);
}

std::vector<std::pair<std::string, const CommandTable*>> Flat(const CommandTable& root) {
  std::vector<std::pair<std::string, const CommandTable*>> flat;
  AddFlat("", root, &flat);
  return flat;
}

}  // namespace vramspan
