// How fast recorded work is replayed: items are chunk accesses, one chunk that one piece of work
// names, on one core.
#include <benchmark/benchmark.h>

#include <string>

#include "tools/replay/bound_moves.h"
#include "tools/replay/load_run.h"
#include "tools/replay/min_schedule.h"
#include "tools/replay/simulated_mover.h"
#include "tools/replay/synthetic.h"

namespace vramspan::replay {
namespace {

// Replays `run` over and over, and counts accesses.
void ReplayEach(benchmark::State& state, const RecordedRun& run, const ReplaySetting& setting) {
  const ReplayPrices prices;
  const ChunkedRun chunks(&run, setting.chunk_log2, setting.device_memory);
  const Timing timing(&run, prices);
  const MinSchedule min(chunks, BoundMoves::KeptOf(setting.device_memory));
  uint64_t accesses = 0, fetches = 0;
  for (auto _ : state) {
    SimulatedMover mover(chunks, timing, prices, setting,
                         setting.policy == kMinPolicy ? &min : nullptr);
    const ReplayResult result = mover.Run();
    accesses += result.accesses;
    fetches += result.fetches;
  }
  state.SetItemsProcessed(static_cast<int64_t>(accesses));
  state.counters["fetched"] =
      static_cast<double>(fetches) / static_cast<double>(std::max<uint64_t>(1, accesses));
}

Bytes ShareOfPeak(const RecordedRun& run, int64_t percent) {
  return Bytes(run.PeakBytes().value * static_cast<uint64_t>(percent) / 100);
}

// A program that goes round `mib` MiB a piece of work in chunks of 2 MiB, with `percent` of its
// memory on the device. A launch takes 500 us and comes `lead` us after the one before: with 5 the
// program runs far ahead, with 500 hardly.
void BM_Replay(benchmark::State& state, const std::string& policy, ReplayOverlap overlap) {
  const std::string spec =
      "synthetic:loop,layers=64,passes=" + std::to_string(16384 / state.range(0)) +
      ",us=500,mib=" + std::to_string(state.range(0)) + ",lead=" + std::to_string(state.range(2));
  const RecordedRun run = SyntheticRun(spec).value();
  ReplayEach(state, run,
             {.policy = policy,
              .device_memory = ShareOfPeak(run, state.range(1)),
              .chunk_log2 = kMinChunkLog2,
              .overlap = overlap});
}

// A run of examples/traces, with chunks as the runtime chooses them.
void BM_Recorded(benchmark::State& state, const std::string& trace, const std::string& policy) {
  const StatusOr<RecordedRun> run = LoadRun(VRAMSPAN_TRACES "/" + trace + ".vramspan");
  if (!run.ok()) {
    state.SkipWithError(std::string(run.status().message()).c_str());
    return;
  }
  ReplayEach(state, *run,
             {.policy = policy,
              .device_memory = ShareOfPeak(*run, state.range(0)),
              .overlap = ReplayOverlap::kSafe});
}
BENCHMARK_CAPTURE(BM_Recorded, train_cost, "train", "cost")
    ->ArgName("percent")
    ->Arg(50)
    ->Unit(benchmark::kMillisecond);

void Arguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"mib", "percent", "lead"})->Unit(benchmark::kMillisecond);
  for (const int64_t mib : {2, 16, 64}) b->Args({mib, 100, 5});
  for (const int64_t percent : {95, 75}) b->Args({16, percent, 5})->Args({16, percent, 500});
}
BENCHMARK_CAPTURE(BM_Replay, lru_off, "lru", ReplayOverlap::kOff)->Apply(Arguments);
BENCHMARK_CAPTURE(BM_Replay, lru_all, "lru", ReplayOverlap::kAll)->Apply(Arguments);
BENCHMARK_CAPTURE(BM_Replay, cost_all, "cost", ReplayOverlap::kAll)->Apply(Arguments);
BENCHMARK_CAPTURE(BM_Replay, sieve_all, "sieve", ReplayOverlap::kAll)->Apply(Arguments);
BENCHMARK_CAPTURE(BM_Replay, min_all, "min", ReplayOverlap::kAll)->Apply(Arguments);

}  // namespace
}  // namespace vramspan::replay
