# 16 arrays of 256 MiB, used twice, with CuPy's memory pool.
import cupy as cp, hashlib
xs=[cp.arange(64<<20,dtype=cp.float32)*(i+1) for i in range(16)]
s=0
for r in range(2):
    for i,x in enumerate(xs): x+=1; s+=float(x[::1000].sum())
print("cupy", "%.6e"%s, cp.get_default_memory_pool().total_bytes()>>20)
