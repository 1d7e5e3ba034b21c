#include "runtime/placement/policies/loop_watch.h"

#include <algorithm>
#include <bit>

namespace vramspan {
namespace {

constexpr uint32_t kAtLeast = 4;
constexpr uint32_t kDisagrees = 4;

bool Agree(uint32_t interval, uint32_t period) {
  const uint32_t difference = interval < period ? period - interval : interval - period;
  return difference <= period / 64 + 1;
}

uint32_t Less(uint32_t value, uint32_t by) { return value - std::min(value, by); }

}  // namespace

void LoopWatch::CountReturn(uint32_t interval, uint32_t present) {
  const uint32_t enough = std::max(present / 4, std::min(present, kAtLeast));
  if (Agree(interval, period_)) {
    agreed_ = std::min(agreed_ + 1, enough * 2);
  } else {
    agreed_ = Less(agreed_, kDisagrees);
    if (agreed_ == 0) {
      period_ = interval;
      longest_stay_ = std::min(interval + interval / 8 + 1, kForgotten - 1);
    }
  }
  looping_ = looping_ ? agreed_ * 4 >= enough : agreed_ >= enough;
}

bool LoopWatch::CountVisit(uint32_t present) {
  if (++visits_ < epoch_length_) return false;
  visits_ = 0;
  const uint32_t fitting = std::max(present / 16, 1u);
  if (fitting * 4 < epoch_length_ * 3 || fitting >= epoch_length_ * 2) {
    epoch_length_ = std::bit_floor(fitting);
  }
  ++epoch_;
  return true;
}

}  // namespace vramspan
