#include "tools/replay/tune.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/placement/policy.h"
#include "tools/replay/replay_all.h"
#include "tools/replay/timing.h"
#include "tools/replay/tune_pins.h"

namespace vramspan::replay {
namespace {

constexpr char kDefaultPolicy[] = "cost";
constexpr size_t kShapesKept = 2;
// So much better than the default, at least, for replays that differ in nothing that matters differ
// by as much; with chunks of one size for all, which live runs were slower with than their replays,
// by a sixth and more.
constexpr double kWorthIt = 0.97;
constexpr double kWorthOtherChunks = 0.9;

// Of what repeats itself where that is a fair part: a recording is short, and what is paid once in
// it (host memory that is made, habits that are learnt) is little of a run that anyone tunes.
double SlowdownOf(const ReplayResult& r) {
  if (r.repeated == 0 || r.resident_repeated == 0) return Slowdown(r);
  return static_cast<double>(r.repeated) / static_cast<double>(r.resident_repeated);
}

double Ms(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

class Search {
 public:
  Search(absl::Span<const RecordedRun> runs, const ReplayPrices& prices, const TuneOptions& options,
         absl::FunctionRef<void(size_t done, size_t all)> progress)
      : runs_(runs), prices_(prices), options_(options), progress_(progress) {}

  // Adds what they come to.
  void Try(const std::vector<ReplaySetting>& settings, size_t to_come) {
    const size_t first = candidates_.size();
    for (const ReplaySetting& setting : settings) candidates_.push_back({.setting = setting});
    std::vector<double> logs(settings.size());
    resident_ = 0;
    for (size_t r = 0; r < runs_.size(); ++r) {
      const size_t before = done_;
      const std::vector<ReplayResult> results =
          ReplayAll(runs_[r], prices_, settings, options_.threads, [&](size_t done) {
            done_ = before + done;
            progress_(done_, before + settings.size() * (runs_.size() - r) + to_come);
          });
      resident_ += results.front().resident;
      for (size_t i = 0; i < results.size(); ++i) {
        candidates_[first + i].predicted += results[i].predicted;
        candidates_[first + i].rounds += results[i].round;
        logs[i] += std::log(std::max(SlowdownOf(results[i]), 1e-9));
      }
    }
    for (size_t i = 0; i < settings.size(); ++i) {
      candidates_[first + i].slowdown = std::exp(logs[i] / static_cast<double>(runs_.size()));
    }
  }
  const std::vector<TuneCandidate>& candidates() const { return candidates_; }
  // Best first; equals stay in the order in which they were tried.
  void Sort() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
  }
  uint64_t resident() const { return resident_; }

 private:
  const absl::Span<const RecordedRun> runs_;
  const ReplayPrices& prices_;
  const TuneOptions& options_;
  const absl::FunctionRef<void(size_t done, size_t all)> progress_;
  std::vector<TuneCandidate> candidates_;
  uint64_t resident_ = 0;
  size_t done_ = 0;
};

// What the records prove of kernels, those first that take most time.
std::vector<ProfileKernel> KernelsOf(absl::Span<const RecordedRun> runs,
                                     const ReplayPrices& prices) {
  struct Sum {
    double passes = 0;
    uint64_t proofs = 0, least = kNever, all = 0;
  };
  std::map<std::pair<std::string, uint64_t>, Sum> sums;
  for (const RecordedRun& run : runs) {
    const Timing timing(&run, prices);
    for (uint32_t w = 0; w < run.works.size(); ++w) {
      const RecordedWork& work = run.works[w];
      if (work.kind != WorkKind::kKernel || !timing.Proved(w)) continue;
      const RecordedCode& code = run.codes[work.code];
      Sum& sum = sums[{code.name, code.shape}];
      sum.passes += timing.Passes(w);
      ++sum.proofs;
      sum.least = std::min(sum.least, timing.of(w).duration);
      sum.all += timing.of(w).duration;
    }
  }
  std::vector<std::pair<uint64_t, ProfileKernel>> by_time;
  for (const auto& [key, sum] : sums) {
    by_time.push_back({sum.all,
                       {.name = key.first,
                        .shape = key.second,
                        .passes = sum.passes / static_cast<double>(sum.proofs),
                        .resident_us = static_cast<double>(sum.least) / 1e3}});
  }
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<ProfileKernel> kernels;
  for (auto& [time, kernel] : by_time) {
    if (kernels.size() == kMostProfileKernels) break;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

Tuned Tune(absl::Span<const RecordedRun> runs, const ReplayPrices& prices,
           const TuneOptions& options, absl::FunctionRef<void(size_t done, size_t all)> progress) {
  Search search(runs, prices, options, progress);
  std::vector<ReplaySetting> settings;
  for (const ReplayOverlap overlap : options.overlaps) {
    settings.push_back({.policy = kDefaultPolicy,
                        .device_memory = options.device_memory,
                        .chunk_log2 = 0,
                        .overlap = overlap});
    for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
      settings.push_back(settings.back());
      settings.back().chunk_log2 = log2;
    }
  }
  std::vector<std::string> policies;
  for (const std::string_view name : PolicyNames()) {
    // `random` has nothing to be tuned for: the next run draws otherwise.
    if (name != kDefaultPolicy && name != "random") policies.emplace_back(name);
  }
  search.Try(settings, kShapesKept * policies.size() * runs.size());
  Tuned tuned;
  tuned.by_default = search.candidates().front();
  search.Sort();

  const size_t kept = std::min(kShapesKept, search.candidates().size());
  settings.clear();
  for (size_t i = 0; i < kept; ++i) {
    for (const std::string& policy : policies) {
      settings.push_back(search.candidates()[i].setting);
      settings.back().policy = policy;
    }
  }
  search.Try(settings, 0);
  search.Sort();
  const auto best = absl::c_find_if(search.candidates(), [&](const TuneCandidate& c) {
    const double worth = c.setting.chunk_log2 == 0 ? kWorthIt : kWorthOtherChunks;
    return c.slowdown < tuned.by_default.slowdown * worth;
  });
  tuned.chosen = best != search.candidates().end() ? *best : tuned.by_default;

  settings.clear();
  for (std::vector<Pin>& pins : PinsToTry(runs.front(), prices, tuned.chosen.setting)) {
    settings.push_back(tuned.chosen.setting);
    settings.back().pins = std::move(pins);
  }
  if (!settings.empty()) {
    search.Try(settings, 0);
    search.Sort();
    const auto pinned = absl::c_find_if(
        search.candidates(), [](const TuneCandidate& c) { return !c.setting.pins.empty(); });
    if (pinned->slowdown < tuned.chosen.slowdown * kWorthIt) tuned.chosen = *pinned;
  }
  tuned.candidates = search.candidates();
  tuned.resident = search.resident();

  const RecordedSetting& recorded = runs.front().setting;
  tuned.profile = {.program = recorded.program,
                   .device = recorded.device,
                   .device_uuid = recorded.device_uuid,
                   .device_memory = options.device_memory,
                   .policy = tuned.chosen.setting.policy,
                   .chunk_log2 = tuned.chosen.setting.chunk_log2,
                   .overlap = tuned.chosen.setting.overlap,
                   .predicted_ms = Ms(tuned.chosen.predicted),
                   .default_ms = Ms(tuned.by_default.predicted),
                   .resident_ms = Ms(tuned.resident),
                   .pins = tuned.chosen.setting.pins,
                   .kernels = KernelsOf(runs, prices)};
  return tuned;
}

}  // namespace vramspan::replay
