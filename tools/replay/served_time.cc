#include "tools/replay/served_time.h"

#include <algorithm>

namespace vramspan::replay {

ServedTime::Touched ServedTime::TouchedIn(uint32_t set, ChunkIndex chunk) const {
  const uint32_t allocation = chunks_.allocation(chunk);
  const uint64_t begin = chunks_.offset(chunk).value, end = begin + chunks_.size(chunk).value;
  Touched touched;
  for (const RecordedRange& r : chunks_.run().set(set)) {
    if (r.allocation != allocation) continue;
    const uint64_t from = std::max(r.offset, begin), to = std::min(r.offset + r.size, end);
    if (from >= to) continue;
    touched.named += Bytes(to - from);
    touched.write |= r.write;
  }
  touched.once = std::min(touched.named, Bytes(end - begin));
  return touched;
}

double ServedTime::Pass(uint32_t work, ChunkIndex chunk, const Touched& touched) const {
  const double once = prices_.decisions.ServeNanoseconds(touched.once);
  // Named all by two arguments and written: by one of them it is read.
  const ChunkFacts& facts = memory_.facts(chunk);
  const bool both = touched.write && touched.named >= touched.once + touched.once &&
                    !facts.unwritten && work <= facts.unwritten_from && !timing_.Proved(work);
  // On the device, too, it is slower than what only reads: its rate there shows no more than that.
  return both ? std::max(1.0, prices_.both_ways / timing_.Passes(work)) * once : once;
}

}  // namespace vramspan::replay
