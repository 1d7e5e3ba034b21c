// How things stand between a process and its broker, as the process sees it.
//
// Pure values.
#ifndef VRAMSPAN_RUNTIME_LEASE_STANDING_H_
#define VRAMSPAN_RUNTIME_LEASE_STANDING_H_

#include <cstdint>
#include <optional>

#include "runtime/base/units.h"
#include "runtime/lease/session.h"

namespace vramspan::lease {

// What a process may use, and how things stand with its broker.
struct Standing {
  Session::State state = Session::State::kApart;
  Grants grants;
  Bytes device_recalled, host_recalled;  // Of the grants; to be given back now.
  Bytes device_limit, host_limit;        // Of the tenant. 0: never told.
  bool fenced = false;
  std::optional<Instant> hold_until;  // Others have the GPU: new work is to wait.
  bool absent = false;  // There has never been an answer, and nobody listens any more.
  bool told_device = false, told_host = false;          // That there was a grant of it.
  uint64_t granted = 0, recalled = 0, connections = 0;  // How often.
  // Why the last connection ended, and the code of a refusal; nothing and 0 for none.
  const char* ended = "";
  uint8_t refusal = 0;

  // What may be used once recalls are obeyed.
  Bytes device() const { return grants.device - device_recalled; }
  Bytes host() const { return grants.host - host_recalled; }
};

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_STANDING_H_
