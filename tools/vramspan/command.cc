#include "tools/vramspan/command.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

// A value of a stranger's may be in it.
constexpr size_t kLongestMessage = 4096;

std::vector<std::unique_ptr<Command>>& Registry() {
  static auto* const registry = new std::vector<std::unique_ptr<Command>>();
  return *registry;
}

}  // namespace

std::vector<Command*> Commands() {
  std::vector<Command*> commands;
  for (const auto& command : Registry()) commands.push_back(command.get());
  std::sort(commands.begin(), commands.end(),
            [](const Command* a, const Command* b) { return a->name() < b->name(); });
  return commands;
}

void SayError(std::string_view who, std::string_view message) {
  std::cerr << who << ": " << CleanText(message, kLongestMessage) << "\n";
}

bool RegisterCommand(std::unique_ptr<Command> command) {
  Registry().push_back(std::move(command));
  return true;
}

}  // namespace vramspan
