#include "tools/replay/replay_all.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

#include "runtime/base/mutex.h"
#include "tools/replay/bound.h"
#include "tools/replay/simulated_mover.h"

namespace vramspan::replay {
namespace {

// More than any run has.
constexpr Bytes kEverything{uint64_t{1} << 60};

// Settings that share their chunks, and so the bound: cut once, replayed one after another by
// whoever has a thread to spare.
struct Group {
  std::vector<size_t> settings;
  std::once_flag made;
  std::unique_ptr<ChunkedRun> chunks;
  std::once_flag bounded;
  uint64_t bound = 0;
  std::atomic<size_t> left;
};

ReplayResult Replay(const ChunkedRun& chunks, const Timing& timing, const ReplayPrices& prices,
                    const ReplaySetting& setting) {
  std::unique_ptr<MinSchedule> min;
  if (setting.policy == kMinPolicy) {
    min = std::make_unique<MinSchedule>(chunks, BoundMoves::KeptOf(setting.device_memory));
  }
  return SimulatedMover(chunks, timing, prices, setting, min.get()).Run();
}

ReplayResult Resident(const RecordedRun& run, const Timing& timing, const ReplayPrices& prices) {
  // The largest chunks, for there are fewest of them.
  const ReplaySetting setting{
      .policy = "fifo", .device_memory = kEverything, .chunk_log2 = kMaxChunkLog2};
  const ChunkedRun chunks(&run, setting.chunk_log2, setting.device_memory);
  return Replay(chunks, timing, prices, setting);
}

}  // namespace

uint64_t ResidentTime(const RecordedRun& run, const ReplayPrices& prices) {
  return Resident(run, Timing(&run, prices), prices).predicted;
}

std::vector<ReplayResult> ReplayAll(const RecordedRun& run, const ReplayPrices& prices,
                                    absl::Span<const ReplaySetting> settings, unsigned threads,
                                    absl::FunctionRef<void(size_t done)> progress) {
  const Timing timing(&run, prices);
  const ReplayResult resident = Resident(run, timing, prices);
  std::map<std::tuple<int, uint64_t>, Group> groups;
  std::vector<std::pair<Group*, size_t>> jobs;
  for (size_t i = 0; i < settings.size(); ++i) {
    groups[{settings[i].chunk_log2, settings[i].device_memory.value}].settings.push_back(i);
  }
  for (auto& [key, group] : groups) {
    group.left = group.settings.size();
    for (const size_t i : group.settings) jobs.emplace_back(&group, i);
  }
  std::vector<ReplayResult> results(settings.size());
  std::atomic<size_t> next{0};
  Mutex mu;
  size_t done = 0;
  const auto work = [&] {
    for (size_t j = next++; j < jobs.size(); j = next++) {
      Group* const group = jobs[j].first;
      const size_t i = jobs[j].second;
      const ReplaySetting& setting = settings[i];
      std::call_once(group->made, [&] {
        group->chunks =
            std::make_unique<ChunkedRun>(&run, setting.chunk_log2, setting.device_memory);
      });
      ReplayResult result = Replay(*group->chunks, timing, prices, setting);
      std::call_once(group->bounded,
                     [&] { group->bound = MinFetches(*group->chunks, setting.device_memory); });
      result.resident = resident.predicted;
      result.resident_round = resident.round;
      result.resident_phases = resident.phases;
      result.resident_repeated = resident.repeated;
      result.bound_fetches = group->bound;
      result.bound_exact = MinIsExact(*group->chunks);
      if (setting.policy == kMinPolicy) result.fetches = group->bound;
      results[i] = std::move(result);
      if (--group->left == 0) group->chunks.reset();
      MutexLock lock(mu);
      progress(++done);
    }
  };
  std::vector<std::thread> pool;
  const size_t most = std::min<size_t>(threads, jobs.size());
  for (size_t i = 1; i < most; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return results;
}

}  // namespace vramspan::replay
