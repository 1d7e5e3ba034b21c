// Miss-ratio curves, the bound and plain caches, over recorded runs made up here: a loop over
// layers whose weights and activations are named chunk by chunk, with now and then a piece of work
// somewhere else. Items are accesses; `peak_rss_mib` is of the whole process, the run included.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <random>
#include <string>

#include "tools/replay/bound.h"
#include "tools/replay/cache_model.h"
#include "tools/replay/lru_curve.h"

namespace vramspan::replay {
namespace {

constexpr uint32_t kChunksNamed = 16;  // By each work.

// `chunks` of 2 MiB in allocations of `kChunksNamed`; so many accesses, about.
RecordedRun MakeRun(uint32_t chunks, uint64_t accesses) {
  RecordedRun run;
  run.codes.push_back({"work", 0});
  const uint32_t count = chunks / kChunksNamed;
  std::vector<uint32_t> sets;
  for (uint32_t a = 0; a < count; ++a) {
    const Bytes size = kGranularity * kChunksNamed;
    run.allocations.push_back({.base = DevicePtr(size.value * (a + 1)), .size = size, .name = {}});
    run.steps.push_back({RecordedStep::Kind::kAllocate, a});
    sets.push_back(run.AddSet({{RecordedRange{.allocation = a, .offset = 0, .size = size.value}}}));
  }
  std::mt19937_64 random(1);
  const auto works = static_cast<uint32_t>(accesses / kChunksNamed);
  run.works.reserve(works);
  run.steps.reserve(run.steps.size() + works);
  for (uint32_t w = 0; w < works; ++w) {
    RecordedWork work;
    work.set =
        random() % 4 == 0 ? sets[std::min(random() % count, random() % count)] : sets[w % count];
    run.steps.push_back({RecordedStep::Kind::kWork, w});
    run.works.push_back(work);
  }
  return run;
}

void Report(benchmark::State& state, const ChunkedRun& run) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(CountAccesses(run)));
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// Arguments: chunks, millions of accesses.
void BM_LruCurveExact(benchmark::State& state) {
  const RecordedRun run = MakeRun(state.range(0), state.range(1) * 1'000'000);
  const ChunkedRun chunked(&run, 21, GiB(64));
  for (auto _ : state) {
    benchmark::DoNotOptimize(LruCurve::Exact(chunked).misses(GiB(1)));
  }
  Report(state, chunked);
}
BENCHMARK(BM_LruCurveExact)
    ->Args({40'000, 100})
    ->Args({4'000, 100})
    ->Args({1'000'000, 100})
    ->Unit(benchmark::kSecond);

void BM_LruCurveSampled(benchmark::State& state) {
  const RecordedRun run = MakeRun(state.range(0), state.range(1) * 1'000'000);
  const ChunkedRun chunked(&run, 21, GiB(64));
  for (auto _ : state) {
    benchmark::DoNotOptimize(LruCurve::Sampled(chunked, {.most_chunks = 8192}).misses(GiB(1)));
  }
  Report(state, chunked);
}
BENCHMARK(BM_LruCurveSampled)->Args({1'000'000, 100})->Unit(benchmark::kSecond);

void BM_MinFetches(benchmark::State& state) {
  const RecordedRun run = MakeRun(40'000, 10'000'000);
  const ChunkedRun chunked(&run, static_cast<int>(state.range(0)), GiB(64));
  for (auto _ : state) {
    benchmark::DoNotOptimize(MinFetches(chunked, GiB(40)));
  }
  Report(state, chunked);
}
BENCHMARK(BM_MinFetches)->Arg(21)->Unit(benchmark::kSecond);

// Half of what there is has room.
void BM_Cache(benchmark::State& state, const std::string& policy) {
  const RecordedRun run = MakeRun(40'000, 10'000'000);
  const ChunkedRun chunked(&run, 21, GiB(64));
  for (auto _ : state) {
    benchmark::DoNotOptimize(RunCache(chunked, policy, GiB(40)).value().misses);
  }
  Report(state, chunked);
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view policy : CachePolicyNames()) {
    benchmark::RegisterBenchmark(
        ("BM_Cache/" + std::string(policy)).c_str(),
        [name = std::string(policy)](benchmark::State& state) { BM_Cache(state, name); })
        ->Unit(benchmark::kSecond);
  }
  return true;
}();

}  // namespace
}  // namespace vramspan::replay
