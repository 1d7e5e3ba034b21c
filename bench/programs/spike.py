"""Training whose activations spike: every fourth batch is eight times as large as the others."""
from common import digest, median, report, timed, torch_setup
from transformer import Transformer

torch = torch_setup()
model = Transformer(6, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
losses = []


def step(batch):
    x = torch.randint(0, model.words, (batch, 256), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.loss(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.detach())


small, large = [], []
for i in range(9):
    (large if i % 4 == 2 else small).append(
        timed(lambda: step(16 if i % 4 == 2 else 2), torch.cuda.synchronize))
report(digest(repr([v.item() for v in losses])), torch.cuda.max_memory_reserved(), small=median(small),
       large=median(large))
