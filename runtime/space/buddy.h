// A 2 MiB chunk as 32 blocks of 64 KiB, handed out in powers of two (a buddy system) and kept in
// one 32-bit mask for each order. Bookkeeping only; 24 bytes.
#ifndef VRAMSPAN_RUNTIME_SPACE_BUDDY_H_
#define VRAMSPAN_RUNTIME_SPACE_BUDDY_H_

#include <array>
#include <bit>
#include <cstdint>

#include "runtime/base/log.h"
#include "runtime/base/units.h"

namespace vramspan {

class Buddy {
 public:
  static constexpr int kBlockLog2 = 16;
  static constexpr int kOrders = kMinChunkLog2 - kBlockLog2 + 1;
  static constexpr int kBlocks = 1 << (kOrders - 1);

  // The smallest order whose blocks hold `size`. REQUIRES: 0 < size <= 2 MiB.
  static constexpr int OrderFor(Bytes size) {
    const uint64_t blocks = (size.value + (1 << kBlockLog2) - 1) >> kBlockLog2;
    return std::bit_width(blocks - 1);
  }

  // The first of 2^order blocks, the lowest there is among the smallest that fit.
  // REQUIRES: order <= LargestOrder().
  int Take(int order) {
    int from = order;
    while (free_[from] == 0) ++from;
    const int block = std::countr_zero(free_[from]);
    free_[from] &= free_[from] - 1;
    // What is split off is the upper half, each time.
    while (from > order) {
      --from;
      free_[from] |= 1u << (block + (1 << from));
    }
    return block;
  }

  // REQUIRES: `block` and `order` as they were taken.
  void Give(int block, int order) {
    for (; order < kOrders - 1; ++order) {
      const uint32_t other = 1u << (block ^ (1 << order));
      if ((free_[order] & other) == 0) break;
      free_[order] &= ~other;
      block &= ~(1 << order);
    }
    VS_DCHECK((free_[order] & (1u << block)) == 0);
    free_[order] |= 1u << block;
  }

  // -1 where nothing is free.
  int LargestOrder() const {
    int order = kOrders - 1;
    while (order >= 0 && free_[order] == 0) --order;
    return order;
  }
  bool empty() const { return free_[kOrders - 1] != 0; }

 private:
  // Bit b of free_[k]: the 2^k blocks from b on are free as one.
  std::array<uint32_t, kOrders> free_ = {0, 0, 0, 0, 0, 1};
};
static_assert(Buddy::kOrders == 6 && Buddy::kBlocks == 32);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_BUDDY_H_
