// What a command can do, where that is several things: each is a subcommand of its own, made in the
// file that has it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_ACTION_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/command_options.h"

namespace vramspan {

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string name() const = 0;
  // Adds itself to the command.
  virtual void Define(CommandOptions& command) = 0;
  // Results go to stdout. InvalidArgument: the command line was not understood (exit code 2); every
  // other error is one of what it was asked to do (1).
  virtual Status Run() = 0;
};

// A command that does what the chosen one of its actions does.
class ActionsCommand : public Command {
 public:
  using Make = std::unique_ptr<Action> (*)();

  int Run() final;

 protected:
  void Offer(CommandOptions& options, std::initializer_list<Make> actions);

 private:
  std::optional<CommandOptions> options_;
  std::vector<std::unique_ptr<Action>> actions_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_ACTION_H_
