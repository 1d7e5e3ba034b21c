#include "tools/replay/timing.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "runtime/placement/kernel_history.h"

namespace vramspan::replay {
namespace {

constexpr uint64_t kUntimed = 5000;
// A launch that finds its stream idle starts within this.
constexpr uint64_t kUsualLag = 10000;
// Two submissions that are further apart may have had a wait between them.
constexpr uint64_t kUsualGap = 20000;
// More work than this is not what a guess of its end is off by.
constexpr uint64_t kFarAhead = 1'000'000;
constexpr double kMostPasses = 40;
// No GPU's caches hold as much.
constexpr Bytes kCached = MiB(256);
// Less is over the bus in the time by which two runs of a kernel differ.
constexpr Bytes kTells = KiB(256);

uint64_t Count(double nanoseconds) {
  return nanoseconds > 0 ? static_cast<uint64_t>(nanoseconds) : 0;
}

template <typename Map>
void NoteLeast(Map* map, const typename Map::key_type& key, uint64_t duration) {
  const auto [it, made] = map->try_emplace(key, duration);
  if (!made) it->second = std::min(it->second, duration);
}

using Ended = std::pair<uint64_t, uint32_t>;

// What ends last of what was submitted so far, of all and by stream.
class Latest {
 public:
  explicit Latest(const RecordedRun& run) : run_(run) {}
  void Submit(uint32_t work) {
    const uint32_t stream = run_.works[work].stream;
    if (stream >= in_.size()) in_.resize(stream + 1, kNoWork);
    in_[stream] = work;
    if (all_ == kNoWork || run_.works[all_].end <= run_.works[work].end) all_ = work;
  }
  uint32_t all() const { return all_; }
  uint32_t in(uint32_t stream) const { return stream < in_.size() ? in_[stream] : kNoWork; }

 private:
  const RecordedRun& run_;
  uint32_t all_ = kNoWork;
  std::vector<uint32_t> in_;
};

// A copy that takes long to submit is recorded as a wait for its stream, but it is also held where
// the program has submitted as much as the driver takes, which is when one more launch has ended.
// Then its stream has far more to do yet.
bool OnlyHeld(const RecordedWait& wait, const RecordedWork& last) {
  return wait.what == RecordedWait::For::kStream &&
         last.end > wait.time + std::max(wait.duration, kFarAhead);
}

// A step at `now`, after one at `before`, with what was waited for in between; `next` is the first
// wait that ended later than the step before. `ended`: the work that ended last by now.
StepTiming StepByWaits(const RecordedRun& run, const Latest& latest, uint64_t before, uint64_t now,
                       uint32_t ended, size_t* next) {
  StepTiming t{.think = now - before};
  uint64_t at = before, waited = 0;
  for (; *next < run.waits.size() && run.waits[*next].time <= now; ++*next) {
    const RecordedWait& wait = run.waits[*next];
    const uint64_t began = wait.time - wait.duration;
    // Another thread's: meanwhile this one went on, or waited itself.
    if (began < at) continue;
    const uint32_t work = wait.what == RecordedWait::For::kAll      ? latest.all()
                          : wait.what == RecordedWait::For::kStream ? latest.in(wait.stream)
                                                                    : ended;
    if (work == kNoWork || OnlyHeld(wait, run.works[work])) continue;
    if (t.after == kNoWork) t.think = began - before;
    if (t.after == kNoWork || run.works[t.after].end < run.works[work].end) t.after = work;
    waited += wait.duration;
    at = wait.time;
  }
  // What the program does between two waits comes after both.
  if (t.after != kNoWork) t.rest = now - before - t.think - waited;
  return t;
}

// A kernel may name memory twice: by an address of its parameters and in a tensor map.
Bytes OnceOf(absl::Span<const RecordedRange> set) {
  std::vector<RecordedRange> ranges(set.begin(), set.end());
  std::sort(ranges.begin(), ranges.end(), [](const RecordedRange& a, const RecordedRange& b) {
    return std::pair(a.allocation, a.offset) < std::pair(b.allocation, b.offset);
  });
  Bytes sum;
  uint64_t behind = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RecordedRange& r = ranges[i];
    if (i == 0 || r.allocation != ranges[i - 1].allocation) behind = 0;
    const uint64_t from = std::max(r.offset, behind);
    behind = std::max(behind, r.offset + r.size);
    sum += Bytes(behind - std::min(from, behind));
  }
  return sum;
}

}  // namespace

Timing::Timing(const RecordedRun* run, const ReplayPrices& prices)
    : run_(*run),
      prices_(prices),
      works_(run->works.size()),
      steps_(run->steps.size()),
      passes_(run->codes.size()),
      phases_(*run) {
  bytes_.reserve(run->sets());
  once_.reserve(run->sets());
  exact_.reserve(run->sets());
  for (uint32_t s = 0; s < run->sets(); ++s) {
    Bytes sum;
    bool exact = true;
    for (const RecordedRange& r : run->set(s)) {
      sum += Bytes(r.size);
      exact &= r.exact;
    }
    bytes_.push_back(sum);
    once_.push_back(OnceOf(run->set(s)));
    exact_.push_back(exact);
  }
  FindDurations();
  FindPasses();
  GuessPasses();
  FindWaits();
  FindSteps();
}

void Timing::FindDurations() {
  // The least duration with nothing remote, by (code, set) and by (code, rough size).
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint64_t> same;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint64_t> like;
  bool any_remote = false;
  for (const RecordedWork& w : run_.works) any_remote |= w.timed() && w.remote != 0;
  if (any_remote) {
    for (const RecordedWork& w : run_.works) {
      if (!w.timed() || w.remote != 0) continue;
      NoteLeast(&same, std::pair(w.code, w.set), w.end - w.start);
      NoteLeast(&like, LikeOf(w), w.end - w.start);
    }
  }
  for (size_t i = 0; i < works_.size(); ++i) {
    const RecordedWork& w = run_.works[i];
    if (!w.timed()) {
      works_[i].duration = kUntimed + Count(static_cast<double>(once_[w.set].value) / DeviceRate());
      continue;
    }
    const uint64_t took = w.end - w.start;
    if (w.remote == 0) {
      works_[i].duration = took;
    } else if (const auto s = same.find({w.code, w.set}); s != same.end()) {
      works_[i].duration = std::min(took, s->second);
    } else if (const auto l = like.find(LikeOf(w)); l != like.end()) {
      works_[i].duration = std::min(took, l->second);
    } else {
      works_[i].duration =
          Count(static_cast<double>(took) - prices_.decisions.ServeNanoseconds(Bytes(w.remote)));
    }
  }
}

double Timing::DeviceRate() const {
  const double recorded = run_.setting.device_gb_per_s;
  // Else the file does not say, or says what no memory does.
  const bool known = recorded >= 1 && recorded <= 1e5;
  return known ? recorded : prices_.decisions.device_gb_per_s;
}

void Timing::FindPasses() {
  struct Sum {
    double added = 0, once = 0;
  };
  std::vector<Sum> sums(run_.codes.size());
  for (size_t i = 0; i < works_.size(); ++i) {
    const RecordedWork& w = run_.works[i];
    if (!w.timed() || w.remote == 0) continue;
    // What is remote beyond what the work names is the rest of chunks that it does not touch.
    const Bytes remote = std::min(Bytes(w.remote), once_[w.set]);
    if (remote < kTells) continue;
    Sum& sum = sums[run_.alike(w.code)];
    sum.added += static_cast<double>(w.end - w.start - works_[i].duration);
    sum.once += prices_.decisions.ServeNanoseconds(remote);
  }
  for (uint32_t c = 0; c < sums.size(); ++c) {
    const Sum& sum = sums[run_.alike(c)];
    if (sum.once > 0) passes_[c] = sum.added / sum.once;
  }
}

void Timing::GuessPasses() {
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, std::vector<uint64_t>> times;
  for (const RecordedWork& w : run_.works) {
    if (w.timed() && w.remote == 0) times[LikeOf(w)].push_back(w.end - w.start);
  }
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint64_t> medians;
  for (auto& [like, of_all] : times) {
    const auto middle = of_all.begin() + static_cast<ptrdiff_t>((of_all.size() - 1) / 2);
    std::nth_element(of_all.begin(), middle, of_all.end());
    medians[like] = *middle;
  }
  guesses_.assign(works_.size(), 1);
  for (size_t i = 0; i < works_.size(); ++i) {
    const RecordedWork& w = run_.works[i];
    if (exact_[w.set] || once_[w.set] == Bytes(0)) continue;
    const double at_rate = static_cast<double>(once_[w.set].value) / DeviceRate();
    const auto median = medians.find(LikeOf(w));
    const uint64_t takes = median == medians.end() ? works_[i].duration : median->second;
    const double passes = static_cast<double>(takes) / at_rate;
    // What no cache holds was not read whole in less time than the memory needs.
    const double least_passes = once_[w.set] > kCached ? 0 : 1;
    guesses_[i] = static_cast<float>(std::clamp(passes, least_passes, kMostPasses));
  }
}

void Timing::FindWaits() {
  std::vector<std::pair<uint64_t, uint32_t>> ends;  // Of timed work.
  for (uint32_t i = 0; i < works_.size(); ++i) {
    if (run_.works[i].timed()) ends.emplace_back(run_.works[i].end, i);
  }
  std::sort(ends.begin(), ends.end());
  const bool moved = !run_.moves.empty();
  std::vector<uint64_t> stream_end;
  for (uint32_t i = 0; i < works_.size(); ++i) {
    const RecordedWork& w = run_.works[i];
    if (!w.timed()) continue;
    if (w.stream >= stream_end.size()) stream_end.resize(w.stream + 1, 0);
    uint64_t ready = std::max(stream_end[w.stream], w.submitted);
    stream_end[w.stream] = w.end;
    if (w.start > ready + kUsualLag) {
      auto it = std::upper_bound(ends.begin(), ends.end(), std::pair(w.start, kNoWork));
      // Work that was submitted later is let go later, so it cannot be what this waited for.
      while (it != ends.begin() && (it - 1)->first > ready && (it - 1)->second >= i) --it;
      if (it != ends.begin() && (it - 1)->first > ready) {
        works_[i].after = (it - 1)->second;
        ready = (it - 1)->first;
      }
    }
    const uint64_t lag = w.start > ready ? w.start - ready : 0;
    works_[i].lag = moved ? std::min(lag, kUsualLag) : lag;
  }
}

void Timing::FindSteps() {
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> pending;
  Latest latest(run_);
  size_t next_wait = 0;
  Ended last{0, kNoWork};
  uint32_t submitted = kNoWork;  // Of the timed work the last.
  uint64_t before = 0;
  bool freed = false;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const RecordedStep& step = run_.steps[i];
    const bool work = step.kind == RecordedStep::Kind::kWork;
    uint64_t time;
    if (work) {
      time = run_.works[step.index].submitted;
    } else {
      const RecordedAllocation& a = run_.allocations[step.index];
      time = step.kind == RecordedStep::Kind::kAllocate ? a.allocated : a.freed;
      if (time == kNever) time = before;
    }
    if (i == 0) before = time;
    const uint64_t now = std::max(time, before);
    while (!pending.empty() && pending.top().first <= now) {
      last = std::max(last, pending.top());
      pending.pop();
    }
    StepTiming& t = steps_[i];
    if (run_.setting.waits_told && !freed) {
      t = StepByWaits(run_, latest, before, now, last.second, &next_wait);
    } else if (last.second != kNoWork && last.first > before &&
               (!work || now - before > kUsualGap)) {
      t.after = last.second;
      t.think = last.first - before;
      t.rest = now - last.first;
      // Where the device had nothing left to do it was waited for. How long says how much it had to
      // do by then, and nothing of the program.
      if (pending.empty() && last.second == submitted) {
        const uint64_t alone = run_.works[submitted].submitted + works_[submitted].duration;
        t.think = std::min(t.think, std::max(kUsualGap, alone > before ? alone - before : 0));
      }
    } else {
      t.think = now - before;
    }
    if (work) {
      t.recording = std::min(t.after == kNoWork ? t.think : t.rest, run_.works[step.index].cost);
    }
    before = now;
    freed = step.kind == RecordedStep::Kind::kFree;
    if (work) latest.Submit(step.index);
    if (work && run_.works[step.index].timed()) {
      pending.emplace(run_.works[step.index].end, step.index);
      submitted = step.index;
    }
  }
}

}  // namespace vramspan::replay
