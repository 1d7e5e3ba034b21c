// How much of what came had been expected so many works before, at about its place. Of each set the
// first chunk is compared.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_FORESIGHT_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_FORESIGHT_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

class Foresight {
 public:
  // REQUIRES: so many works ahead are more than kAside.
  explicit Foresight(uint64_t ahead) : ahead_(ahead), expected_(std::bit_ceil(2 * ahead)) {}

  uint64_t ahead() const { return ahead_; }
  // The next work came; none where it names no chunk.
  void Came(ChunkIndex first);
  // After Came: what is expected so far ahead of that work; none where nothing is.
  void Expects(ChunkIndex first) {
    expected_[(counted_ + ahead_) & (expected_.size() - 1)] = first;
  }
  // Of what came lately, 0 to 1; that of long ago counts less.
  double share() const { return weight_ == 0 ? 0 : share_ / weight_; }

  // So far from its place what was expected may come.
  static constexpr uint64_t kAside = 16;

 private:
  // Over about so many works.
  static constexpr double kMemory = 2048;

  const uint64_t ahead_;
  std::vector<ChunkIndex> expected_;  // By place, a ring of a power of two.
  uint64_t counted_ = 0;
  double share_ = 0, weight_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_FORESIGHT_H_
