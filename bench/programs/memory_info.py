"""What NVML and CUDA say of the device's memory, before and after 4 GiB are allocated. The result is whether both see
that; what they say in figures depends on the device and the budget."""
import json
import sys

import pynvml

from common import torch_setup

torch = torch_setup()
GIB = 1 << 30


def ask(handle):
    v1, v2 = pynvml.nvmlDeviceGetMemoryInfo(handle), pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    free, total = torch.cuda.mem_get_info()
    return {"nvml": [v1.total, v1.free, v1.used], "nvml 2": [v2.total, v2.free, v2.used], "cuda": [total, free]}


torch.cuda.init()
torch.zeros(1, device="cuda")
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
before = ask(handle)
kept = [torch.full((GIB // 4,), float(i), device="cuda") for i in range(4)]
torch.cuda.synchronize()
after = ask(handle)
for name, said in (("before", before), ("after", after)):
    print(name, {k: [round(b / GIB, 2) for b in v] for k, v in said.items()}, file=sys.stderr)
taken = {k: before[k][1] - after[k][1] for k in before}
sees = all(4 * GIB <= t < 4 * GIB + (64 << 20) for t in taken.values())
right = all(bool((k == i).all()) for i, k in enumerate(kept))
sums = all(v[1] + v[2] <= v[0] for k, v in after.items() if k != "cuda")
print(json.dumps({"result": f"{sees} {sums} {right}", "peak_mib": torch.cuda.max_memory_reserved() >> 20, "ms": {}}))
