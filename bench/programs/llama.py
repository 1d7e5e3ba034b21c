# A model of Llama-3-8B's shape with random weights: llama.py [DECODE STEPS]. Prints the median times of decoding a
# token and of two prefills, and digests of what came out.
import sys, time, torch, transformers, hashlib
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(1)
t0=time.time()
c=LlamaConfig(vocab_size=32000,hidden_size=4096,intermediate_size=14336,num_hidden_layers=32,num_attention_heads=32,num_key_value_heads=8,max_position_embeddings=8192,attn_implementation="sdpa")
torch.set_default_dtype(torch.bfloat16)
from transformers.initialization import no_init_weights
with torch.device('cuda'), no_init_weights():
    m=LlamaForCausalLM(c)
g=torch.Generator('cuda').manual_seed(1)
with torch.no_grad():
    for p in m.parameters():
        if p.dim()>1: p.normal_(0,0.02,generator=g)
        else: p.fill_(1)
m.eval(); torch.cuda.synchronize()
print("params GB %.1f"%(sum(p.numel()*2 for p in m.parameters())/1e9), "init s %.1f"%(time.time()-t0), flush=True)
def med(f,n):
    ts=[]
    for i in range(n):
        torch.cuda.synchronize(); t=time.time(); f(); torch.cuda.synchronize(); ts.append(time.time()-t)
    return sorted(ts[1:])[(n-1)//2]*1e3, " ".join("%.0f"%(v*1e3) for v in ts)
with torch.no_grad():
    x=torch.randint(0,32000,(1,2048),device='cuda',generator=g)
    out=m(x[:, :128],use_cache=True); past=out.past_key_values; tok=out.logits[:,-1:].argmax(-1)
    def decode():
        global tok
        o=m(tok,past_key_values=past,use_cache=True); tok=o.logits[:,-1:].argmax(-1)
    n=int(sys.argv[1]) if len(sys.argv)>1 else 12
    print("decode %.1f ms [%s]"%med(decode,n), flush=True)
    digest=hashlib.sha1(tok.cpu().numpy().tobytes()).hexdigest()[:8]
    print("prefill 1x2048 %.1f ms [%s]"%med(lambda: m(x,use_cache=False,logits_to_keep=1),max(6,n//2)), flush=True)
    x4=torch.randint(0,32000,(4,4096),device='cuda',generator=g)
    print("prefill 4x4096 %.1f ms [%s]"%med(lambda: m(x4,use_cache=False,logits_to_keep=1),5), flush=True)
    o=m(x,use_cache=False,logits_to_keep=1).logits.float()
    print("check", digest, hashlib.sha1(o.cpu().numpy().tobytes()).hexdigest()[:10], flush=True)
