"""Fills 64 MiB of device memory and reads them back. Knows nothing of vramspan, but with the argument `asks`."""
import ctypes
import sys
import types

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

if sys.argv[1:] == ["asks"]:
    import vramspan

    vramspan.pin(buffers[0].value, 4 * MIB)
    vramspan.prefetch(buffers[1].value, 4 * MIB, to="host")
    check("cuCtxSynchronize")
    stats = vramspan.stats()
    assert stats["allocated_bytes"] == 64 * MIB and stats["device_budget"] == 16 * MIB, stats
    vramspan.unpin(buffers[0].value, 4 * MIB)
    # As CuPy's array[:, 1:] has it: the elements lie apart, in all of what was allocated.
    part = types.SimpleNamespace
    whole = part(ptr=buffers[2].value, size=4 * MIB)
    apart = part(data=part(ptr=whole.ptr + 8, mem=whole), nbytes=MIB, flags=part(c_contiguous=False))
    vramspan.pin(apart)
    vramspan.unpin(whole.ptr, whole.size)
    vramspan.discard(buffers[3].value, 4 * MIB)
    for wrong, kind in (
        (lambda: vramspan.unpin(buffers[0].value, 4 * MIB), ValueError),
        (lambda: vramspan.pin(0x1000, 1), LookupError),
        (lambda: vramspan.stats(device=1), LookupError),
        (lambda: vramspan.prefetch(0x1000, 1, to="disk"), ValueError),
        (lambda: vramspan.pin("text"), TypeError),
        (lambda: vramspan.discard(0x1000, 1), LookupError),
        (lambda: vramspan.discard(apart), ValueError),
    ):
        try:
            wrong()
        except kind as error:
            assert str(error), kind
        else:
            raise SystemExit(f"no {kind.__name__}")
    print("vramspan did what it was asked")
