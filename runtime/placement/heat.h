// How often each chunk is used, the recent past counting more: a sum of uses whose weight halves
// whenever kernels have touched kHalfLife times the device budget. A use of a part of a chunk
// counts as that part. Uses are made ever heavier instead of all sums lighter: a use touches one
// sum.
//
// Metadata: 4 bytes a chunk. Pure. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_HEAT_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_HEAT_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/base/units.h"

namespace vramspan {

class Heat {
 public:
  // Long enough that the chunks of a cycle over twice the budget are equally hot within a factor of
  // kClearly at any point of the cycle: none of them is worth another's place.
  static constexpr double kHalfLife = 4;
  static constexpr double kClearly = 2;

  explicit Heat(Bytes budget) { BudgetIs(budget); }
  // From here on. A process under a broker begins with next to nothing.
  void BudgetIs(Bytes budget) {
    half_life_ = kHalfLife * std::max(1.0, Count(budget));
    growth_ = std::exp2(Count(last_size_) / half_life_);
  }

  // So much of a chunk of that size is touched.
  void Use(ChunkIndex chunk, Bytes touched, Bytes size) {
    if (chunk.value >= heat_.size()) GrowTo(heat_, size_t{chunk.value} + 1);
    float& heat = heat_[chunk.value];
    heat = std::max(heat, 0.0f) + static_cast<float>(weight_ * Count(touched) / Count(size));
    if (touched != last_size_) {
      last_size_ = touched;
      growth_ = std::exp2(Count(touched) / half_life_);
    }
    weight_ *= growth_;
    if (weight_ > kMostWeight) {
      for (float& h : heat_) {
        if (h > 0) h = static_cast<float>(h / weight_);
      }
      weight_ = 1;
    }
  }
  // Somebody wants it to stay away until it is used again.
  void Bar(ChunkIndex chunk) {
    if (chunk.value >= heat_.size()) GrowTo(heat_, size_t{chunk.value} + 1);
    heat_[chunk.value] = kBarred;
  }
  bool IsBarred(ChunkIndex chunk) const {
    return chunk.value < heat_.size() && heat_[chunk.value] == kBarred;
  }
  // In uses of this moment.
  double Of(ChunkIndex chunk) const {
    return chunk.value < heat_.size() ? std::max(heat_[chunk.value], 0.0f) / weight_ : 0;
  }

 private:
  static constexpr double kMostWeight = 1e18;
  static constexpr float kBarred = -1;
  static double Count(Bytes bytes) { return static_cast<double>(bytes.value); }

  double half_life_ = 1;
  double weight_ = 1;
  Bytes last_size_;  // Touched by the use before: often as much as by the next.
  double growth_ = 1;
  std::vector<float> heat_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_HEAT_H_
