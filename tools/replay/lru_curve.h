// The miss-ratio curve of LRU over all sizes of cache, in one pass: exact, or from a sample of the
// chunks.
//
// The sample is SHARDS (C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC
// Construction with SHARDS", FAST 2015): chunks whose hash is below a threshold, all accesses of
// those and none of others; distances and counts are divided by the share. With a fixed rate the
// threshold stays; with a fixed size it sinks whenever more chunks than that are held, so memory is
// bounded whatever the run is. Counts are of all accesses that there were (the paper's SHARDS_adj),
// and a chunk's own size, which is known, is not scaled.
#ifndef VRAMSPAN_TOOLS_REPLAY_LRU_CURVE_H_
#define VRAMSPAN_TOOLS_REPLAY_LRU_CURVE_H_

#include <cstdint>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

struct SampleOptions {
  double rate = 1;           // The share of the chunks to begin with, above 0.
  uint32_t most_chunks = 0;  // Held at once; 0: however many.
  uint64_t seed = 1;
};

class LruCurve {
 public:
  // What RunCache("lru") counts in every room from that of the largest chunk up; for what is freed
  // of unequal chunks see stack_distances.h.
  static LruCurve Exact(const ChunkedRun& run);
  // REQUIRES: 0 < rate <= 1.
  static LruCurve Sampled(const ChunkedRun& run, const SampleOptions& options);

  uint64_t accesses() const { return accesses_; }
  // First touches aside. Of a sample an estimate, and no whole number.
  double misses(Bytes room) const { return At(misses_, room); }
  bool sampled() const { return rate_ < 1; }
  double rate() const { return rate_; }  // At the end.
  // The standard error of misses(room) / accesses(), from eight curves that are each made of an
  // eighth of the sample; 0 where all was taken.
  double error(Bytes room) const;

 private:
  static constexpr uint32_t kParts = 8;
  // By room in whole granules; of larger rooms as of the last.
  using Counts = std::vector<double>;
  class Sample;

  static double At(const Counts& counts, Bytes room) {
    const uint64_t granules = room / kGranularity;
    return granules < counts.size() ? counts[granules] : 0;
  }

  uint64_t accesses_ = 0;
  double rate_ = 1;
  Counts misses_;
  std::vector<Counts> parts_;  // Of each eighth, scaled to the whole.
};

// All accesses of a run, without walking over their chunks.
uint64_t CountAccesses(const ChunkedRun& run);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_LRU_CURVE_H_
