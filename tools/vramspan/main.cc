// `vramspan`: picks the subcommand and hands over.
#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/vramspan/command.h"

namespace {

bool IsCommand(std::string_view name) {
  const std::vector<vramspan::Command*> commands = vramspan::Commands();
  return std::any_of(commands.begin(), commands.end(),
                     [&](const vramspan::Command* command) { return command->name() == name; });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("More memory than the GPU has, behind addresses that never change.", "vramspan");
  app.set_version_flag("--version", "vramspan " VRAMSPAN_VERSION_TEXT);
  app.require_subcommand(1);
  app.footer(
      "Start with\n"
      "  vramspan info              what this machine's GPUs can do, and what moving costs\n"
      "  vramspan info --simulate   the same on a machine without a GPU\n"
      "  vramspan run -- PROGRAM    a program as it is, with more memory than its GPU has\n"
      "\n"
      "Every command has its own --help. Exit codes: 0 as asked, 1 it could not be done, 2 the\n"
      "command line was not understood.");
  std::map<CLI::App*, vramspan::Command*> commands;
  for (vramspan::Command* command : vramspan::Commands()) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    command->Define(*sub);
    commands[sub] = command;
  }
  // CLI11 would only say that a command is required.
  if (argc > 1 && argv[1][0] != '-' && !IsCommand(argv[1])) {
    std::cerr << "vramspan: there is no command '" << argv[1] << "'; allowed is";
    for (const vramspan::Command* command : vramspan::Commands()) {
      std::cerr << " " << command->name();
    }
    std::cerr << "\n";
    return vramspan::kExitUsage;
  }
  std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  for (const vramspan::Command* command : vramspan::Commands()) {
    if (argc > 1 && command->name() == argv[1]) command->Respell(&words);
  }
  if (argc > 1) words.insert(words.begin(), argv[1]);
  std::reverse(words.begin(), words.end());  // As CLI11 takes them.
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // Prints the help or what was not understood.
    return code == 0 ? vramspan::kExitOk : vramspan::kExitUsage;
  }
  int code = vramspan::kExitFailure;
  try {
    code = commands.at(app.get_subcommands().front())->Run();
  } catch (const std::exception& error) {
    std::cerr << "vramspan: " << error.what() << "\n";
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "vramspan: the output could not be written\n";
    return vramspan::kExitFailure;
  }
  return code;
}
