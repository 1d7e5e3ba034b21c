// How the look-ahead follows the queue: it finds the works that have gone and that have come.
#include <algorithm>

#include "runtime/placement/lookahead.h"

namespace vramspan {
namespace {

// Works that may have gone, or come, in a row: those of several streams end in any order.
constexpr size_t kMostGone = 16;
// Where what is expected jumps, many of them may have gone at once.
constexpr size_t kMostJumped = 128;

}  // namespace

void Lookahead::Follow(const PlanRequest& request) {
  const absl::Span<const QueuedWork> queue = request.queue;
  Part part{.from = 0, .end = works(), .new_end = queue.size(), .tail = false};
  if (request.queue_since != 0 && request.queue_since == queue_version_) {
    Drop(0, std::min<size_t>(request.queue_gone, works()));
    part.from = std::min<size_t>(request.queue_same, works());
    part.end = request.queue_same + request.queue_left;
    part.tail = request.queue_tail != 0 && part.end < works();
    if (part.tail) {
      part.new_end = request.queue_same + request.queue_came;
      const size_t behind = part.end + request.queue_tail;
      if (behind < works()) Drop(behind, works() - behind);
    } else {
      part.end = works();
    }
  }
  for (size_t i = 0; i < part.from; ++i) VS_DCHECK(IsSame(window_[begin_ + i], queue[i]));
  for (size_t i = part.end; i < works(); ++i) {
    VS_DCHECK(IsSame(window_[begin_ + i], queue[part.new_end + i - part.end]));
  }
  const size_t end = std::min(part.new_end, part.end);
  size_t retimed = end;
  for (; part.from < end && IsSame(window_[begin_ + part.from], queue[part.from]); ++part.from) {
    Seen& seen = window_[begin_ + part.from];
    if (seen.duration != queue[part.from].duration) retimed = std::min(retimed, part.from);
    seen.version = queue[part.from].version;
    seen.duration = queue[part.from].duration;
  }
  if (retimed < part.from) Retime(begin_ + retimed);
  if (part.from < end || (part.tail && part.end != part.new_end)) {
    Replace(queue, part);
  } else if (!part.tail) {
    Drop(part.from, works() - part.from);
  }
}

void Lookahead::Replace(absl::Span<const QueuedWork> queue, const Part& part) {
  followed_.clear();
  size_t here = part.from, there = part.from;
  const auto comes = [&](size_t count) {
    for (; count != 0; --count, ++there) {
      followed_.push_back({Seen::As(NewWork(queue[there]), queue[there]), /*came=*/true});
    }
  };
  while (there < part.new_end && here < part.end) {
    if (IsSame(window_[begin_ + here], queue[there])) {
      followed_.push_back({Seen::As(window_[begin_ + here].work, queue[there]), /*came=*/false});
      ++here;
      ++there;
      continue;
    }
    const Change change = FindChange(queue, part, here, there);
    if (!change.found) break;
    for (size_t i = change.gone; i-- > 0;) Forget(window_[begin_ + here + i].work);
    comes(change.came);
    here += change.gone;
  }
  for (size_t i = part.end; i-- > here;) Forget(window_[begin_ + i].work);
  if (part.tail) comes(part.new_end - there);
  // What is by work goes along with it.
  followed_sums_.clear();
  for (const Followed& f : followed_) {
    followed_sums_.push_back(f.came ? WorkSums::Sums() : sums_[works_[f.seen.work].at]);
  }
  const Splice splice(begin_, begin_ + part.from, part.end - part.from, followed_.size(),
                      window_.size());
  splice.Move(&window_);
  sums_.Replace(splice, followed_sums_);
  size_t at = splice.NewAt();
  for (const Followed& f : followed_) window_[at++] = f.seen;
  begin_ = splice.NewBegin();
  if (splice.moves_front) {
    for (size_t i = at; i-- > begin_;) start_[i] = start_[i + 1] - window_[i].duration;
  } else {
    at = window_.size();
    Retime(splice.at);
  }
  for (size_t i = splice.moves_front ? begin_ : splice.at; i < at; ++i) {
    works_[window_[i].work].at = static_cast<uint32_t>(i);
  }
  for (const Followed& f : followed_) {
    if (f.came) Link(works_[f.seen.work]);
  }
}

Lookahead::Change Lookahead::FindChange(absl::Span<const QueuedWork> queue, const Part& part,
                                        size_t here, size_t there) const {
  const auto same = [&](size_t gone, size_t came) {
    return here + gone < part.end && there + came < part.new_end &&
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
  for (size_t i = kMostGone; i < kMostJumped; ++i) {
    if (same(i, 0) && same(i + 1, 1)) return {.gone = i, .came = 0, .found = true};
  }
  return {};
}

}  // namespace vramspan
