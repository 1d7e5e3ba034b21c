// Whether a graph that may be cut (graph_cut.h) is launched in segments or whole: by what its
// launches took.
//
// In segments its memory is fetched as it is needed. Whole, what finds no room is read over the bus
// where it is. That is as fast where each byte is read once, and many times slower where kernels
// read it again. Nobody can tell from the nodes, so both are tried: whole first, then in segments
// until these get no faster, since what comes next must be learnt. The faster way stays. The other
// is tried again now and then, ever more seldom, and when the way that stays takes other times.
//
// Pure. One owner.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CHOICE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CHOICE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

enum class GraphWay : uint8_t { kWhole, kSegments };

class GraphChoice {
 public:
  // Launches of one way are judged by the median of so many.
  static constexpr size_t kJudged = 3;
  // So many are tried at most. After as many as are judged, a way that takes this many times as
  // long as the other is given up.
  static constexpr size_t kMostTried = 24;
  static constexpr int64_t kHopeless = 3;
  // A trial goes on while the median falls by more than a part of this.
  static constexpr int64_t kStillFalls = 32;
  // The way that stays is in doubt when its median differs by more than a part of this.
  static constexpr int64_t kOtherTimes = 4;
  // Launches until the other way is tried again, at least; it doubles up to the most.
  static constexpr size_t kFirstStay = 128;
  static constexpr size_t kLongestStay = 1 << 14;

  // How the next launch goes.
  GraphWay way() const { return way_; }
  // Whether both ways have been tried, and this one stays for now.
  bool settled() const { return !trying_; }
  // A launch took so long. Launches may end, and be told of, when others have begun.
  void Took(GraphWay way, Duration time);

 private:
  static constexpr size_t Index(GraphWay way) { return static_cast<size_t>(way); }
  static GraphWay Other(GraphWay way) {
    return way == GraphWay::kWhole ? GraphWay::kSegments : GraphWay::kWhole;
  }

  void Try(GraphWay way);
  void Stay(GraphWay way);
  Duration Median() const;

  GraphWay way_ = GraphWay::kWhole;
  bool trying_ = true;
  std::array<Duration, 2> took_{};  // Medians, by way; 0: not known.
  std::array<Duration, kJudged> last_{};
  size_t count_ = 0;    // Of `last_`, and before, in this trial or stay.
  Duration judged_{0};  // The median when it was last looked at.
  size_t stay_ = kFirstStay;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CHOICE_H_
