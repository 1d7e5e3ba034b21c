// A process answers a recall.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/grants.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/obedience.h"
#include "tools/broker/core/recalls.h"
#include "tools/broker/core/word.h"

namespace vramspan::broker {

Bytes GivenBack(const Acknowledges& answer, const Recall& recall) {
  switch (answer.result) {
    case Acknowledges::Result::kDone:
      return recall.bytes;
    case Acknowledges::Result::kPartial:
      return std::min(answer.bytes, recall.bytes);
    case Acknowledges::Result::kDeferred:
      return Bytes();
  }
  return Bytes();
}

void On(State& state, const Acknowledges& event, Actions& actions) {
  Process* const process = Find(state, event.process);
  if (process == nullptr || process->state == LeaseState::kDying) return;
  Lease& lease = process->leases[event.place];
  if (!lease.recall || lease.recall->revision != event.revision) return;
  const Recall recall = *lease.recall;
  lease.recall.reset();
  const Bytes given = GivenBack(event, recall);
  lease.grant -= given;
  if (event.place == Place::kDevice) process->measured = Minus(process->measured, given);
  ReckonGiven(*process, event.place, std::min(given, recall.copied));
  if (given < recall.bytes) lease.retry_at = After(state.now, state.settings.retry);
  if (given > Bytes()) {
    // The move back would take as long.
    const Duration rest = std::min(2 * (state.now - recall.sent), state.settings.longest_rest);
    lease.rest_until = After(state.now, rest);
  }
  // A byte at a time is no obedience either. Half is rounded up: nothing is not half of a byte.
  if (given >= recall.bytes - Bytes(recall.bytes.value / 2)) {
    Obeyed(state, *process, event.place, actions);
  } else if (!EndsItsWork(state, *process)) {
    Refused(state, *process, event.place, actions);
  }
  if (process->state == LeaseState::kRecalling || process->state == LeaseState::kPartial) {
    process->state = AnyRecall(*process)    ? LeaseState::kRecalling
                     : given < recall.bytes ? LeaseState::kPartial
                                            : LeaseState::kSteady;
  }
  TellGrant(*process, event.place, actions);
}

}  // namespace vramspan::broker
