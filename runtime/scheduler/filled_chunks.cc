#include "runtime/scheduler/filled_chunks.h"

namespace vramspan {
namespace {

// It holds nothing when the work runs, most likely: given up now, or behind what is held.
bool IsFilled(const ChunkUse& use, const Residency& residency) {
  const Chunk& c = residency[use.chunk];
  return use.how.once && use.how.write && !use.how.waited && (c.empty() || c.given_up()) &&
         2 * use.how.part.In(c.size()).value >= c.size().value && !Residency::ServedInPlace(c);
}

}  // namespace

bool FetchFilled(Work* work, const Residency& residency, Bytes room) {
  if (work->wanted.in_place.empty()) return false;
  Bytes filled;
  for (const ChunkUse& use : work->uses) {
    if (IsFilled(use, residency)) filled += residency[use.chunk].size();
  }
  if (filled == Bytes(0) || filled > room) return false;
  for (size_t i = 0; i < work->uses.size(); ++i) {
    if (IsFilled(work->uses[i], residency)) work->wanted.in_place[i] = 0;
  }
  return true;
}

}  // namespace vramspan
