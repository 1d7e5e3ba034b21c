"""16 arrays of 256 MiB, used three times, with CuPy's memory pool."""
import cupy

from common import digest, median, report, timed

arrays = [cupy.arange(64 << 20, dtype=cupy.float32) * (i + 1) for i in range(16)]
sums = []


def turn():
    for a in arrays:
        a += 1
        sums.append(float(a[::1000].sum()))


times = [timed(turn, cupy.cuda.Device().synchronize) for _ in range(3)]
report(digest(repr(sums)), cupy.get_default_memory_pool().total_bytes(), turn=median(times[1:]))
