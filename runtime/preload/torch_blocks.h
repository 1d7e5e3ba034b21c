// What PyTorch's allocator says of its blocks (torch_blocks.cc).
#ifndef VRAMSPAN_RUNTIME_PRELOAD_TORCH_BLOCKS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_TORCH_BLOCKS_H_

namespace vramspan::preload {

// Looks for the functions that reports are passed on to, where PyTorch is loaded, and for whoever
// stands before CUDA's runtime (torch_caller.h). A report comes under the lock of the allocator,
// where the loader is better not asked: another thread may be inside it, and wait for that lock.
void FindTorch();

// Whether there are such functions, and the user lets them be heard.
bool HearsTorch();

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_TORCH_BLOCKS_H_
