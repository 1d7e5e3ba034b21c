#include "tools/replay/fill_times.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/placement/kernel_history.h"

namespace vramspan::replay {
namespace {

// From the call to the start of a launch that finds its stream idle.
constexpr uint64_t kUsualStart = 5'000;
// Fewer than this over the very same memory say less than many over as much.
constexpr size_t kEnough = 3;
constexpr int kHalvings = 12;

// What was measured, by some key.
template <typename Key>
class Medians {
 public:
  void Note(const Key& key, uint64_t took) { took_[key].push_back(took); }
  void Sort() {
    for (auto& [key, took] : took_) std::sort(took.begin(), took.end());
  }
  // 0: fewer than `least` were measured.
  uint64_t Of(const Key& key, size_t least) const {
    const auto it = took_.find(key);
    if (it == took_.end() || it->second.size() < least) return 0;
    return it->second[it->second.size() / 2];
  }

 private:
  absl::flat_hash_map<Key, std::vector<uint64_t>> took_;
};

// Of each work, a hash of the codes around it in its stream: a kernel that does several things, a
// product of several sizes, say, has its place for each.
std::vector<uint64_t> PlacesOf(const RecordedRun& run, uint32_t streams) {
  std::vector<std::vector<uint32_t>> of_stream(streams);
  for (uint32_t i = 0; i < run.works.size(); ++i) of_stream[run.works[i].stream].push_back(i);
  std::vector<uint64_t> places(run.works.size());
  constexpr uint32_t kNone = UINT32_MAX;
  for (const std::vector<uint32_t>& all : of_stream) {
    const auto code = [&](size_t at) { return at < all.size() ? run.works[all[at]].code : kNone; };
    for (size_t i = 0; i < all.size(); ++i) {
      // Of the one before the first the index is beyond all others.
      places[all[i]] = absl::HashOf(code(i - 2), code(i - 1), code(i + 1), code(i + 2));
    }
  }
  return places;
}

class Likes {
 public:
  Likes(const RecordedRun& run, uint32_t streams) : places_(PlacesOf(run, streams)) {
    for (uint32_t s = 0; s < run.sets(); ++s) {
      Bytes sum;
      for (const RecordedRange& r : run.set(s)) sum += Bytes(r.size);
      rough_.push_back(RoughSize(sum));
    }
    for (size_t i = 0; i < run.works.size(); ++i) {
      const RecordedWork& w = run.works[i];
      if (!w.timed() || w.remote != 0) continue;
      const uint64_t took = w.end - w.start;
      placed_same_.Note({w.code, w.set, places_[i]}, took);
      placed_like_.Note({w.code, rough_[w.set], places_[i]}, took);
      same_.Note({w.code, w.set}, took);
      like_.Note({w.code, rough_[w.set]}, took);
      any_.Note(w.code, took);
    }
    placed_same_.Sort();
    placed_like_.Sort();
    same_.Sort();
    like_.Sort();
    any_.Sort();
  }

  // Of the run's work i. 0: nothing is known.
  uint64_t DurationOf(size_t i, const RecordedWork& w) const {
    const uint64_t rough = rough_[w.set], place = places_[i];
    if (const auto took = placed_same_.Of({w.code, w.set, place}, kEnough); took != 0) return took;
    if (const auto took = placed_like_.Of({w.code, rough, place}, kEnough); took != 0) return took;
    if (const auto took = same_.Of({w.code, w.set}, kEnough); took != 0) return took;
    if (const auto took = like_.Of({w.code, rough}, 1); took != 0) return took;
    return any_.Of(w.code, 1);
  }

 private:
  const std::vector<uint64_t> places_;  // By work.
  std::vector<uint64_t> rough_;         // By set.
  Medians<std::tuple<uint32_t, uint32_t, uint64_t>> placed_same_;
  Medians<std::tuple<uint32_t, uint64_t, uint64_t>> placed_like_;
  Medians<std::pair<uint32_t, uint32_t>> same_;
  Medians<std::pair<uint32_t, uint64_t>> like_;
  Medians<uint32_t> any_;
};

// Work of a stream that was not measured, one behind the other, after what was and ended at
// `since`.
struct Gap {
  struct Guess {
    size_t work;
    uint64_t took;
  };

  // Where the guesses end when each starts as soon as it can and takes a share of what is guessed.
  template <typename Each>
  uint64_t Place(double share, const RecordedRun& run, Each each) const {
    uint64_t at = since;
    for (const Guess& g : guesses) {
      const uint64_t start = std::max(at, run.works[g.work].submitted + kUsualStart);
      at =
          start + std::max<uint64_t>(1, static_cast<uint64_t>(share * static_cast<double>(g.took)));
      each(g.work, start, at);
    }
    return at;
  }

  // What was measured behind them starts at `until`, so they had ended. Where guesses are too long
  // for that, all are by as much: what is too short shows as a lag of what is behind, so what is
  // too long would be left alone to make the run longer than it was.
  void Fill(uint64_t until, RecordedRun* run) {
    const auto nothing = [](size_t, uint64_t, uint64_t) {};
    double share = 1;
    if (Place(1, *run, nothing) > until) {
      double less = 0;
      for (int i = 0; i < kHalvings; ++i) {
        const double middle = (less + share) / 2;
        (Place(middle, *run, nothing) > until ? share : less) = middle;
      }
      share = less;
    }
    since = Place(share, *run, [&](size_t work, uint64_t start, uint64_t end) {
      RecordedWork& w = run->works[work];
      w.start = start;
      w.end = end;
      w.guessed = true;
    });
    guesses.clear();
  }

  std::vector<Guess> guesses;
  uint64_t since = 0;
};

}  // namespace

void FillTimes(RecordedRun* run) {
  if (std::all_of(run->works.begin(), run->works.end(), [](const auto& w) { return w.timed(); })) {
    return;
  }
  uint32_t streams = 0;
  for (const RecordedWork& w : run->works) streams = std::max(streams, w.stream + 1);
  const Likes likes(*run, streams);

  std::vector<Gap> gaps(streams);
  for (size_t i = 0; i < run->works.size(); ++i) {
    RecordedWork& w = run->works[i];
    Gap& gap = gaps[w.stream];
    if (w.timed()) {
      gap.Fill(w.start, run);
      gap.since = std::max(gap.since, w.end);
    } else if (const uint64_t took = likes.DurationOf(i, w); took != 0) {
      gap.guesses.push_back({i, took});
    }
  }
  for (Gap& gap : gaps) gap.Fill(kNever, run);
}

}  // namespace vramspan::replay
