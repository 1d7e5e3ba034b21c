#include "tools/simcuda/modules/occupancy.h"

#include <algorithm>

#include "tools/simcuda/modules/limits.h"

namespace simcuda {

int ActiveBlocks(int block_threads, size_t dynamic_shared) {
  if (block_threads < 1 || block_threads > kMaxThreadsPerBlock ||
      dynamic_shared > static_cast<size_t>(kMaxSharedPerBlock)) {
    return 0;
  }
  const int warps = (block_threads + kWarp - 1) / kWarp;
  const int by_threads = kThreadsPerMultiprocessor / kWarp / warps;
  const int by_shared =
      kSharedPerMultiprocessor / (static_cast<int>(dynamic_shared) + kReservedSharedPerBlock);
  return std::min({by_threads, by_shared, kBlocksPerMultiprocessor});
}

}  // namespace simcuda
