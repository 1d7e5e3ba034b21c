// Kernels for sm_90 alone: atomics on packed and vector types, and bulk asynchronous copies.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>

extern "C" __global__ void add_packed(__half2* half_sum, __nv_bfloat162* bfloat_sum) {
  // 256 is the last whole number that a bfloat16 counts up to.
  if (blockIdx.x == 0 && threadIdx.x < 128) atomicAdd(bfloat_sum, __floats2bfloat162_rn(1, 1));
  atomicAdd(half_sum, __floats2half2_rn(1, 1));
}

// 16 sums, taken in turn.
extern "C" __global__ void add_vectors(float4* sums) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[thread % 16], make_float4(1, 2, 3, 4));
}

constexpr unsigned kTile = 4096;

// words[i] += 1, a tile a block, by way of shared memory: a bulk load, then a bulk store.
extern "C" __global__ void add_one_in_bulk(unsigned* words) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  namespace ptx = cuda::ptx;
  __shared__ alignas(128) unsigned tile[kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  unsigned* const mine = words + size_t{blockIdx.x} * kTile;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, mine, cuda::aligned_size_t<16>(sizeof(tile)), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(tile));
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (unsigned i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, mine, tile, sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
