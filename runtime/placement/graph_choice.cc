#include "runtime/placement/graph_choice.h"

#include <algorithm>

namespace vramspan {

void GraphChoice::Try(GraphWay way) {
  way_ = way;
  trying_ = true;
  count_ = 0;
  judged_ = Duration(0);
}

void GraphChoice::Stay(GraphWay way) {
  way_ = way;
  trying_ = false;
  count_ = 0;
}

Duration GraphChoice::Median() const {
  std::array<Duration, kJudged> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[kJudged / 2];
}

void GraphChoice::Took(GraphWay way, Duration time) {
  // One that began before the way was changed says nothing of what follows.
  if (way != way_) return;
  last_[count_++ % kJudged] = time;
  if (count_ % kJudged != 0) return;
  const Duration median = Median();
  Duration& took = took_[Index(way)];
  const Duration other = took_[Index(Other(way))];
  if (!trying_) {
    const bool same = std::max(took, median) - std::min(took, median) <= took / kOtherTimes;
    if (count_ < (same ? stay_ : kFirstStay)) return;
    stay_ = same ? std::min(2 * stay_, kLongestStay) : kFirstStay;
    took = median;
    Try(Other(way));
    return;
  }
  const bool hopeless = other != Duration(0) && median > other * kHopeless;
  const bool falls = judged_ == Duration(0) || median < judged_ - judged_ / kStillFalls;
  judged_ = median;
  if (falls && !hopeless && count_ < kMostTried) return;
  took = median;
  if (other == Duration(0)) {
    Try(Other(way));
  } else {
    Stay(median < other ? way : Other(way));
  }
}

}  // namespace vramspan
