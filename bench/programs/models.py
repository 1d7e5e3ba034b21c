"""Models of several kinds with random weights: models.py lora|unet|vae|gnn|dlrm|fft [--gib G] [--laps N] [--limit G].

  lora  a step of fine-tuning small adapters of a transformer whose weights are frozen
  unet  a step of training a U-Net with attention
  vae   four passes over a large denoiser, and a decoder whose activations are a spike
  gnn   a step of training a network over a graph, which gathers each node's neighbours
  dlrm  a step of training embedding tables, of whose rows a few are used most, and a network behind them
  fft   a 3-D Fourier transform and its inverse

They need about --gib (8) of the device. With --limit the bytes that must cross in a lap are printed, as the time that
the link takes for them; each function says which and why. B is the limit: never are more bytes on the device.
"""
import argparse
import itertools
import math
import sys

from common import digest, link, median, repeated, report, torch_setup

torch = torch_setup()
# Of the fused ways the one whose backward pass can give the same bits each time. PyTorch has it do so only where
# operators that cannot are refused, not warned of.
torch.use_deterministic_algorithms(True)
torch.backends.cuda.enable_flash_sdp(True)
torch.backends.cuda.enable_cudnn_sdp(False)
from torch import nn
from torch.nn import functional as F

from networks import Block, Doubled, Residual, Sage, UNet

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("what", choices=["lora", "unet", "vae", "gnn", "dlrm", "fft"])
parser.add_argument("--gib", type=float, default=8.0)
parser.add_argument("--laps", type=int, default=8)
parser.add_argument("--limit", type=float, help="GiB of device memory: prints a bound, and changes nothing else")
args = parser.parse_args()
size = args.gib * 2**30
large = args.gib >= 2


def beyond(number):
    """How many of so many bytes are not on the device when as much of them is there as the limit allows."""
    return max(0.0, number - args.limit * 2**30)


def trained(model, loss_of):
    """A step of AdamW, and the losses."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    losses = []

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())

    return step, lambda: digest(repr([v.item() for v in losses]))


def peak_both_ways():
    """Where every byte is written and later read, what is beyond B at the peak was written, leaves, and comes back."""
    return 0, beyond(torch.cuda.max_memory_allocated())


def lora():
    """The frozen weights, W bytes, are read on the way there and on the way back, and never change. On the way there
    W - B of them come in. At the turn activations live too, so of all that is read on the way back the peak - B come
    in."""
    width = 4096 if large else 256
    model = nn.Sequential(*[Block(width) for _ in range(max(1, int(size * 0.75 / (24 * width**2))))])
    x = torch.randn(1, 512 if large else 64, width, device="cuda")
    frozen = sum(p.numel() * 2 for p in model.parameters() if not p.requires_grad)
    step, result = trained(model, lambda: (model(x) - x.roll(1, 1)).float().square().mean())
    return step, result, lambda: (beyond(frozen) + beyond(torch.cuda.max_memory_allocated()), 0)


def unet():
    """Activations are nearly all of it: see peak_both_ways."""
    model = UNet(128 if large else 64).cuda()
    side = 128 if large else 32
    x = torch.randn(max(1, round(args.gib * 3.3)), 4, side, side, device="cuda")
    return *trained(model, lambda: (model(x) - x.flip(0)).float().square().mean()), peak_both_ways


@torch.no_grad()
def vae():
    """The denoiser's weights, W bytes, are only read. A decoder leaves them no more room than B less its spike, so the
    next pass brings in the peak - B, and each other pass W - B. The spike itself is taken to fit."""
    width = 8192 if large else 512
    weights = [torch.randn(width, width, device="cuda", dtype=torch.bfloat16) / width**0.5
               for _ in range(max(1, int(size * 0.6 / (2 * width**2))))]
    c = 128 if large else 16
    decoder = nn.Sequential(nn.Conv2d(4, 4 * c, 3, padding=1), Residual(4 * c, 4 * c), Doubled(),
                            Residual(4 * c, 2 * c), Doubled(), Residual(2 * c, c), Doubled(), Residual(c, c),
                            nn.Conv2d(c, 3, 3, padding=1)).cuda().eval()
    # Some five arrays of the last size live at once.
    side = max(1, int(math.sqrt(size * 0.4 / (5 * 4 * c)) / 8))
    noise = torch.randn(4, side, side, device="cuda")
    x = torch.randn(256, width, device="cuda", dtype=torch.bfloat16)
    results = []

    @torch.no_grad()
    def lap():
        y = x
        for _ in range(4):
            for w in weights:
                y = F.layer_norm(y @ w, (width,))
        latent = noise + y.float().flatten()[:4, None, None]
        results.append(decoder(latent[None]).sum())

    def crossing():
        held = sum(w.numel() * 2 for w in weights)
        return beyond(torch.cuda.max_memory_allocated()) + 3 * beyond(held), 0

    return lap, lambda: digest(repr([r.item() for r in results])), crossing


def gnn():
    """Features and activations are nearly all of it. What is beyond B at the peak comes in. Features and neighbours are
    only read, and leave without a copy; the rest is written, and leaves: see peak_both_ways."""
    nodes = max(1024, int(size / (8 * 1024)))
    model = Sage(256).cuda()
    x = torch.randn(nodes, 256, device="cuda")
    neighbours = (nodes * torch.rand(nodes, 16, device="cuda", dtype=torch.float64) ** 3).long()

    def crossing():
        more = beyond(torch.cuda.max_memory_allocated())
        only_read = min(more, x.nbytes + neighbours.nbytes)
        return only_read, more - only_read

    return *trained(model, lambda: (model(x, neighbours) - 1).float().square().mean()), crossing


def dlrm():
    """Tables of 512 bytes a row; of the rows of a batch each is read and changed. Nobody knows the next batch, so the
    best is to keep the rows that are likeliest: the others that a batch uses come in and leave, or are used where they
    are."""
    rows = 2 ** int(math.log2(size / 8 / 512))
    tables = [torch.randn(rows, 128, device="cuda") for _ in range(max(1, round(size / (rows * 512))))]
    tower = nn.Sequential(nn.Linear(128 * len(tables), 1024), nn.ReLU(), nn.Linear(1024, 1)).cuda()
    generator = torch.Generator(device="cuda").manual_seed(7)
    bags, losses = 8192 if large else 64, []

    def ranks():
        """Of 16 rows a bag; a row's chance falls with its rank to the power of 3/4."""
        drawn = torch.rand(bags, 16, device="cuda", dtype=torch.float64, generator=generator)
        return (rows * drawn**4).long()

    def step():
        # The likeliest rows lie strewn over a table: an odd factor permutes a power of two.
        batch = [ranks() * 2654435761 % rows for _ in tables]
        pooled = [F.embedding_bag(b, t, mode="sum").requires_grad_() for b, t in zip(batch, tables)]
        loss = (tower(torch.cat(pooled, 1)) - 1).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in tower.parameters():
                p -= 0.01 * p.grad
                p.grad = None
            for b, t, p in zip(batch, tables, pooled):
                used, which = b.flatten().unique(return_inverse=True)
                change = torch.zeros(len(used), 128, device="cuda")
                change.index_add_(0, which, p.grad.repeat_interleave(16, 0))
                t.index_copy_(0, used, t[used] - 0.01 * change)
        losses.append(loss.detach())

    def crossing():
        kept = int(args.limit * 2**30 / 512 / len(tables))
        return 0, sum(int((ranks().unique() >= kept).sum()) * 512 for _ in tables)

    return step, lambda: digest(repr([v.item() for v in losses])), crossing


def fft():
    """An array is read and another written, and the same back: so each byte is written once a lap and read once. What
    is beyond B at the peak leaves once and comes in once."""
    n = next(i for i in itertools.count(math.ceil((size / 24) ** (1 / 3))) if smooth(i))
    x = torch.randn(n, n, n, device="cuda", dtype=torch.complex64)
    state = {"x": x, "norm": x.abs().square().mean().item()}
    del x

    def lap():
        state["y"] = torch.fft.fftn(state.pop("x"), norm="ortho")
        state["x"] = torch.fft.ifftn(state.pop("y"), norm="ortho")

    def result():
        norm = state["x"].abs().square().mean().item()
        right = abs(norm / state["norm"] - 1) < 1e-4
        # All bits in a sum, and in their order those of some.
        bits = torch.view_as_real(state["x"]).view(torch.int32).sum(dtype=torch.int64).item()
        return digest(str(bits), state["x"].flatten()[::61].cpu().numpy()) + ("" if right else " WRONG")

    return lap, result, peak_both_ways


def smooth(i):
    """Whether no factor is above 7: of such sizes transforms are fast."""
    for p in (2, 3, 5, 7):
        while i % p == 0:
            i //= p
    return i == 1


rates = link(torch) if args.limit else None
lap, result, crossing = globals()[args.what]()
times = repeated(lap, torch.cuda.synchronize, args.laps)
figures = {"lap": median(times[len(times) // 2:]), "first": times[0]}
if rates:
    into, both = crossing()
    figures["bound"] = (into / rates[0] + both / rates[1]) * 1e3
    figures |= {"link_in_gb_s": rates[0] / 1e9, "link_both_gb_s": rates[1] / 1e9}
text = result()
report(text, torch.cuda.max_memory_reserved(), **figures)
sys.exit("WRONG" in text)
