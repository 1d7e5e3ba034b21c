#include "runtime/scheduler/events.h"

namespace vramspan {

bool WorkEvents::Submit(Work* work, const Moment& at) {
  // What its owner has learnt of it since it was told of.
  const auto late = static_cast<uint64_t>(work->needs_arrival | work->submitted << 1);
  return tell_(
      {.kind = Kind::kSubmit, .work = work, .at = &at, .other = work->submitted_at, .value = late},
      [&] { return flow_.Submit(work, at); });
}

void WorkEvents::Released(Work* work, const Moment& at) {
  // The answer: what it finds on the host, and whether its end is to be seen.
  tell_({.kind = Kind::kReleased, .work = work, .at = &at}, [&] {
    flow_.Released(work, at);
    return work->remote.value << 1 | static_cast<uint64_t>(work->timed);
  });
}

void MoveEvents::Copied(ChunkMove* move, const CopyOutcome& copy) {
  tell_({.kind = Kind::kCopied,
         .move = move,
         .print = copy.print ? &*copy.print : nullptr,
         .value = static_cast<uint64_t>(copy.ok | copy.equal << 1)},
        [&] { moves_.Copied(move, copy); });
}

}  // namespace vramspan
