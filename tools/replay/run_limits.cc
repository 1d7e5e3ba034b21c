#include "tools/replay/run_limits.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {
namespace {

uint64_t Limit(uint64_t any, uint64_t a_byte, uint64_t bytes, uint64_t most) {
  return bytes > (most - any) / a_byte ? most : any + a_byte * bytes;
}

Status TooMuch(uint64_t most, std::string_view of) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "it has more than ", most, " ", of, ", more than is replayed of a file of this size"));
}

}  // namespace

RunLimits::RunLimits(uint64_t file_bytes)
    // Indices are of 32 bits, and so are the positions of accesses.
    : events(Limit(1 << 22, 4, file_bytes, uint64_t{1} << 31)),
      told(Limit(1 << 24, 64, file_bytes, uint64_t{1} << 40)),
      ranges(Limit(1 << 22, 16, file_bytes, uint64_t{1} << 32)),
      pieces(Limit(1 << 24, 256, file_bytes, uint64_t{1} << 40)),
      granules(Limit(1 << 22, 32, file_bytes, uint64_t{1} << 28)),
      named(Limit(1 << 24, 64, file_bytes, uint64_t{1} << 31)),
      accesses(Limit(1 << 27, 256, file_bytes, uint64_t{1} << 31)) {}

Status CheckLimits(const RecordedRun& run, const RunLimits& limits) {
  uint64_t granules = 0;
  for (const RecordedAllocation& a : run.allocations) {
    if (!ChunkedRun::Packed(a.size)) granules += RoundUp(a.size, kGranularity) / kGranularity;
    if (granules > limits.granules) return TooMuch(limits.granules, "granules of 2 MiB allocated");
  }
  uint64_t named = 0;
  std::vector<uint64_t> of_set(run.sets());
  for (uint32_t s = 0; s < run.sets(); ++s) {
    for (const RecordedRange& r : run.set(s)) of_set[s] += GranulesOf(r.offset, r.size);
    named += of_set[s];
    if (named > limits.named) {
      return TooMuch(limits.named, "granules of 2 MiB named by different work");
    }
  }
  uint64_t accesses = 0, busy = 0;
  for (const RecordedDiscard& d : run.discards) {
    accesses += 1 + GranulesOf(d.offset, d.size);
    if (accesses > limits.accesses) {
      return TooMuch(limits.accesses, "accesses to granules of 2 MiB");
    }
  }
  for (const RecordedWork& w : run.works) {
    accesses += of_set[w.set];
    if (accesses > limits.accesses) {
      return TooMuch(limits.accesses, "accesses to granules of 2 MiB");
    }
    if (w.submitted > kMostTime || w.end > kMostTime || w.end - w.start > kMostTime - busy) {
      return absl::ResourceExhaustedError("it has times of more than 36 years");
    }
    busy += w.end - w.start;
  }
  return absl::OkStatus();
}

}  // namespace vramspan::replay
