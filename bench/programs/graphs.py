"""A chain of products captured into a CUDA graph and replayed on other inputs, beside work outside of it."""
from common import digest, median, report, timed, torch_setup

torch = torch_setup()
weights = [torch.randn(6144, 6144, device="cuda", dtype=torch.bfloat16) for _ in range(24)]
x = torch.zeros(1024, 6144, device="cuda", dtype=torch.bfloat16)
total = torch.zeros(6144, device="cuda")


def chain():
    y = x
    for w in weights:
        y = torch.nn.functional.silu(y @ w) * 0.02
    return y


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        chain()
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = chain()


def replay():
    x.normal_()
    graph.replay()
    total.add_(y.float().sum(0))


times = [timed(replay, torch.cuda.synchronize) for _ in range(10)]
report(digest(total.cpu().numpy()), torch.cuda.max_memory_reserved(), replay=median(times[1:]))
