"""PyTorch in this process."""
from ._files import library_path


def use_allocator():
    """Has PyTorch take all its device memory from vramspan. Before its first allocation, else PyTorch refuses.

    VRAMSPAN_DEVICE_MEMORY and the other variables of `vramspan run --help` configure it. Under `vramspan run` this
    is not needed.
    """
    from torch.cuda.memory import CUDAPluggableAllocator, change_current_allocator

    change_current_allocator(CUDAPluggableAllocator(library_path(), "vramspan_torch_malloc", "vramspan_torch_free"))
