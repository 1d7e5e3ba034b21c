"""Trains on every device at once, a process each, gradients summed by NCCL: data_parallel.py [WIDTH] [STEPS]."""
import json
import os
import subprocess
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
width, steps = ([int(a) for a in sys.argv[1:]] + [1024, 8][len(sys.argv) - 1:])[:2]


def train(rank, world):
    from torch.nn.parallel import DistributedDataParallel

    from transformer import Transformer
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world)
    model = DistributedDataParallel(Transformer(8, width).cuda(), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    generator = torch.Generator("cuda").manual_seed(rank)
    x = torch.randint(0, 8192, (8, 256), device="cuda", generator=generator)
    losses = []

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x).view(-1, 8192), x.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())

    times = [timed(step, torch.cuda.synchronize) for _ in range(steps)]
    # Exchanged outside of DistributedDataParallel, too: each rank's parameters are the same by now.
    mine = torch.stack([p.detach().float().sum() for p in model.parameters()])
    all_of_them = [torch.empty_like(mine) for _ in range(world)]
    torch.distributed.all_gather(all_of_them, mine)
    same = all(torch.equal(mine, other) for other in all_of_them)
    report(f"{digest(repr([v.item() for v in losses]))} {same}", torch.cuda.max_memory_reserved(), step=median(times[1:]))
    torch.distributed.destroy_process_group()


if "RANK" in os.environ:
    train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    sys.exit()
world = torch.cuda.device_count()
ranks = [subprocess.Popen([sys.executable, __file__, str(width), str(steps)], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                                   MASTER_PORT="29577")) for r in range(world)]
said = [json.loads(p.communicate()[0].strip().splitlines()[-1]) for p in ranks]
print(json.dumps({"result": " ".join(s["result"] for s in said), "peak_mib": max(s["peak_mib"] for s in said),
                  "ms": {"step": max(s["ms"]["step"] for s in said)}}))
sys.exit(max(p.returncode for p in ranks))
