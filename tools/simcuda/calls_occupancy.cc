// The occupancy calls, reckoned from what the kernels and the device say (modules/occupancy.h).
#include <algorithm>

#include "tools/simcuda/calls_module.h"
#include "tools/simcuda/modules/limits.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/modules/occupancy.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {

CUresult OccupancyMaxActiveBlocksWithFlags(int* blocks, CUfunction handle, int block_threads,
                                           size_t dynamic_shared, unsigned flags) {
  if (blocks == nullptr || block_threads < 1 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FunctionPtr function;
  const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
  if (result == CUDA_SUCCESS) *blocks = ActiveBlocks(block_threads, dynamic_shared);
  return result;
}

CUresult OccupancyMaxActiveBlocks(int* blocks, CUfunction function, int block_threads,
                                  size_t dynamic_shared) {
  return OccupancyMaxActiveBlocksWithFlags(blocks, function, block_threads, dynamic_shared, 0);
}

CUresult OccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                 CUoccupancyB2DSize shared_of_block,
                                                 size_t dynamic_shared, int block_limit,
                                                 unsigned flags) {
  if (grid == nullptr || block == nullptr || block_limit < 0 ||
      flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FunctionPtr function;
  const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
  if (result != CUDA_SUCCESS) return result;
  // The largest block among those that keep the most threads resident.
  int best_threads = 0;
  const int limit =
      block_limit == 0 ? kMaxThreadsPerBlock : std::min(block_limit, kMaxThreadsPerBlock);
  for (int threads = limit; threads > 0;
       threads -= threads % kWarp != 0 ? threads % kWarp : kWarp) {
    const size_t shared = shared_of_block != nullptr ? shared_of_block(threads) : dynamic_shared;
    const int blocks = ActiveBlocks(threads, shared);
    if (blocks * threads > best_threads) {
      best_threads = blocks * threads;
      *block = threads;
      *grid = blocks * kMultiprocessors;
    }
  }
  return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult OccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                        CUoccupancyB2DSize shared_of_block, size_t dynamic_shared,
                                        int block_limit) {
  return OccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of_block,
                                                 dynamic_shared, block_limit, 0);
}

CUresult OccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks,
                                               int block_threads) {
  if (bytes == nullptr || blocks < 1 || ActiveBlocks(block_threads, 0) < blocks) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FunctionPtr function;
  const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
  if (result != CUDA_SUCCESS) return result;
  *bytes = static_cast<size_t>(
      std::min(kSharedPerMultiprocessor / blocks - kReservedSharedPerBlock, kMaxSharedPerBlock));
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
