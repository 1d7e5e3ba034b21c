#include "tools/replay/tune_pins.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "tools/replay/chunked_run.h"
#include "tools/replay/replay_all.h"

namespace vramspan::replay {
namespace {

// Used so often at least: what is used once or twice is not hot, whenever that is.
constexpr uint64_t kLeastUses = 4;
// Of half the device memory: all of it, a half, a quarter.
constexpr uint64_t kParts[] = {1, 2, 4};

// What is known of an allocation by its place in the order of the steps.
struct Life {
  uint32_t nth = 0;             // Of its size.
  uint64_t begin = 0, end = 0;  // In works.
  uint64_t uses = 0;            // Works that name it.
  bool came = false;            // Something of it was brought to the device.

  // Works from one use to the next, the end of its life counted in: memory that is kept while
  // nothing uses it is a loss.
  double Interval() const { return static_cast<double>(end - begin) / static_cast<double>(uses); }
};

std::vector<Life> LivesOf(const RecordedRun& run) {
  std::vector<Life> lives(run.allocations.size());
  absl::flat_hash_map<uint64_t, uint32_t> made;  // By size.
  uint64_t works = 0;
  std::vector<uint32_t> used_by(run.allocations.size());  // 1 + the last work.
  for (const RecordedStep& step : run.steps) {
    switch (step.kind) {
      case RecordedStep::Kind::kAllocate:
        lives[step.index].nth = ++made[run.allocations[step.index].size.value];
        lives[step.index].begin = works;
        lives[step.index].end = run.works.size();
        break;
      case RecordedStep::Kind::kFree:
        lives[step.index].end = works;
        break;
      case RecordedStep::Kind::kWork:
        ++works;
        for (const RecordedRange& r : run.set(run.works[step.index].set)) {
          if (used_by[r.allocation] == step.index + 1) continue;
          used_by[r.allocation] = step.index + 1;
          ++lives[r.allocation].uses;
        }
        break;
    }
  }
  return lives;
}

bool TellsPlaces(const RecordedRun& run) {
  const std::string& source = run.setting.source;
  return run.problems.empty() && (source == "vramspan" || source == "synthetic");
}

}  // namespace

std::vector<std::vector<Pin>> PinsToTry(const RecordedRun& run, const ReplayPrices& prices,
                                        const ReplaySetting& setting) {
  std::vector<std::vector<Pin>> choices;
  if (!TellsPlaces(run)) return choices;
  std::vector<Life> lives = LivesOf(run);
  ReplaySetting seen = setting;
  seen.moves = true;
  const ReplayResult result = ReplayAll(run, prices, {seen}, 1, [](size_t) {}).front();
  const ChunkedRun chunks(&run, setting.chunk_log2, setting.device_memory);
  for (const ReplayedMove& move : result.moves) {
    lives[chunks.allocation(move.chunk)].came |= move.in;
  }
  std::vector<uint32_t> hot;
  for (uint32_t a = 0; a < lives.size(); ++a) {
    const Life& life = lives[a];
    if (life.came && life.uses >= kLeastUses && life.nth <= Pin::kMostNth) hot.push_back(a);
  }
  absl::c_stable_sort(
      hot, [&](uint32_t a, uint32_t b) { return lives[a].Interval() < lives[b].Interval(); });
  for (const uint64_t part : kParts) {
    Bytes left(KeptShare(setting.device_memory).value / part);
    std::vector<Pin> pins;
    for (const uint32_t a : hot) {
      const Pin pin{.size = run.allocations[a].size, .nth = lives[a].nth};
      if (pins.size() == kMostPins || pin.charged() > left) continue;
      left -= pin.charged();
      pins.push_back(pin);
    }
    if (!pins.empty() && !absl::c_linear_search(choices, pins)) choices.push_back(std::move(pins));
  }
  return choices;
}

}  // namespace vramspan::replay
