#include "runtime/scheduler/work_prints.h"

#include <absl/algorithm/container.h>

#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/host_copies.h"

namespace vramspan {
namespace {

// Works ahead in which the fingerprint of a chunk makes an earlier one needless.
constexpr size_t kSoon = 3;

}  // namespace

bool WorkPrints::IsWorth(const Chunk& c, bool host_used) {
  return host_used && HostCopies::WorthNow(c);
}

void WorkPrints::Choose(Work* work, bool host_used,
                        absl::FunctionRef<std::optional<uint32_t>()> take) {
  if (!May(*work)) return;
  bool room = true;
  // Also of what is served in place: it may be on the device all the same.
  work->ForEachFixed([&](const ChunkUse& use) {
    if (!room || !use.how.write || work->prints.places.size() == kMost) return;
    Chunk& c = chunks_[use.chunk];
    // What is behind a free may be gone when the stream comes there.
    if (c.size() < kWorthAFingerprint || c.dying) return;
    if (work->released ? !IsWorth(c, host_used) : !HostCopies::MayBeWorth(c)) return;
    const std::optional<uint32_t> slot = take();
    room = slot.has_value();
    if (!room) return;
    ++c.pending_fingerprints;
    work->prints.places.push_back({use.chunk, *slot});
  });
}

bool WorkPrints::TakenSoon(const Work& work, ChunkIndex index) const {
  return queue_.AnyBehind(&work, kSoon, [index](const Work& next) {
    return absl::c_any_of(next.prints.places,
                          [index](const WorkPrint& p) { return p.chunk == index; });
  });
}

void WorkPrints::Ask(const Work& work, bool host_used,
                     absl::FunctionRef<void(const WorkPrint&)> ask) {
  for (const WorkPrint& print : work.prints.places) {
    Chunk& c = chunks_[print.chunk];
    --c.pending_fingerprints;
    if (!IsWorth(c, host_used)) continue;
    if (c.pending_fingerprints != 0 && TakenSoon(work, print.chunk)) continue;
    ++c.fingerprints_taken;
    ask(print);
  }
}

void WorkPrints::Drop(Work* work) {
  // Once it is released, each has been asked for or not.
  for (const WorkPrint& print : work->prints.places) {
    if (!work->released) --chunks_[print.chunk].pending_fingerprints;
  }
  work->prints.places.clear();
}

}  // namespace vramspan
