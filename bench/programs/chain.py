"""A chain of 24 products with weights of 8192 x 8192 (3.2 GB): chain.py [ROWS] [ROUNDS]."""
import sys

from common import digest, median, repeated, report, torch_setup

torch = torch_setup()
rows, rounds = ([int(a) for a in sys.argv[1:]] + [4096, 12][len(sys.argv) - 1:])[:2]
weights = [torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(24)]
x = torch.randn(rows, 8192, device="cuda", dtype=torch.bfloat16)
y = None


def chain():
    global y
    y = x
    for w in weights:
        y = (y @ w) * 0.011


times = repeated(chain, torch.cuda.synchronize, rounds)
report(digest(y.float().cpu().numpy()), torch.cuda.max_memory_reserved(), round=median(times[1:]))
