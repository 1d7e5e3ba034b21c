"""A program that knows nothing of vramspan: it fills 64 MiB of device memory and reads them back."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
MIB = 1 << 20


def check(name, *args):
    result = getattr(cuda, name)(*args)
    if result != 0:
        raise SystemExit(f"{name} gave {result}")


context = ctypes.c_void_p()
check("cuInit", 0)
check("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
check("cuCtxSetCurrent", context)
buffers = []
for i in range(16):
    buffer = ctypes.c_uint64()
    check("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(4 * MIB))
    check("cuMemsetD8_v2", buffer, ctypes.c_ubyte(i), ctypes.c_size_t(4 * MIB))
    buffers.append(buffer)
for i, buffer in enumerate(buffers):
    back = ctypes.create_string_buffer(4 * MIB)
    check("cuMemcpyDtoH_v2", back, buffer, ctypes.c_size_t(4 * MIB))
    if back.raw != bytes([i]) * (4 * MIB):
        raise SystemExit(f"buffer {i} has changed")
print("64 MiB are as they were written")
