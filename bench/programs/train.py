"""Trains a transformer with AdamW: train.py [LAYERS] [WIDTH] [STEPS]."""
import sys

from common import digest, median, repeated, report, torch_setup
from transformer import Transformer

torch = torch_setup()
layers, width, steps = ([int(a) for a in sys.argv[1:]] + [8, 1024, 8][len(sys.argv) - 1:])[:3]
model = Transformer(layers, width).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randint(0, model.words, (8, 256), device="cuda")
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.loss(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.detach())


times = repeated(step, torch.cuda.synchronize, steps)
report(digest(repr([v.item() for v in losses])), torch.cuda.max_memory_reserved(), step=median(times[1:]))
