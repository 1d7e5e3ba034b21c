#include "tools/vramspan/command_options.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace vramspan {
namespace {

constexpr size_t kColumns = 100, kNameColumns = 28;

// `text` in lines of at most `columns`, broken at spaces. Lines of it that begin with a space stay.
std::string Wrapped(const std::string& text, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    lines.emplace_back();
    if (line.starts_with(' ')) {
      lines.back() = line;
      continue;
    }
    for (const std::string_view word : absl::StrSplit(line, ' ')) {
      if (!lines.back().empty() && lines.back().size() + 1 + word.size() > columns) {
        lines.emplace_back();
      }
      if (!lines.back().empty()) lines.back() += ' ';
      lines.back() += word;
    }
  }
  return absl::StrJoin(lines, "\n");
}

// CLI11's help, with its lines broken, and with the value's limits and default in words.
class Help final : public CLI::Formatter {
 public:
  Help() {
    column_width(kNameColumns);
    label("Positionals", "Arguments");
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_help(app, std::move(name), mode),
                                         "\n\n\n", "\n\n");
  }

  // Without --help: who reads it has found it.
  std::string make_group(std::string title, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    std::erase_if(options, [](const CLI::Option* option) { return option->check_lname("help"); });
    if (options.empty()) return "";
    return CLI::Formatter::make_group(std::move(title), positional, std::move(options));
  }

  std::string make_footer(const CLI::App* app) const override {
    return Wrapped(app->get_footer(), kColumns) + "\n";
  }

  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find('{'));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) {
      return option->get_expected_max() == CLI::detail::expected_max_vector_size ? "..." : "";
    }
    const std::string& text = option->get_option_text();
    if (text.starts_with('[')) return text;
    if (!text.empty()) return " " + text;
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':'));
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (option->get_required() && !option->get_positional()) text += " (required)";
    const std::string by_default = option->get_default_str();
    if (!by_default.empty()) text += " (default: " + by_default + ")";
    return Wrapped(text, kColumns - kNameColumns);
  }
};

}  // namespace

CommandOption& CommandOption::Required() {
  option_->required();
  return *this;
}
CommandOption& CommandOption::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::Validator(
      [words](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return "'" + text + "' is unknown; use one of " + absl::StrJoin(words, ", ");
      },
      ""));
  return Shown(absl::StrJoin(words, "|"));
}
CommandOption& CommandOption::Within(int least, int most) {
  option_->check(CLI::Validator(
      [least, most](const std::string& text) {
        int value = 0;
        if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return std::string();
        return absl::StrCat("'", text, "' is not a number from ", least, " to ", most);
      },
      ""));
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
CommandOption& CommandOption::Shown(const std::string& value) {
  option_->option_text(value);
  return *this;
}
CommandOption& CommandOption::Suggests(const std::vector<std::string>& words) {
  option_->type_name(kOneOf + absl::StrJoin(words, ","));
  return *this;
}
CommandOption& CommandOption::SuggestsListOf(const std::vector<std::string>& words) {
  option_->type_name(kListOf + absl::StrJoin(words, ","));
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
CommandOption CommandOptions::Flag(const std::string& names, bool& value, const std::string& help) {
  return CommandOption(app_->add_flag(names, value, help));
}
CommandOption CommandOptions::Flag(const std::string& names, std::string& value,
                                   const std::string& help) {
  return CommandOption(app_->add_flag(names, value, help));
}

CommandOptions::CommandOptions(CLI::App* app) : app_(app) {
  app_->formatter(std::make_shared<Help>());
}

void CommandOptions::Group(const std::string& title) { app_->option_defaults()->group(title); }
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
