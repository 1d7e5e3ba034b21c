// Whether PyTorch's own allocator asks the driver for memory. Then nobody else is given any of
// that: no other allocator has it in between (observe/blocks.h).
#ifndef VRAMSPAN_RUNTIME_PRELOAD_TORCH_CALLER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_TORCH_CALLER_H_

namespace vramspan::preload {

// Looks whether somebody has taken over cudaMalloc or cudaFree, who may keep memory for others. The
// loader is asked.
void FindWrappers();

// Whether libc10_cuda.so makes the call of the driver that the thread is in, by CUDA's runtime or
// by itself: by the thread's frames. False where that is not seen, or there is a wrapper. Called
// under the allocator's lock, so the loader is asked for nothing that it holds while libraries
// begin.
bool CalledByTorch();

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_TORCH_CALLER_H_
