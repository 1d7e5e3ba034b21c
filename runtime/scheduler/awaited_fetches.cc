#include "runtime/scheduler/awaited_fetches.h"

namespace vramspan {

AwaitedFetches::Answer AwaitedFetches::Look(bool active, bool in_place, Instant now,
                                            AwaitedFetch* launch) {
  if (launch->since == Instant()) launch->since = launch->active = now;
  // What runs makes room when it ends.
  if (active) launch->active = now;
  if (in_place || backoff_.Holds(now)) return Answer::kMap;
  const Duration short_wait = deadline_ / kStillShare;
  const bool stuck = now - launch->active > short_wait;
  if (!stuck && now - launch->since <= deadline_) return Answer::kWait;
  backoff_.Failed(stuck ? short_wait : deadline_, now);
  return Answer::kInVain;
}

}  // namespace vramspan
