"""Writes a PyTorch execution trace of one training step, and its profile: execution_trace.py ET.json PROFILE.json [LAYERS] [WIDTH].

    vramspan trace import --pytorch-et ET.json --profile PROFILE.json -o step.vramspan
"""
import json
import sys

from common import torch_setup
from transformer import Transformer

torch = torch_setup()
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

trace, times = sys.argv[1:3]
layers, width = ([int(a) for a in sys.argv[3:]] + [4, 512][len(sys.argv) - 3:])[:2]
model = Transformer(layers, width).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randint(0, model.words, (4, 128), device="cuda")


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model.loss(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=1, warmup=2, active=1),
             execution_trace_observer=ExecutionTraceObserver().register_callback(trace),
             on_trace_ready=lambda p: p.export_chrome_trace(times)) as seen:
    for _ in range(4):
        step()
        seen.step()
nodes = json.load(open(trace))["nodes"]
print(json.dumps({"nodes": len(nodes), "peak_mib": torch.cuda.max_memory_reserved() >> 20}))
