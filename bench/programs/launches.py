"""What single calls cost the thread that makes them, in microseconds: the best round, and the median one."""
import json
import time

import torch


def us(call, repeats=1000, rounds=40):
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        times.append((time.perf_counter() - start) / repeats * 1e6)
    times.sort()
    return [round(times[0], 2), round(times[len(times) // 2], 2)]


small, other = torch.zeros(16, device="cuda"), torch.zeros(16, device="cuda")
matrix = torch.zeros(64, 64, device="cuda", dtype=torch.bfloat16)
event = torch.cuda.Event()
print(json.dumps({"add": us(lambda: small.add_(1)), "copy": us(lambda: other.copy_(small)),
                  "mm": us(lambda: torch.mm(matrix, matrix, out=matrix)), "record": us(lambda: event.record()),
                  "memset": us(lambda: small.zero_())}), flush=True)
