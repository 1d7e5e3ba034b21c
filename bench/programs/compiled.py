"""Trains a transformer through torch.compile, whose kernels Triton makes."""
from common import digest, median, report, timed, torch_setup
from transformer import Transformer

torch = torch_setup()
torch.use_deterministic_algorithms(False)
model = Transformer(4, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
loss_of = torch.compile(model.loss)
x = torch.randint(0, model.words, (8, 256), device="cuda")
losses = []


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_of(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.detach())


times = [timed(step, torch.cuda.synchronize) for _ in range(8)]
# Atomic additions of the embedding's gradient come in any order: the first loss is the same, later ones nearly.
values = [v.item() for v in losses]
report(f"{values[0]:.6f} {values[-1]:.2f}", torch.cuda.max_memory_reserved(), step=median(times[2:]))
