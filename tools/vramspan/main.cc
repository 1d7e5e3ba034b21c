// `vramspan`: picks the subcommand and hands over.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/suggest.h"
#include "tools/vramspan/command.h"

namespace {

bool IsCommand(std::string_view name) {
  const std::vector<vramspan::Command*> commands = vramspan::Commands();
  return std::any_of(commands.begin(), commands.end(),
                     [&](const vramspan::Command* command) { return command->name() == name; });
}

std::string NoSuchCommand(const std::string& word, const std::vector<std::string>& names) {
  return absl::StrCat("there is no command '", word, "'; use one of ", absl::StrJoin(names, ", "),
                      vramspan::DidYouMean(word, names));
}

std::vector<std::string> ActionsOf(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());  // Not a hidden one.
  }
  return names;
}

std::string NoSuchOption(const std::string& word, const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return absl::StrCat("'", word, "' was not expected",
                      word.starts_with('-') ? vramspan::DidYouMean(word, names) : "");
}

// What was not understood, and by which command: CLI11 alone would name neither the command nor,
// where something that is required is missing as well, the word that it does not know.
std::string Complaint(const CLI::App* app, const CLI::Error& error) {
  std::string name = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    name += " " + app->get_name();
  }
  std::string what = error.what();
  // CLI11 says of which type the value is, and completion's words stand there.
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && what.ends_with(" missing")) {
    what = what.substr(0, what.find(": ")) + " needs a value";
  } else if (absl::StrContains(what, ": At Most 1 required")) {
    what = what.substr(0, what.find(": ")) + " is given more than once";
  }
  std::vector<std::string> unknown;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    unknown = app->remaining();
    if (unknown == std::vector<std::string>{"--"}) unknown.clear();  // What it ends is missing.
  }
  if (!unknown.empty() && app->get_require_subcommand_min() != 0 &&
      !unknown.front().starts_with('-')) {
    what = NoSuchCommand(unknown.front(), ActionsOf(app));
  } else if (!unknown.empty()) {
    what = NoSuchOption(unknown.front(), app);
  } else if (app->get_require_subcommand_min() != 0 &&
             dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    what = "a command is missing; use one of " + absl::StrJoin(ActionsOf(app), ", ");
  }
  return name + ": " + vramspan::CleanText(what) + "\n`" + name + " --help` says what there is.\n";
}

// The first file that is opened would else be what results and messages are written into. Writing
// to stdin's and reading from the others' fails as before, and a program that is started has them
// closed.
void FillClosedStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode | O_CLOEXEC) != fd) _exit(vramspan::kExitFailure);
  }
}

// The exit code, where stdout took all that was written. A command that failed has said why.
int Flushed(int code) {
  if (std::cout.flush() || code != vramspan::kExitOk) return code;
  std::cerr << "vramspan: the output could not be written\n";
  return vramspan::kExitFailure;
}

}  // namespace

int main(int argc, char** argv) {
  FillClosedStandardFiles();
  CLI::App app("More memory than the GPU has, behind addresses that never change.", "vramspan");
  app.set_version_flag("--version", "vramspan " VRAMSPAN_VERSION_TEXT);
  app.require_subcommand(1);
  app.failure_message(&Complaint);
  vramspan::CommandOptions(&app).Footer(
      "`vramspan help COMMAND` says what a command does.\n"
      "\n"
      "Exit status\n"
      "  0  done as asked\n"
      "  1  it could not be done; a sentence on stderr says why\n"
      "  2  the command line was not understood\n"
      "`vramspan run` and `vramspan audit` exit as the program does.\n"
      "\n"
      "Examples\n"
      "  vramspan info                      # what this machine's GPUs can do, and what moving "
      "costs\n"
      "  vramspan info --simulate           # the same on a machine without a GPU\n"
      "  vramspan run -- python3 train.py   # an unchanged program, with more memory than its GPU "
      "has\n"
      "\n"
      "Read more: README.md");
  std::map<CLI::App*, vramspan::Command*> commands;
  for (vramspan::Command* command : vramspan::Commands()) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    vramspan::CommandOptions options(sub);
    command->Define(options);
    if (command->hidden()) sub->group("");
    commands[sub] = command;
  }
  // CLI11 would only say that a command is required.
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  // `help trace info` is `trace info --help`.
  if (!words.empty() && words.front() == "help") {
    while (!words.empty() && words.front() == "help") words.erase(words.begin());
    const bool has_actions =
        !words.empty() &&
        (words.front() == "trace" || words.front() == "broker" || words.front() == "learned");
    const size_t named = has_actions ? 2 : 1;
    words.resize(std::min(words.size(), named));
    words.push_back("--help");
  }
  if (!words.empty() && !words.front().starts_with('-') && !IsCommand(words.front())) {
    std::vector<std::string> names;
    for (const vramspan::Command* command : vramspan::Commands()) {
      if (!command->hidden()) names.push_back(command->name());
    }
    vramspan::SayError("vramspan", NoSuchCommand(words.front(), names));
    return vramspan::kExitUsage;
  }
  if (!words.empty()) {
    const std::string name = words.front();
    words.erase(words.begin());
    for (vramspan::Command* command : vramspan::Commands()) {
      if (command->name() == name) command->Respell(&words);
    }
    words.insert(words.begin(), name);
  }
  std::reverse(words.begin(), words.end());  // As CLI11 takes them.
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // Prints the help or what was not understood.
    return Flushed(code == 0 ? vramspan::kExitOk : vramspan::kExitUsage);
  }
  int code = vramspan::kExitFailure;
  try {
    code = commands.at(app.get_subcommands().front())->Run();
  } catch (const std::exception& error) {
    vramspan::SayError("vramspan", error.what());
  }
  return Flushed(code);
}
