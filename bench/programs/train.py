# Trains a transformer with AdamW: train.py [LAYERS] [WIDTH] [STEPS]. Prints the first losses, a digest of all, and
# the median step.
import sys, time, hashlib, torch, torch.nn as nn
torch.manual_seed(1); torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cuda.enable_flash_sdp(False); torch.backends.cuda.enable_mem_efficient_sdp(False)
d=torch.device('cuda'); L=int(sys.argv[1]) if len(sys.argv)>1 else 8; H=int(sys.argv[2]) if len(sys.argv)>2 else 1024
steps=int(sys.argv[3]) if len(sys.argv)>3 else 8
class M(nn.Module):
    def __init__(s):
        super().__init__()
        s.e=nn.Embedding(8192,H); s.b=nn.ModuleList([nn.TransformerEncoderLayer(H,16,4*H,dropout=0.0,batch_first=True,norm_first=True) for _ in range(L)]); s.o=nn.Linear(H,8192,bias=False)
    def forward(s,x):
        h=s.e(x)
        for b in s.b: h=b(h)
        return s.o(h)
m=M().to(d); opt=torch.optim.AdamW(m.parameters(),lr=1e-4)
x=torch.randint(0,8192,(8,256),device=d)
losses=[]; times=[]
for i in range(steps):
    torch.cuda.synchronize(); t=time.time()
    with torch.autocast('cuda',dtype=torch.bfloat16):
        l=nn.functional.cross_entropy(m(x).view(-1,8192),x.view(-1))
    l.backward(); opt.step(); opt.zero_grad(set_to_none=True)
    torch.cuda.synchronize(); times.append(time.time()-t)
    losses.append(l.item())
print("losses", ["%.6f"%v for v in losses][:3], "digest", hashlib.sha1(repr(losses).encode()).hexdigest()[:10], "step ms %.1f"%(sorted(times[1:])[len(times)//2-1]*1e3), "peak MiB", torch.cuda.max_memory_reserved()>>20, flush=True)
