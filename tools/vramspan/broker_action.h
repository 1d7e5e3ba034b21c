// What `vramspan broker` can do.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_

#include <memory>

#include "tools/vramspan/action.h"

namespace vramspan::broker_command {

std::unique_ptr<Action> MakeServe();   // broker_serve.cc
std::unique_ptr<Action> MakeStatus();  // broker_status.cc
std::unique_ptr<Action> MakeSet();     // broker_set.cc
std::unique_ptr<Action> MakeDrain();   // broker_drain.cc
std::unique_ptr<Action> MakeUndrain();
std::unique_ptr<Action> MakeCdi();   // broker_cdi.cc
std::unique_ptr<Action> MakeHook();  // broker_hook.cc

}  // namespace vramspan::broker_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_BROKER_ACTION_H_
