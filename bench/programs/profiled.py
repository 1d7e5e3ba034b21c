"""Training under torch.profiler, which has to see every kernel: their number is part of the result."""
from common import digest, report, timed, torch_setup
from transformer import Transformer

torch = torch_setup()
from torch.profiler import ProfilerActivity, profile

model = Transformer(6, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randint(0, model.words, (8, 256), device="cuda")
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.loss(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())


step()
step()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
    ms = timed(lambda: [step() for _ in range(3)], torch.cuda.synchronize)
OURS = ("fingerprint", "fingerprints")  # vramspan's; they run in its own context, and CUPTI shows them all the same.
kernels = [e for e in seen.events()
           if e.device_type.name == "CUDA" and not e.name.startswith("Mem") and e.name not in OURS]
names = sorted({e.name for e in kernels})
# The count of kernels, and which, by their names' digest: none may be missing.
report(f"{digest(repr(losses))} {len(kernels)} {digest(*names)}", torch.cuda.max_memory_reserved(), step=ms / 3)
