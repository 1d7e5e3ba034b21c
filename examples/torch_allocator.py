# PyTorch in more memory than the device has. VRAMSPAN_DEVICE_MEMORY=8GiB limits it for a try.
# LD_LIBRARY_PATH=build/release/lib python3 examples/torch_allocator.py
import torch
from torch.cuda.memory import CUDAPluggableAllocator, change_current_allocator

change_current_allocator(CUDAPluggableAllocator("libvramspan.so", "vramspan_torch_malloc", "vramspan_torch_free"))
tensors = [torch.full((64 << 20,), i, dtype=torch.float32, device="cuda") for i in range(64)]
print(sum(t.add_(1).mean().item() for t in tensors))  # 2080.0, from 16 GiB
