// Requests of an operator that are answered by one word: done, or why not.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_BROKER_DONE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_BROKER_DONE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::broker_command {

// Asks the broker whose sockets lie in `run_directory`; empty: the usual one. Ok: it is done.
Status AskUntilDone(const std::string& run_directory, const nlohmann::json& request);

}  // namespace vramspan::broker_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_BROKER_DONE_H_
