"""CUDA graphs replayed on other inputs, beside work outside of them: graphs.py [KIND [ROUNDS [eager]]].

chain    products with 24 weights, one after the other (1.7 GiB)
twice    the same, each weight in two products that follow each other
token    one token of a transformer with 20 layers and a static cache of keys and values (4.1 GiB)
step     a whole training step: forwards, backwards, AdamW (2.6 GiB)
reduced  the layers of `token` through torch.compile(mode="reduce-overhead"), a graph for each (4.1 GiB)
many     24 graphs of one product each, launched in two streams

With `eager` the same work is launched without graphs.
"""
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
F = torch.nn.functional
kind = sys.argv[1] if len(sys.argv) > 1 else "chain"
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
eager = sys.argv[3:] == ["eager"]
bf16 = {"device": "cuda", "dtype": torch.bfloat16}


class Calls:
    """What a graph is beside, with no graph."""

    def __init__(self, function):
        self.function, self.out = function, function().clone()

    def replay(self):
        self.out.copy_(self.function())


kept = []


def captured(function):
    """A graph of it, and what it returns. What the graph uses lives as long as the program."""
    kept.append(function)
    if eager:
        calls = Calls(function)
        return calls, calls.out
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function()
    return graph, out


def chain(each):
    weights = [torch.randn(6144, 6144, **bf16) for _ in range(24)]
    x, total = torch.zeros(1024, 6144, **bf16), torch.zeros(6144, device="cuda")

    def products():
        y = x
        for w in weights:
            for _ in range(each):
                y = F.silu(y @ w) * 0.02
        return y

    graph, y = captured(products)

    def replay():
        x.normal_()
        graph.replay()
        total.add_(y.float().sum(0))

    return replay, total


class Layer(torch.nn.Module):
    """One of a transformer that makes one token at a time."""

    def __init__(self, width, length):
        super().__init__()
        self.parts = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.randn(out, into, **bf16) * into ** -0.5, requires_grad=False)
             for out, into in ((3 * width, width), (width, width), (4 * width, width), (width, 4 * width))])
        self.register_buffer("cache", torch.zeros(2, 1, width // 128, length, 128, **bf16))

    def forward(self, x, place, mask):
        qkv, out, up, down = self.parts
        q, k, v = F.linear(F.rms_norm(x, x.shape[-1:]), qkv).view(1, 1, 3, -1, 128).permute(2, 0, 3, 1, 4)
        self.cache.index_copy_(3, place, torch.stack([k, v]))
        scores = (q @ self.cache[0].mT) * 128 ** -0.5 + mask
        x = x + F.linear((torch.softmax(scores, -1) @ self.cache[1]).transpose(1, 2).reshape(x.shape), out)
        return x + F.linear(F.silu(F.linear(F.rms_norm(x, x.shape[-1:]), up)), down)


def token(reduced):
    width, length, layers = 4096, 512, 10 if reduced else 20
    stack = [Layer(width, length) for _ in range(layers)]
    if reduced:
        stack = [torch.compile(layer, mode="reduce-overhead") for layer in stack]
    x, place = torch.randn(1, 1, width, **bf16), torch.zeros(1, device="cuda", dtype=torch.int64)
    mask, total = torch.full((length,), float("-inf"), **bf16), torch.zeros(width, device="cuda")

    def all_layers():
        mask.index_fill_(0, place, 0)
        y = x
        for layer in stack:
            y = layer(y.clone() if reduced else y, place, mask)
        return y

    if reduced:
        run = all_layers
    else:
        graph, y = captured(all_layers)

        def run():
            graph.replay()
            return y

    def replay():
        with torch.no_grad():
            y = run()
            total.add_(y[0, 0])
            x.copy_(F.rms_norm(y, y.shape[-1:]))
            place.add_(1)

    return replay, total


def step():
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(3072, 3072), torch.nn.GELU()) for _ in range(16)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, capturable=True, fused=True)
    x, total = torch.zeros(256, 3072, device="cuda"), torch.zeros(1, device="cuda")

    def whole():
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    graph, loss = captured(whole)

    def replay():
        x.normal_()
        graph.replay()
        total.add_(loss)

    return replay, total


def many():
    weights = [torch.randn(6144, 6144, **bf16) for _ in range(24)]
    xs, total = [torch.zeros(512, 6144, **bf16) for _ in range(2)], torch.zeros(6144, device="cuda")
    streams = [torch.cuda.Stream() for _ in xs]
    graphs = [captured(lambda w=w, x=xs[i % 2]: x.copy_(F.silu(x @ w) * 0.02))[0] for i, w in enumerate(weights)]

    def replay():
        for x, stream in zip(xs, streams):
            x.normal_()
            stream.wait_stream(torch.cuda.current_stream())
        for i, graph in enumerate(graphs):
            with torch.cuda.stream(streams[i % 2]):
                graph.replay()
        for x, stream in zip(xs, streams):
            torch.cuda.current_stream().wait_stream(stream)
            total.add_(x.float().sum(0))

    return replay, total


replay, total = {"chain": lambda: chain(1), "twice": lambda: chain(2), "token": lambda: token(False),
                 "reduced": lambda: token(True), "step": step, "many": many}[kind]()
times = [timed(replay, torch.cuda.synchronize) for _ in range(rounds)]
print(kind, *[round(t) for t in times], file=sys.stderr, flush=True)
report(digest(total.float().cpu().numpy()), torch.cuda.max_memory_reserved(), replay=median(times[len(times) // 3:]))
