// The elements of an array that one thread of a grid works on, in kernels that are compiled for
// both worlds:
//
//   for (const size_t i : GridRange(count)) words[i] += value;
//
// Any grid is right for any count. On a GPU neighbours take neighbouring elements at the same time.
// On the simulated driver threads run one after another, so each takes a run of its own: strides
// over the whole array by each would miss the caches at every element.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_GRID_RANGE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_GRID_RANGE_H_

#include <cstddef>

class GridRange {
 public:
  class Iterator {
   public:
    __device__ Iterator(size_t at, size_t step) : at_(at), step_(step) {}
    __device__ size_t operator*() const { return at_; }
    __device__ void operator++() { at_ += step_; }
    __device__ bool operator!=(size_t end) const { return at_ < end; }

   private:
    size_t at_;
    size_t step_;
  };

  __device__ explicit GridRange(size_t count) {
    const size_t thread = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const size_t threads = size_t{gridDim.x} * blockDim.x;
#ifdef __CUDACC__
    first_ = thread;
    end_ = count;
    step_ = threads;
#else
    const size_t each = count / threads + (count % threads != 0);
    first_ = thread * each < count ? thread * each : count;
    end_ = count - first_ < each ? count : first_ + each;
    step_ = 1;
#endif
  }

  __device__ bool empty() const { return first_ >= end_; }
  __device__ Iterator begin() const { return {first_, step_}; }
  __device__ size_t end() const { return end_; }

 private:
  size_t first_;
  size_t end_;
  size_t step_;
};

#endif  // VRAMSPAN_TOOLS_SIMCUDA_GRID_RANGE_H_
