// What a plan costs under pressure: the queue of a program whose layers go round in a cycle larger
// than the device, everything that can be resident being so.
#include <benchmark/benchmark.h>

#include <vector>

#include "runtime/placement/forecast.h"
#include "runtime/placement/planner.h"

namespace vramspan {
namespace {

class Residency final : public ResidencyView {
 public:
  explicit Residency(uint32_t chunks) : views_(chunks + 1, {.size = MiB(16)}) {}
  ChunkView Get(ChunkIndex c) const override { return views_[c.value]; }
  ChunkView& operator[](uint32_t id) { return views_[id]; }

 private:
  std::vector<ChunkView> views_;
};

// `works` of `per_work` chunks each, over a cycle of `distinct` chunks of which `resident` are on
// the device; some of those the queue does not name.
void BM_Make(benchmark::State& state) {
  const auto works = static_cast<uint32_t>(state.range(0));
  const auto per_work = static_cast<uint32_t>(state.range(1));
  const auto distinct = static_cast<uint32_t>(state.range(2));
  const auto resident = static_cast<uint32_t>(state.range(3));
  const uint32_t unnamed = resident / 4;
  Residency residency(distinct + unnamed);
  auto policy = MakePolicy("lru").value();
  Planner planner(policy.get());
  const auto bring = [&](uint32_t id) {
    residency[id].on_device = true;
    policy->OnInsert(ChunkIndex(id));
  };
  for (uint32_t i = 0; i < unnamed; ++i) {
    bring(distinct + 1 + i);
    // Nothing can be taken without a look at them all.
    residency[distinct + 1 + i].busy = i % 8 != 0;
  }
  for (uint32_t i = 0; i < resident - unnamed; ++i) bring(1 + i);
  std::vector<std::vector<ChunkIndex>> chunks(works);
  std::vector<QueuedWork> queue;
  for (uint32_t w = 0; w < works; ++w) {
    for (uint32_t i = 0; i < per_work; ++i) {
      chunks[w].push_back(ChunkIndex(1 + (w * per_work + i) % distinct));
    }
    queue.push_back({.id = w, .chunks = chunks[w]});
  }
  for (const ChunkIndex c : chunks[0]) residency[c.value].busy = true;
  PlanRequest request;
  request.queue = queue;
  request.released = 1;
  request.horizon = GiB(1024);
  request.ahead = MiB(128);
  request.max_fetches = request.max_evictions = 32;
  uint64_t moves = 0;
  for (auto _ : state) {
    const Plan plan = planner.Make(request, residency);
    moves += plan.fetch.size() + plan.evict.size();
    benchmark::DoNotOptimize(plan.wait);
  }
  state.counters["moves"] =
      benchmark::Counter(static_cast<double>(moves), benchmark::Counter::kAvgIterations);
  state.SetItemsProcessed(state.iterations() * works * per_work);
}
// The first is the case with a target: at most 50 us.
BENCHMARK(BM_Make)
    ->ArgNames({"works", "per_work", "distinct", "resident"})
    ->Args({64, 17, 400, 300})
    ->Args({64, 17, 1088, 300})
    ->Args({1000, 4, 400, 300})
    ->Args({1000, 17, 5000, 4000});

void BM_PolicyUse(benchmark::State& state, std::string_view name) {
  auto policy = MakePolicy(name).value();
  constexpr uint32_t kChunks = 4096;
  for (uint32_t id = 1; id <= kChunks; ++id) policy->OnInsert(ChunkIndex(id));
  uint32_t id = 1;
  for (auto _ : state) {
    policy->OnUse(ChunkIndex(id));
    id = id * 1664525 % kChunks + 1;
  }
}
BENCHMARK_CAPTURE(BM_PolicyUse, arc, "arc");
BENCHMARK_CAPTURE(BM_PolicyUse, clock, "clock");
BENCHMARK_CAPTURE(BM_PolicyUse, cost, "cost");
BENCHMARK_CAPTURE(BM_PolicyUse, cycle, "cycle");
BENCHMARK_CAPTURE(BM_PolicyUse, fifo, "fifo");
BENCHMARK_CAPTURE(BM_PolicyUse, lfu, "lfu");
BENCHMARK_CAPTURE(BM_PolicyUse, lru, "lru");
BENCHMARK_CAPTURE(BM_PolicyUse, random, "random");
BENCHMARK_CAPTURE(BM_PolicyUse, s3fifo, "s3fifo");
BENCHMARK_CAPTURE(BM_PolicyUse, sieve, "sieve");

// A loop over a quarter more than fits: offer 64, remove one of them, insert another.
void BM_PolicyMiss(benchmark::State& state, std::string_view name) {
  auto policy = MakePolicy(name).value();
  constexpr uint32_t kRoom = 4096;
  constexpr uint32_t kPeriod = kRoom + kRoom / 4;
  std::vector<bool> present(kPeriod + 1);
  uint32_t count = 0;
  uint32_t id = 0;
  for (auto _ : state) {
    do {
      id = id % kPeriod + 1;
      if (present[id]) policy->OnUse(ChunkIndex(id));
    } while (present[id]);
    if (count == kRoom) {
      ChunkIndex victim;
      uint32_t offered = 0;
      policy->OfferVictims([&](ChunkIndex c) {
        if (!victim) victim = c;
        return ++offered == 64;
      });
      policy->OnRemove(victim);
      present[victim.value] = false;
      --count;
    }
    policy->OnInsert(ChunkIndex(id));
    policy->OnUse(ChunkIndex(id));
    present[id] = true;
    ++count;
  }
}
BENCHMARK_CAPTURE(BM_PolicyMiss, arc, "arc");
BENCHMARK_CAPTURE(BM_PolicyMiss, clock, "clock");
BENCHMARK_CAPTURE(BM_PolicyMiss, cost, "cost");
BENCHMARK_CAPTURE(BM_PolicyMiss, cycle, "cycle");
BENCHMARK_CAPTURE(BM_PolicyMiss, fifo, "fifo");
BENCHMARK_CAPTURE(BM_PolicyMiss, lfu, "lfu");
BENCHMARK_CAPTURE(BM_PolicyMiss, lru, "lru");
BENCHMARK_CAPTURE(BM_PolicyMiss, random, "random");
BENCHMARK_CAPTURE(BM_PolicyMiss, s3fifo, "s3fifo");
BENCHMARK_CAPTURE(BM_PolicyMiss, sieve, "sieve");

void BM_ForecastSaw(benchmark::State& state) {
  Forecast forecast;
  const auto period = static_cast<uint64_t>(state.range(0));
  uint64_t i = 0;
  for (auto _ : state) forecast.Saw(period == 0 ? i * 0x9e3779b97f4a7c15 : i % period), ++i;
  benchmark::DoNotOptimize(forecast.hits());
}
// A loop of 1,000 launches, and nothing that repeats.
BENCHMARK(BM_ForecastSaw)->Arg(1000)->Arg(0);

}  // namespace
}  // namespace vramspan
