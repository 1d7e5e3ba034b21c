// Asks a broker over its control socket: a JSON object a datagram, in both directions.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTROL_ASK_H_
#define VRAMSPAN_TOOLS_BROKER_CONTROL_ASK_H_

#include <functional>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::broker {

// Sends `request` to the broker of `run_directory`; where that is empty, to the first that is found
// (RunDirectories). Each answer goes to `take` until that returns false. NotFound: there is no
// broker. An answer is waited for 10 s at most.
Status Ask(const std::string& run_directory, const std::string& request,
           const std::function<bool(const std::string&)>& take);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTROL_ASK_H_
