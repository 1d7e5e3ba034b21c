"""Full fine-tuning of a language model of 1.1 billion parameters; finetune.py --help says the ways.

Parameters, gradients and AdamW's states are float32, products bfloat16 (autocast). 24 GiB at the default size.
`plain` knows of no limit: run it under vramspan, or where all fits. `in-place` is what a careful person does by hand:
what is beyond --limit of AdamW's states lies in pinned host memory, where the optimiser's kernels read and write it.
"""
import argparse

from common import digest, link, median, repeated, report, torch_setup

torch = torch_setup()
# Of the fused ways the one whose backward pass can give the same bits each time. PyTorch has it do so only where
# operators that cannot are refused, not warned of.
torch.use_deterministic_algorithms(True)
torch.backends.cuda.enable_flash_sdp(True)
torch.backends.cuda.enable_cudnn_sdp(False)
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--layers", type=int, default=20)
parser.add_argument("--width", type=int, default=2048)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=1024)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--optimizer", choices=["fused", "foreach"], default="fused")
parser.add_argument("--checkpoint", action="store_true", help="compute each layer's activations again in the backward pass")
parser.add_argument("--way", choices=["plain", "in-place"], default="plain")
parser.add_argument("--limit", type=float, help="GiB of device memory: prints the bound of a step, and is obeyed by in-place")
parser.add_argument("--activations", type=float, default=3.0, help="GiB that in-place keeps below the limit for activations")
parser.add_argument("--peak", type=float, help="GiB that the program needs, as a run without limit says; for the bound")
args = parser.parse_args()


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = width // 128

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.inner(self.first(x)).chunk(3, -1))
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.outer(a.transpose(1, 2).reshape(x.shape))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Model(nn.Module):
    words = 32000

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(self.words, args.width)
        self.layers = nn.ModuleList(Layer(args.width) for _ in range(args.layers))
        self.norm = nn.LayerNorm(args.width)
        self.head = nn.Linear(args.width, self.words, bias=False)

    def forward(self, words):
        x = self.embedding(words)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if args.checkpoint else layer(x)
        return self.head(self.norm(x))


class Pinned:
    """Pinned host memory that says of itself that it is an array of the device: kernels reach it over the bus."""

    def __init__(self, like):
        self.memory = torch.zeros(like.numel(), dtype=torch.float32, pin_memory=True)
        self.__cuda_array_interface__ = {"shape": tuple(like.shape), "typestr": "<f4", "version": 2, "strides": None,
                                         "data": (self.memory.data_ptr(), False)}


def put_in_place(model, optimizer):
    """Gives AdamW its states, so many of them in host memory that the rest fits below the limit."""
    parameters = list(model.parameters())
    size = sum(p.numel() for p in parameters) * 4
    beyond = 4 * size + int(args.activations * 2**30) - int(args.limit * 2**30)
    kept = []
    for p in parameters:
        on_host = beyond > 0 and p.numel() >= 1 << 20
        states = [Pinned(p) if on_host else torch.zeros_like(p) for _ in range(2)]
        if on_host:
            kept += states
            beyond -= 8 * p.numel()
            states = [torch.as_tensor(s, device="cuda") for s in states]
        optimizer.state[p] = {"step": torch.zeros((), dtype=torch.float32, device="cuda"),
                              "exp_avg": states[0], "exp_avg_sq": states[1]}
    return kept


rate = link(torch)[1] if args.limit and args.peak else None
model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=args.optimizer == "fused",
                              foreach=args.optimizer == "foreach")
kept = put_in_place(model, optimizer) if args.way == "in-place" else []
words = torch.randint(0, Model.words, (args.batch, args.length), device="cuda")
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(words).view(-1, Model.words), words.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.detach())


times = repeated(step, torch.cuda.synchronize, args.steps)
half = times[len(times) // 2:]
more = {"bound": max(0, (args.peak - args.limit) * 2**30) / rate * 1e3, "link_gb_s": rate / 1e9} if rate else {}
report(digest(repr([v.item() for v in losses])), torch.cuda.max_memory_reserved(), step=median(half), first=times[0], **more)
