"""What every program here prints last: one line of JSON that compare.py reads."""
import hashlib
import json
import os
import sys
import time


def digest(*arrays):
    """The SHA-1 of host arrays or texts, shortened."""
    h = hashlib.sha1()
    for a in arrays:
        h.update(a.encode() if isinstance(a, str) else a.tobytes())
    return h.hexdigest()[:12]


def report(result, peak_bytes, **times_ms):
    """`result` is the same in every run; `peak_bytes` is what the program needs of the device."""
    print(json.dumps({"result": result, "peak_mib": int(peak_bytes) >> 20,
                      "ms": {k: round(v, 3) for k, v in times_ms.items()}}), flush=True)


def median(values):
    return sorted(values)[len(values) // 2]


def timed(function, synchronize):
    """Milliseconds that `function` takes, the device's work included."""
    synchronize()
    start = time.perf_counter()
    function()
    synchronize()
    return (time.perf_counter() - start) * 1e3


def repeated(function, synchronize, count):
    """Milliseconds of `count` times of `function`. With BENCH_BURSTS=1 as many as each line on standard input says instead,
    up to a zero, each answered by a line with a list of theirs: so several programs take turns (together.py)."""
    if os.environ.get("BENCH_BURSTS") != "1":
        return [timed(function, synchronize) for _ in range(count)]
    every = []
    for line in sys.stdin:
        if int(line) == 0:
            break
        ms = [timed(function, synchronize) for _ in range(int(line))]
        print(json.dumps(ms), flush=True)
        every += ms
    return every


def torch_setup():
    """PyTorch, so set up that two runs give the same bits."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    return torch


def link(torch):
    """Bytes a second of the link: in while nothing leaves, and each way while both are busy."""
    host = [torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    device = [torch.empty(1 << 28, dtype=torch.uint8, device="cuda") for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def into():
        with torch.cuda.stream(streams[0]):
            device[0].copy_(host[0], non_blocking=True)

    def both():
        into()
        with torch.cuda.stream(streams[1]):
            host[1].copy_(device[1], non_blocking=True)

    rates = [(1 << 28) / (min(timed(way, torch.cuda.synchronize) for _ in range(5)) / 1e3) for way in (into, both)]
    del device
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return rates
