#include "tests/replay/random_run.h"

#include <absl/strings/str_cat.h>

#include <random>
#include <utility>

namespace vramspan::replay {

uint32_t RunBuilder::Allocate(Bytes size) {
  const auto index = static_cast<uint32_t>(run_.allocations.size());
  const DevicePtr base(index == 0 ? uint64_t{1} << 40
                                  : run_.allocations.back().base.value +
                                        RoundUp(run_.allocations.back().size, MiB(64)).value);
  run_.allocations.push_back({.base = base, .size = size, .allocated = now_, .name = {}});
  run_.steps.push_back({RecordedStep::Kind::kAllocate, index});
  return index;
}

void RunBuilder::Free(uint32_t allocation) {
  run_.allocations[allocation].freed = now_;
  run_.steps.push_back({RecordedStep::Kind::kFree, allocation});
}

void RunBuilder::Work(const std::vector<uint32_t>& allocations, uint64_t microseconds,
                      uint32_t code, uint32_t stream) {
  std::vector<RecordedRange> ranges;
  for (const uint32_t a : allocations) {
    ranges.push_back({.allocation = a,
                      .offset = 0,
                      .size = run_.allocations[a].size.value,
                      .slot = static_cast<uint16_t>(ranges.size())});
  }
  Work(ranges, microseconds, code, stream);
}

void RunBuilder::Work(const std::vector<RecordedRange>& ranges, uint64_t microseconds,
                      uint32_t code, uint32_t stream) {
  while (run_.codes.size() <= code) {
    run_.codes.push_back({absl::StrCat("kernel", run_.codes.size()), 0});
  }
  RecordedWork work;
  work.submitted = now_;
  work.start = now_;
  now_ += microseconds * 1000;
  work.end = now_;
  work.stream = stream;
  work.code = code;
  work.set = run_.AddSet(ranges);
  run_.steps.push_back({RecordedStep::Kind::kWork, static_cast<uint32_t>(run_.works.size())});
  run_.works.push_back(work);
}

RecordedRun RunBuilder::Take() { return std::move(run_); }

RecordedRun RandomRun(uint64_t seed, const RandomRunOptions& options) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  RunBuilder builder;
  std::vector<uint32_t> live;
  const auto allocate = [&] {
    live.push_back(
        builder.Allocate(options.varied ? options.size * (1 + below(24)) : options.size));
  };
  for (uint32_t i = 0; i < options.allocations; ++i) allocate();
  for (uint32_t w = 0; w < options.works; ++w) {
    if (options.frees && below(10) == 0) {
      const uint32_t goes = below(live.size());
      builder.Free(live[goes]);
      live[goes] = live.back();
      live.pop_back();
      allocate();
    }
    std::vector<uint32_t> touched;
    const uint32_t count = 1 + below(options.most_touched);
    // Some are hotter than others.
    for (uint32_t i = 0; i < count; ++i) {
      touched.push_back(live[std::min(below(live.size()), below(live.size()))]);
    }
    builder.Work(touched, 20 + below(200), below(5), below(options.streams));
  }
  return builder.Take();
}

RecordedRun LoopRun(uint32_t layers, uint32_t passes, Bytes size, uint64_t microseconds) {
  RunBuilder builder;
  for (uint32_t i = 0; i < layers; ++i) builder.Allocate(size);
  for (uint32_t pass = 0; pass < passes; ++pass) {
    for (uint32_t i = 0; i < layers; ++i) {
      builder.Work(std::vector<uint32_t>{i}, microseconds, i);
    }
  }
  return builder.Take();
}

}  // namespace vramspan::replay
