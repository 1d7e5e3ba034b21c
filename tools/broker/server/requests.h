// What operators ask of the daemon over control.sock, and the answers: a JSON object a datagram.
//
//   {"verb": "status"}                      -> objects, the last of kind "end"
//   {"verb": "set", "tenant": "a", "changes": {"weight": "200"}}
//   {"verb": "drain", "who": "a"}           or "undrain"; without "who": everybody
//   {"verb": "reread"}                      -> {"kind": "done"} or {"kind": "error", "error":
//   "..."}
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_REQUESTS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_REQUESTS_H_

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

struct Request {
  enum class Verb : uint8_t { kStatus, kSet, kDrain, kUndrain, kReread };
  Verb verb = Verb::kStatus;
  std::string tenant;
  std::map<std::string, std::string> changes;
  std::string who;  // Of a drain.
};

// Any bytes may be given. Errors are for who asked.
StatusOr<Request> ReadRequest(std::string_view text);

std::string DoneAnswer();
std::string ErrorAnswer(std::string_view error);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_REQUESTS_H_
