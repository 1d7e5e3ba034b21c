"""GPT-2 of transformers, trained; gpt2.py [LAYERS] [STEPS]"""
import sys
from common import digest, median, repeated, report, torch_setup
torch = torch_setup()
from transformers import GPT2Config, GPT2LMHeadModel
layers, steps = ([int(a) for a in sys.argv[1:]] + [12, 8][len(sys.argv) - 1:])[:2]
model = GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=1024, n_head=16, resid_pdrop=0., embd_pdrop=0., attn_pdrop=0.)).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randint(0, 50000, (4, 256), device="cuda")
losses = []
def step():
    loss = model(x, labels=x).loss
    loss.backward(); opt.step(); opt.zero_grad(set_to_none=True); losses.append(loss.detach())
times = repeated(step, torch.cuda.synchronize, steps)
report(digest(repr([v.item() for v in losses])), torch.cuda.max_memory_reserved(), step=median(times[1:]))
