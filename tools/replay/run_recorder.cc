#include "tools/replay/run_recorder.h"

#include <algorithm>
#include <map>
#include <string>

namespace vramspan::replay {
namespace {

constexpr size_t kMostKernels = 20;

}  // namespace

RunRecorder::RunRecorder(const ChunkedRun* run, bool timeline)
    : run_(*run), timeline_(timeline), kernels_(run->run().codes.size()) {
  for (uint32_t i = 0; i < kernels_.size(); ++i) kernels_[i].code = i;
}

void RunRecorder::Count(KernelResult* kernel, const Launch& launch) {
  ++kernel->launches;
  kernel->resident += launch.resident;
  kernel->predicted += launch.took + launch.stall.total();
  kernel->stall += launch.stall;
  kernel->in_place += launch.in_place;
  kernel->served += launch.served;
  kernel->fetches += launch.fetches;
  kernel->passes = std::max(kernel->passes, launch.passes);
}

void RunRecorder::Came(uint64_t time, ChunkIndex chunk, bool fetched) {
  if (!timeline_) return;
  changes_.push_back({time, run_.allocation(chunk), static_cast<int64_t>(run_.size(chunk).value)});
  if (fetched) fetches_.push_back({time, 1});
}

void RunRecorder::Left(uint64_t time, ChunkIndex chunk) {
  if (!timeline_) return;
  changes_.push_back({time, run_.allocation(chunk), -static_cast<int64_t>(run_.size(chunk).value)});
}

void RunRecorder::Packed(uint64_t time, Bytes size, bool came) {
  if (!timeline_) return;
  const auto bytes = static_cast<int64_t>(size.value);
  changes_.push_back({time, kPacked, came ? bytes : -bytes});
}

void RunRecorder::Finish(uint64_t duration, ReplayResult* result) {
  // Launches of the same name and other shapes are one kernel to whoever reads this.
  std::map<std::string, KernelResult> by_name;
  for (const KernelResult& kernel : kernels_) {
    if (kernel.launches == 0) continue;
    const auto [it, made] = by_name.try_emplace(run_.run().codes[kernel.code].name, kernel);
    if (made) continue;
    KernelResult& sum = it->second;
    sum.launches += kernel.launches;
    sum.resident += kernel.resident;
    sum.predicted += kernel.predicted;
    sum.stall += kernel.stall;
    sum.in_place += kernel.in_place;
    sum.served += kernel.served;
    sum.fetches += kernel.fetches;
    sum.passes = std::max(sum.passes, kernel.passes);
  }
  for (const auto& [name, kernel] : by_name) result->kernels.push_back(kernel);
  const auto lost = [](const KernelResult& k) {
    return static_cast<int64_t>(k.predicted) - static_cast<int64_t>(k.resident);
  };
  std::stable_sort(result->kernels.begin(), result->kernels.end(),
                   [&](const KernelResult& a, const KernelResult& b) {
                     return lost(a) != lost(b) ? lost(a) > lost(b) : a.predicted > b.predicted;
                   });
  for (const KernelResult& kernel : result->kernels) result->stall += kernel.stall;
  if (result->kernels.size() > kMostKernels) result->kernels.resize(kMostKernels);
  if (timeline_) result->timeline = MakeTimeline(duration);
}

Timeline RunRecorder::MakeTimeline(uint64_t duration) const {
  const auto& allocations = run_.run().allocations;
  Timeline timeline;
  timeline.bin = std::max<uint64_t>(1, (duration + Timeline::kBins - 1) / Timeline::kBins);
  const auto bin_of = [&](uint64_t time) {
    return std::min<uint64_t>(time / timeline.bin, Timeline::kBins - 1);
  };
  std::vector<uint32_t> largest;
  for (uint32_t a = 0; a < allocations.size(); ++a) {
    if (run_.count(a) != 0) largest.push_back(a);
  }
  std::stable_sort(largest.begin(), largest.end(), [&](uint32_t a, uint32_t b) {
    return allocations[a].size > allocations[b].size;
  });
  if (largest.size() > Timeline::kMostAllocations) largest.resize(Timeline::kMostAllocations);
  std::vector<uint32_t> row(allocations.size(), kPacked);
  for (const uint32_t a : largest) {
    row[a] = static_cast<uint32_t>(timeline.rows.size());
    timeline.rows.push_back({a, std::vector<float>(Timeline::kBins)});
  }
  timeline.device_bytes.resize(Timeline::kBins);
  timeline.fetches.resize(Timeline::kBins);
  timeline.stall.resize(Timeline::kBins);
  for (const At& at : fetches_) timeline.fetches[bin_of(at.time)] += at.value;
  for (const At& at : stalls_) timeline.stall[bin_of(at.time)] += at.value;

  // What is there at the end of each bin.
  std::vector<int64_t> there(timeline.rows.size());
  int64_t all = 0;
  size_t next = 0;
  for (uint64_t bin = 0; bin < Timeline::kBins; ++bin) {
    for (; next < changes_.size() && bin_of(changes_[next].time) <= bin; ++next) {
      const Change& change = changes_[next];
      all += change.bytes;
      if (change.allocation == kPacked || row[change.allocation] == kPacked) continue;
      there[row[change.allocation]] += change.bytes;
    }
    timeline.device_bytes[bin] = static_cast<uint64_t>(std::max<int64_t>(0, all));
    for (size_t r = 0; r < there.size(); ++r) {
      const Bytes size = RoundUp(allocations[timeline.rows[r].allocation].size, kGranularity);
      timeline.rows[r].resident[bin] =
          static_cast<float>(there[r]) / static_cast<float>(std::max<uint64_t>(1, size.value));
    }
  }
  return timeline;
}

}  // namespace vramspan::replay
