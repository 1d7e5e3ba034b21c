// Where the broker is, as the user says it: VRAMSPAN_BROKER (docs/broker-protocol.md).
//
// Pure: texts in, paths out.
#ifndef VRAMSPAN_RUNTIME_LEASE_BROKER_PLACE_H_
#define VRAMSPAN_RUNTIME_LEASE_BROKER_PLACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::lease {

inline constexpr char kBrokerVariable[] = "VRAMSPAN_BROKER";

struct BrokerPlace {
  bool asked = true;                 // False: no broker is ever asked.
  bool required = false;             // Without a broker nothing starts.
  bool named = false;                // The user said which.
  std::vector<std::string> sockets;  // Where it may listen, the first that does is it.
};

// `text`: off, require, or a directory; empty: nothing was said. `runtime_folder`: XDG_RUNTIME_DIR,
// or empty. InvalidArgument says what is allowed.
StatusOr<BrokerPlace> ParseBrokerPlace(std::string_view text, std::string_view runtime_folder);

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_BROKER_PLACE_H_
