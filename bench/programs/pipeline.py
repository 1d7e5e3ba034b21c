"""One process that uses every device: a chain of products whose weights lie on each in turn, and what passes from one
device to the next is copied there: pipeline.py [ROUNDS]. With one device it is a chain on that."""
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
stages = [[torch.randn(8192, 8192, device=d, dtype=torch.bfloat16) for _ in range(16)] for d in devices]
x = torch.randn(2048, 8192, device=devices[0], dtype=torch.bfloat16)
y = None


def synchronize():
    for d in devices:
        torch.cuda.synchronize(d)


def go_round():
    global y
    y = x
    for device, weights in zip(devices, stages):
        y = y.to(device, non_blocking=True)
        for w in weights:
            y = (y @ w) * 0.011


times = [timed(go_round, synchronize) for _ in range(rounds)]
report(digest(y.float().cpu().numpy()), max(torch.cuda.max_memory_reserved(d) for d in devices), round=median(times[1:]))
