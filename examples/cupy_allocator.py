# CuPy in more memory than the device has. VRAMSPAN_DEVICE_MEMORY=8GiB limits it for a try.
# LD_LIBRARY_PATH=build/release/lib python3 examples/cupy_allocator.py
import ctypes, cupy

lib = ctypes.CDLL("libvramspan.so")
address = lambda name: ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
ours = cupy.cuda.CFunctionAllocator(0, address("vramspan_cupy_malloc"), address("vramspan_cupy_free"), lib)
cupy.cuda.set_allocator(cupy.cuda.MemoryPool(ours.malloc).malloc)
arrays = [cupy.full(64 << 20, i, dtype=cupy.float32) for i in range(64)]
print(sum(float((a + 1).mean()) for a in arrays))  # 2080.0, from 16 GiB
