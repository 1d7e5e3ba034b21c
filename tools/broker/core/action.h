// What the broker wants done. The daemon does all of it in order.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_ACTION_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_ACTION_H_

#include <vector>

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

enum class Refusal : uint8_t {
  kNone,
  kKnown,      // That tenant or process is there already.
  kUnknown,    // The tenant that it is to be in is not there.
  kPolicy,     // The policy contradicts itself.
  kGuarantee,  // The guarantees would be more than the capacity, or than the parent's.
  kInUse,      // The tenant has processes or tenants inside.
  kBusy,       // The process waits for room already.
  kShare,      // More room than the process's share.
  kNoRoom,     // There was no room in time.
  kNotNow,     // Only an empty broker adopts, and only for a time.
};

struct Action {
  enum class Kind : uint8_t {
    kGrant,     // `process` may use `bytes` of `place` from now on, all in all.
    kRecall,    // `process` is to give back `bytes`, and has room on the host for `copied` of
                // them. Its answer is awaited until `deadline`.
    kRoom,      // `process` may make its context: `bytes` beside its grant.
    kGiveTurn,  // `process` may move memory in bulk, `direction`,
    kTakeTurn,  // or no longer.
    kHoldWork,  // `process` is to hold its work, until `deadline` at the latest,
    kLetWork,   // or no longer.
    kRefuse,    // What `tenant` or `process` asked for, for `refusal`.
    kFence,     // `process` does not give back what it must: nothing is expected of it.
    kUnfence,   // It does again.
    kOverrun,   // `process` was seen to hold `bytes` more than it may; 0: no longer.
    kForget,    // `process` is gone, and its bytes are.
  };
  Kind kind = Kind::kGrant;
  ProcessId process;
  TenantId tenant;
  Place place = Place::kDevice;
  Revision revision;  // Of kGrant and kRecall: one more than the last that the process was told.
  Bytes bytes;
  Bytes copied;
  Instant deadline;
  Direction direction = Direction::kEvict;
  Refusal refusal = Refusal::kNone;
};

using Actions = std::vector<Action>;

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_ACTION_H_
