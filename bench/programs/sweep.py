"""Rounds over 16 arrays of 256 MiB, each read and written once: sweep.py [ROUNDS]."""
import sys

from common import digest, median, repeated, report, torch_setup

torch = torch_setup()
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
arrays = [torch.randint(1 << 30, (64 << 20,), device="cuda", dtype=torch.int32) for _ in range(16)]


def sweep():
    for a in arrays:
        a.add_(1)


times = repeated(sweep, torch.cuda.synchronize, rounds)
report(digest(*(a.cpu().numpy() for a in arrays)), torch.cuda.max_memory_reserved(), round=median(times[1:]))
