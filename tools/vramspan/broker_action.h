// What `vramspan broker` can do: each action is a subcommand of its own, made in the file that has
// it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "tools/vramspan/command_options.h"

namespace vramspan::broker_command {

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string name() const = 0;
  // Adds itself to `broker`.
  virtual void Define(CommandOptions& broker) = 0;
  // Results go to stdout. InvalidArgument: the command line was not understood (exit code 2); every
  // other error is one of what it was asked to do (1).
  virtual Status Run() = 0;
};

std::unique_ptr<Action> MakeServe();   // broker_serve.cc
std::unique_ptr<Action> MakeStatus();  // broker_status.cc
std::unique_ptr<Action> MakeSet();     // broker_set.cc
std::unique_ptr<Action> MakeDrain();   // broker_drain.cc
std::unique_ptr<Action> MakeUndrain();
std::unique_ptr<Action> MakeCdi();   // broker_cdi.cc
std::unique_ptr<Action> MakeHook();  // broker_hook.cc

}  // namespace vramspan::broker_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_
