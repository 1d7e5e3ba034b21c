"""A model of Llama-3-8B's shape with random weights: decoding, and two prefills.

llama.py [--layers 32] [--hidden 4096] [--decode 24] [--steps 8] [--way plain|accelerate|by-hand] [--limit GIB] [--no-cudnn]

`plain` knows of no limit: run it under vramspan, or where all fits. `accelerate` leaves what is beyond the limit to its
CPU offload, `by-hand` keeps whole layers beyond it in pinned host memory, double buffered on a copy stream. Both of these
keep room for activations below the limit.
"""
import argparse
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.initialization import no_init_weights

from common import digest, median, repeated, report

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--hidden", type=int, default=4096)
parser.add_argument("--decode", type=int, default=24)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--way", choices=["plain", "accelerate", "by-hand"], default="plain")
parser.add_argument("--limit", type=float, default=12.0)
parser.add_argument("--activations", type=float, default=2.3, help="GiB kept free below the limit")
parser.add_argument("--no-cudnn", action="store_true",
                    help="attention without cuDNN, which makes a plan for each new length: some 60 ms a token in which nothing is submitted")
args = parser.parse_args()
torch.backends.cuda.enable_cudnn_sdp(not args.no_cudnn)


class Slots:
    """Device memory for two layers, filled in turn by a copy stream ahead of the layers that need it."""

    def __init__(self, layers):
        self.copies = torch.cuda.Stream()
        self.host = [self.pin(layer) for layer in layers]
        self.layers = layers
        size = max(h.numel() for h in self.host)
        self.memory = [torch.empty(size, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
        self.filled = [torch.cuda.Event() for _ in range(2)]
        self.used = [torch.cuda.Event() for _ in range(2)]
        for i, layer in enumerate(layers):
            layer.register_forward_pre_hook(lambda *_, i=i: self.enter(i))
            layer.register_forward_hook(lambda *_, i=i: self.leave(i))
        self.turn = 0
        self.fill(0, 0)
        self.fill(1 % len(layers), 1)

    @staticmethod
    def pin(layer):
        host = torch.empty(sum(p.numel() for p in layer.parameters()), dtype=torch.bfloat16, pin_memory=True)
        at = 0
        for p in layer.parameters():
            host[at:at + p.numel()].copy_(p.data.reshape(-1))
            at += p.numel()
            p.data = torch.empty(0, dtype=p.dtype, device="cuda")
        return host

    def fill(self, i, slot):
        with torch.cuda.stream(self.copies):
            self.copies.wait_event(self.used[slot])
            self.memory[slot][:self.host[i].numel()].copy_(self.host[i], non_blocking=True)
            self.filled[slot].record(self.copies)

    def enter(self, i):
        slot, at = self.turn % 2, 0
        torch.cuda.current_stream().wait_event(self.filled[slot])
        for p, shape in zip(self.layers[i].parameters(), self.layers[i].shapes):
            n = shape.numel()
            p.data = self.memory[slot][at:at + n].view(shape)
            at += n

    def leave(self, i):
        slot = self.turn % 2
        self.used[slot].record()
        self.turn += 1
        self.fill((i + 2) % len(self.layers) if len(self.layers) > 1 else 0, slot)


def by_hand(model, limit):
    layers = list(model.model.layers)
    size = sum(p.numel() * 2 for p in layers[0].parameters())
    others = sum(p.numel() * 2 for p in model.parameters()) - size * len(layers)
    stay = int((limit - others) / size) - 2
    away = max(0, len(layers) - stay)
    if away == 0:
        return
    # Spread, so that there is time for each copy.
    chosen = [layers[len(layers) * k // away] for k in range(away)]
    for layer in chosen:
        layer.shapes = [p.shape for p in layer.parameters()]
    model.slots = Slots(chosen)
    torch.cuda.empty_cache()


def accelerated(model, limit):
    from accelerate import dispatch_model, infer_auto_device_map
    model.to("cpu")
    torch.cuda.empty_cache()
    devices = infer_auto_device_map(model, max_memory={0: int(limit), "cpu": "100GiB"},
                                    no_split_module_classes=["LlamaDecoderLayer"])
    dispatch_model(model, devices)


torch.manual_seed(1)
config = LlamaConfig(vocab_size=32000, hidden_size=args.hidden, intermediate_size=args.hidden * 7 // 2,
                     num_hidden_layers=args.layers, num_attention_heads=args.hidden // 128,
                     num_key_value_heads=args.hidden // 512, max_position_embeddings=8192, attn_implementation="sdpa")
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"), no_init_weights():
    model = LlamaForCausalLM(config)
generator = torch.Generator("cuda").manual_seed(1)
times = {}
with torch.no_grad():
    for p in model.parameters():
        if p.dim() > 1:
            p.normal_(0, 0.02, generator=generator)
        else:
            p.fill_(1)
    model.eval()
    for module in model.modules():  # Made from the configuration, not stored: every way needs them.
        if hasattr(module, "inv_freq"):
            module.inv_freq = module.inv_freq.to("cuda")
    room = (args.limit - args.activations) * (1 << 30)
    if args.way == "by-hand":
        by_hand(model, room)
    if args.way == "accelerate":
        accelerated(model, room)
    torch.cuda.reset_peak_memory_stats()

    def measured(name, function, repeats):
        ms = repeated(function, torch.cuda.synchronize, repeats)
        times[name] = median(ms[2:])
        print(name, *[round(v) for v in ms], file=sys.stderr, flush=True)

    x = torch.randint(0, 32000, (1, 2048), device="cuda", generator=generator)
    wide = torch.randint(0, 32000, (4, 4096), device="cuda", generator=generator)
    out = model(x[:, :128], use_cache=True)
    past, token, tokens = out.past_key_values, out.logits[:, -1:].argmax(-1), []

    def decode():
        global token
        token = model(token, past_key_values=past, use_cache=True).logits[:, -1:].argmax(-1)
        tokens.append(token)

    measured("decode", decode, args.decode)
    measured("prefill_1x2048", lambda: model(x, use_cache=False, logits_to_keep=1), args.steps)
    measured("prefill_4x4096", lambda: model(wide, use_cache=False, logits_to_keep=1), args.steps)
    logits = model(x, use_cache=False, logits_to_keep=1).logits.float().cpu().numpy()
    result = digest(repr([t.item() for t in tokens]), logits)
report(result, torch.cuda.max_memory_reserved(), **times)
