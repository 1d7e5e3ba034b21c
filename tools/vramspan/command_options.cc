#include "tools/vramspan/command_options.h"

#include <CLI/CLI.hpp>

namespace vramspan {

CommandOption& CommandOption::Required() {
  option_->required();
  return *this;
}
CommandOption& CommandOption::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}
CommandOption& CommandOption::Within(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
// Without it CLI11 takes -1 for the largest number there is.
CommandOption& CommandOption::AtLeastNone() {
  option_->check(CLI::Validator(
      [](const std::string& text) {
        return text.starts_with('-') ? "'" + text + "' is less than 0" : std::string();
      },
      ""));
  return *this;
}
CommandOption& CommandOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}
CommandOption& CommandOption::Shown(const std::string& type) {
  option_->type_name(type);
  return *this;
}
CommandOption& CommandOption::Excludes(const CommandOption& other) {
  option_->excludes(other.option_);
  return *this;
}
CommandOption& CommandOption::Needs(const CommandOption& other) {
  option_->needs(other.option_);
  return *this;
}

CommandOption CommandOptions::Option(const std::string& names, std::string& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, std::optional<std::string>& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, std::vector<std::string>& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, int& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, std::optional<int>& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, uint32_t& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
CommandOption CommandOptions::Option(const std::string& names, uint64_t& value,
                                     const std::string& help) {
  return CommandOption(app_->add_option(names, value, help));
}
void CommandOptions::Flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}
void CommandOptions::Flag(const std::string& names, std::string& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

void CommandOptions::Footer(const std::string& text) { app_->footer(text); }
void CommandOptions::WordsLast() { app_->positionals_at_end(); }

CommandOptions CommandOptions::Action(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  return CommandOptions(app_->add_subcommand(name, summary));
}
std::string CommandOptions::ChosenAction() const {
  return app_->get_subcommands().front()->get_name();
}

// CLI11 takes the end of the options for a value where one is missing.
std::optional<std::string> CommandOptions::OptionWithoutValue() const {
  for (const CLI::Option* const option : app_->get_options()) {
    if (option->get_positional()) continue;
    for (const std::string& value : option->results()) {
      if (value == "--") return option->get_name();
    }
  }
  return std::nullopt;
}

std::optional<bool> CommandOptions::TakesValue(const std::string& word) const {
  const CLI::Option* const option = app_->get_option_no_throw(word);
  if (option == nullptr) return std::nullopt;
  return option->get_items_expected_max() != 0;
}

}  // namespace vramspan
