#include "tools/replay/fill_times.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/placement/kernel_history.h"

namespace vramspan::replay {
namespace {

// From the call to the start of a launch that finds its stream idle.
constexpr uint64_t kUsualStart = 5'000;
// Fewer than this over the very same memory say less than many over as much.
constexpr size_t kEnough = 3;

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

class Likes {
 public:
  explicit Likes(const RecordedRun& run) {
    for (uint32_t s = 0; s < run.sets(); ++s) {
      Bytes sum;
      for (const RecordedRange& r : run.set(s)) sum += Bytes(r.size);
      rough_.push_back(RoughSize(sum));
    }
    for (const RecordedWork& w : run.works) {
      if (!w.timed() || w.remote != 0) continue;
      const uint64_t took = w.end - w.start;
      same_.Note({w.code, w.set}, took);
      like_.Note({w.code, rough_[w.set]}, took);
      any_.Note(w.code, took);
    }
    same_.Sort();
    like_.Sort();
    any_.Sort();
  }

  // 0: nothing is known.
  uint64_t DurationOf(const RecordedWork& w) const {
    if (const uint64_t same = same_.Of({w.code, w.set}, kEnough); same != 0) return same;
    if (const uint64_t like = like_.Of({w.code, rough_[w.set]}, 1); like != 0) return like;
    return any_.Of(w.code, 1);
  }

 private:
  std::vector<uint64_t> rough_;  // By set.
  Medians<std::pair<uint32_t, uint32_t>> same_;
  Medians<std::pair<uint32_t, uint64_t>> like_;
  Medians<uint32_t> any_;
};

}  // namespace

void FillTimes(RecordedRun* run) {
  if (std::all_of(run->works.begin(), run->works.end(), [](const auto& w) { return w.timed(); })) {
    return;
  }
  const Likes likes(*run);
  uint32_t streams = 0;
  for (const RecordedWork& w : run->works) streams = std::max(streams, w.stream + 1);

  // Of each work, when measured work behind it in its stream starts.
  std::vector<uint64_t> until(run->works.size(), kNever);
  std::vector<uint64_t> of_stream(streams, kNever);
  for (size_t i = run->works.size(); i-- > 0;) {
    const RecordedWork& w = run->works[i];
    until[i] = of_stream[w.stream];
    if (w.timed()) of_stream[w.stream] = w.start;
  }

  of_stream.assign(streams, 0);
  for (size_t i = 0; i < run->works.size(); ++i) {
    RecordedWork& w = run->works[i];
    uint64_t& before = of_stream[w.stream];
    const uint64_t took = w.timed() ? 0 : likes.DurationOf(w);
    if (took != 0) {
      const uint64_t start = std::max(before, w.submitted + kUsualStart);
      // Where there is no room before what was measured, it keeps its duration: that is what
      // counts.
      w.start = until[i] >= took ? std::min(start, until[i] - took) : start;
      w.end = w.start + took;
      w.guessed = true;
    }
    if (w.timed()) before = std::max(before, w.end);
  }
}

}  // namespace vramspan::replay
