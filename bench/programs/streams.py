"""Four streams that multiply in matrices of their own, hand results on by events, and copy from and to the host."""
from common import digest, median, report, timed, torch_setup

torch = torch_setup()
streams = [torch.cuda.Stream() for _ in range(4)]
weights = [[torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(16)] for _ in streams]
values = [torch.randn(1024, 4096, device="cuda", dtype=torch.bfloat16) for _ in streams]
host = [torch.empty(1024, 4096, dtype=torch.bfloat16, pin_memory=True) for _ in streams]
torch.cuda.synchronize()


def turn():
    done = []
    for i, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            y = values[i]
            for w in weights[i]:
                y = torch.tanh(y @ w * 0.02)
            host[i].copy_(y, non_blocking=True)
            done.append((y, stream.record_event()))
    for i, stream in enumerate(streams):
        y, event = done[i - 1]
        stream.wait_event(event)
        with torch.cuda.stream(stream):
            values[i].add_(y)
            y.record_stream(stream)


times = [timed(turn, torch.cuda.synchronize) for _ in range(8)]
report(digest(*[v.float().cpu().numpy() for v in values], *[h.float().numpy() for h in host]),
       torch.cuda.max_memory_reserved(), turn=median(times[1:]))
