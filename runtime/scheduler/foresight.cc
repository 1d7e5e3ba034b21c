#include "runtime/scheduler/foresight.h"

namespace vramspan {

void Foresight::Came(ChunkIndex first) {
  ++counted_;
  if (!first || counted_ <= ahead_) return;
  bool expected = false;
  const uint64_t mask = expected_.size() - 1;
  for (uint64_t i = 0; i <= 2 * kAside; ++i) {
    expected |= expected_[(counted_ - kAside + i) & mask] == first;
  }
  share_ += (expected - share_) / kMemory;
  weight_ += (1 - weight_) / kMemory;
}

}  // namespace vramspan
