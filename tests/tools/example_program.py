"""What examples call train.py: three steps over 8 MiB of device memory, through the driver.

EXAMPLE_KERNELS names an image for the simulated driver, with the demo's kernels.
"""
import ctypes
import os

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
module, fill = ctypes.c_void_p(), ctypes.c_void_p()
with open(os.environ["EXAMPLE_KERNELS"], "rb") as file:
    image = file.read()
check("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
check("cuModuleGetFunction", ctypes.byref(fill), module, b"fill_integers")
buffers = []
for i in range(4):
    buffer = ctypes.c_uint64()
    check("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(2 * MIB))
    buffers.append(buffer)
for step in range(3):
    for buffer in buffers:
        values = (buffer, ctypes.c_size_t(2 * MIB // 4), ctypes.c_uint32(step))
        parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
        check("cuLaunchKernel", fill, 8, 1, 1, 64, 1, 1, 0, None, parameters, None)
check("cuCtxSynchronize")
