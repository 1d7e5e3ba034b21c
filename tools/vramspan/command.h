// The subcommands of the binary. Each is one file: a class made from Command, and at namespace
// scope `VRAMSPAN_COMMAND(MyCommand);`, which is all that it takes to be in `vramspan --help`.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vramspan/command_options.h"

namespace vramspan {

// Exit codes: 0 as asked, 1 it could not be done, 2 the command line was not understood.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;  // One line of the help.
  // A process of ours is started so, and no user types it: neither the help nor completion name it.
  virtual bool hidden() const { return false; }
  // Adds the options, and a footer with an example.
  virtual void Define(CommandOptions& options) = 0;
  // What no option can be told: sees the words behind the command's name before they are parsed,
  // and may take some.
  virtual void Respell(std::vector<std::string>* /*words*/) {}
  // Results go to stdout, everything else to stderr. Returns the exit code.
  virtual int Run() = 0;
};

// A line on stderr: `who` could not do something, or could only do a part. What the message quotes
// may be anybody's.
void SayError(std::string_view who, std::string_view message);

// All registered commands, by name.
std::vector<Command*> Commands();

// Keeps `command` for good. To be called through the macro.
bool RegisterCommand(std::unique_ptr<Command> command);

#define VRAMSPAN_COMMAND(Type)                                    \
  [[maybe_unused]] static const bool vramspan_registered_##Type = \
      ::vramspan::RegisterCommand(std::make_unique<Type>())

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_COMMAND_H_
