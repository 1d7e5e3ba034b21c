// How the look-ahead follows the queue: it finds the works that have gone and that have come.
#include <algorithm>

#include "runtime/placement/lookahead.h"

namespace vramspan {
namespace {

// Works that may have gone, or come, in a row: those of several streams end in any order.
constexpr size_t kMostGone = 16;

}  // namespace

void Lookahead::Follow(absl::Span<const QueuedWork> queue, size_t from) {
  for (size_t i = 0; i < from; ++i) VS_DCHECK(IsSame(window_[begin_ + i], queue[i]));
  const size_t end = std::min<size_t>(queue.size(), works());
  size_t same = from, retimed = end;
  for (; same < end && IsSame(window_[begin_ + same], queue[same]); ++same) {
    Seen& seen = window_[begin_ + same];
    if (seen.duration != queue[same].duration) retimed = std::min(retimed, same);
    seen.version = queue[same].version;
    seen.duration = queue[same].duration;
  }
  if (retimed < same) Retime(begin_ + retimed);
  if (same < end) {
    Replace(queue, same);
  } else {
    Drop(same, works() - same);
  }
}

void Lookahead::Replace(absl::Span<const QueuedWork> queue, size_t from) {
  followed_.clear();
  size_t here = from, there = from;
  while (there < queue.size() && here < works()) {
    if (IsSame(window_[begin_ + here], queue[there])) {
      followed_.push_back({Seen::As(window_[begin_ + here].work, queue[there]), /*came=*/false});
      ++here;
      ++there;
      continue;
    }
    const Change change = FindChange(queue, here, there);
    if (!change.found) break;
    for (size_t i = change.gone; i-- > 0;) Forget(window_[begin_ + here + i].work);
    for (size_t i = 0; i < change.came; ++i) {
      const QueuedWork& queued = queue[there + i];
      followed_.push_back({Seen::As(NewWork(queued), queued), /*came=*/true});
    }
    here += change.gone;
    there += change.came;
  }
  for (size_t i = works(); i-- > here;) Forget(window_[begin_ + i].work);
  // What is by work goes along with it.
  const size_t place = begin_ + from;
  followed_sums_.clear();
  for (const Followed& f : followed_) {
    followed_sums_.push_back(f.came ? WorkSums::Sums() : sums_[works_[f.seen.work].at]);
  }
  sums_.Replace(place, followed_sums_);
  window_.resize(place);
  for (const Followed& f : followed_) window_.push_back(f.seen);
  Renumber(place);
  for (const Followed& f : followed_) {
    const Work& work = works_[f.seen.work];
    for (uint32_t i = 0; f.came && i < work.needs; ++i) Link(work.first_need + i);
  }
}

Lookahead::Change Lookahead::FindChange(absl::Span<const QueuedWork> queue, size_t here,
                                        size_t there) const {
  const auto same = [&](size_t gone, size_t came) {
    return here + gone < works() && there + came < queue.size() &&
           IsSame(window_[begin_ + here + gone], queue[there + came]);
  };
  for (size_t i = 1; i < kMostGone; ++i) {
    if (same(i, 0)) return {.gone = i, .came = 0, .found = true};
  }
  // One in another's place, and what has only come.
  for (size_t i = 1; i < kMostGone; ++i) {
    if (same(i, i)) return {.gone = i, .came = i, .found = true};
    if (same(0, i)) return {.gone = 0, .came = i, .found = true};
  }
  return {};
}

}  // namespace vramspan
