// What a process may use of one kind of memory, and what is wanted back of it.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_LEASE_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_LEASE_H_

#include <optional>

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"

namespace vramspan::broker {

// A part of a lease that its process was told to give back.
struct Recall {
  Revision revision;
  Bytes bytes;
  Bytes copied;  // What of them is to be copied to the host first.
  Instant sent;
  Instant deadline;
};

struct Lease {
  bool told = false;  // The process was.
  Bytes grant;        // What the process may use. It goes down only by what the process gave back.
  Bytes target;       // What its share of the memory would have it granted.
  Bytes lent;         // The same, if everybody wanted all. It is reckoned before memory is lent.
  std::optional<Recall> recall;
  Instant rest_until;                  // It gave something back: it is given nothing before this.
  Instant retry_at;                    // It could not give: it is not asked before this.
  std::optional<Instant> short_since;  // Since when it has a chunk less than its target.
  bool hungry = false;                 // Memory is recalled from others for it.
  int refusals = 0;                    // Answers to recalls that gave less than half, in a row.
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_LEASE_H_
