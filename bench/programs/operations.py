"""Launches what PyTorch programs launch most, in several types and sizes, so that an audit sees each kernel often enough:
operations.py [ROUNDS [GROUP...]]. For bench/make_trust.sh; an operation that this version does not have is named and left out."""
import itertools
import sys

import torch
from torch import nn
from torch.nn import functional as F

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
SIZES = (256, 384)
ONCE = {"product by table", "conv2d", "conv", "norm", "silu", "encoder", "lstm", "gru", "strided", "pointwise", "depthwise",
        "transposed", "embedding", *(f"attention {way}" for way in ("flash", "efficient", "cudnn", "plain"))}
FLOATS = [torch.float32, torch.bfloat16, torch.float16]
device = "cuda"
left_out = set()
# Memory that no operation names: touching it would show.
others = [torch.zeros(16 << 20, device=device) for _ in range(4)]


def attempt(name, function, *arguments):
    """Four times. What came out is kept till the next one, so that the sets of arguments differ."""
    global kept
    try:
        kept = [function(*arguments) for _ in range(4 if name not in ONCE else 1)]
    except (RuntimeError, TypeError, NotImplementedError, AttributeError) as error:
        left_out.add(f"{name}: {str(error).splitlines()[0][:100]}")


def elementwise(n, dtype):
    a, b = (torch.rand(n, n, device=device).to(dtype) for _ in range(2))
    row, half = a[0].clone(), a.t()
    for op in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.lt, torch.ge):
        attempt(op.__name__, op, a, b)
        attempt(op.__name__, op, a, row)
        attempt(op.__name__, op, a, half)
        attempt(op.__name__, op, a, 2.5)
    for op in (torch.neg, torch.exp, torch.log, torch.sqrt, torch.rsqrt, torch.sin, torch.cos, torch.tanh, torch.sigmoid,
               torch.abs, torch.square, torch.reciprocal, torch.erf, torch.isnan, torch.isfinite, F.relu, F.gelu, F.silu,
               F.softplus, F.leaky_relu, torch.tril, torch.triu, lambda x: F.gelu(x, approximate="tanh")):
        attempt(op.__name__, op, a)
    mask = a > 0.5
    for op in (torch.logical_and, torch.logical_or, torch.bitwise_and, torch.bitwise_or, torch.eq):
        attempt(op.__name__, op, mask, mask)
    for op in (torch.logical_not, torch.bitwise_not):
        attempt(op.__name__, op, mask)
    for t in (torch.bool, torch.int64, torch.int32, torch.float32, dtype):
        for make in (torch.ones, torch.zeros):
            attempt("fill", lambda make=make, t=t: make(n, n, device=device, dtype=t))
        attempt("to", mask.to, t)
        attempt("to", torch.zeros(n, n, device=device, dtype=t).to, dtype)
    for t in (torch.int64, torch.int32):
        whole = torch.ones(n, n, device=device, dtype=t)
        for op in (torch.add, torch.sub, torch.mul, torch.eq, torch.ne, torch.lt, torch.ge, torch.gt, torch.le):
            attempt(op.__name__, op, whole, whole)
            attempt(op.__name__, op, whole, 1)
    for power in (2.0, 3.0, 0.5, -0.5, 1.7):
        attempt("pow", torch.pow, a, power)
    attempt("clamp", torch.clamp, a, 0.1, 0.9)
    attempt("lerp", torch.lerp, a, b, 0.3)
    attempt("addcmul", torch.addcmul, a, a, b)
    attempt("addcdiv", torch.addcdiv, a, a, b + 1)
    attempt("where", torch.where, a > 0.5, a, b)
    attempt("masked_fill", a.masked_fill, a > 0.5, 0.0)
    for inplace in ("zero_", "fill_", "add_", "mul_", "uniform_", "normal_", "bernoulli_"):
        t = a.clone()
        arguments = (0.5,) if inplace in ("fill_", "add_", "mul_") else ()
        attempt(inplace, getattr(t, inplace), *arguments)
    for to in FLOATS + [torch.int64, torch.int32, torch.bool, torch.uint8]:
        attempt("to", a.to, to)
    attempt("contiguous", half.contiguous)
    for count in (2, 3, 5):
        attempt("cat", torch.cat, [half] * count, 1)
        attempt("cat", torch.cat, [a[:, :n // 2], b[:, :n // 3]] * count, 1)
    attempt("cat", torch.cat, [a, b])
    attempt("cat", torch.cat, [a, b], 1)
    attempt("stack", torch.stack, [a, b])
    attempt("clone", half.clone)
    attempt("repeat", a.repeat, 2, 1)
    attempt("flip", a.flip, 0)
    attempt("roll", a.roll, 3, 0)


def reductions(n, dtype):
    a = torch.rand(n, n, device=device).to(dtype)
    for op in (torch.sum, torch.mean, torch.amax, torch.amin, torch.var, torch.norm, torch.argmax, torch.argmin,
               torch.softmax, torch.log_softmax, torch.cumsum, torch.logsumexp, torch.prod):
        for dim in (0, 1):
            attempt(op.__name__, lambda op=op, dim=dim: op(a, dim=dim))
    for op in (torch.sum, torch.mean, torch.max, torch.min, torch.norm, torch.any, torch.all, torch.count_nonzero):
        attempt(op.__name__, op, a)
    attempt("topk", torch.topk, a, 8)
    attempt("sort", torch.sort, a)
    attempt("sort", torch.sort, a.view(-1))
    attempt("median", torch.median, a, 1)


def indexing(n, dtype):
    a = torch.rand(n, n, device=device).to(dtype)
    i = torch.randint(0, n, (n,), device=device)
    attempt("index_select", torch.index_select, a, 0, i)
    attempt("gather", torch.gather, a, 1, i.view(-1, 1).expand(-1, n).contiguous())
    attempt("scatter", lambda: a.clone().scatter_(1, i.view(-1, 1), 1.0))
    attempt("scatter_add", lambda: a.clone().scatter_add_(0, i.view(1, -1), a[:1]))
    attempt("index_add", lambda: a.clone().index_add_(0, i, a))
    attempt("index", lambda: a[i])
    attempt("index", lambda: a[i, i])
    attempt("index_put", lambda: a.clone().index_put_((i,), a))
    attempt("nonzero", lambda: (a > 0.9).nonzero())
    attempt("masked_select", lambda: a[a > 0.9])
    attempt("arange", torch.arange, n * n, None, 1)
    for t in (torch.int64, torch.int32, dtype):
        attempt("arange", lambda t=t: torch.arange(n * 8, device=device, dtype=t))
    attempt("one_hot", lambda: F.one_hot(i, n))
    attempt("bincount", torch.bincount, i)
    attempt("unique", torch.unique, i)
    attempt("randperm", lambda: torch.randperm(n * 64, device=device))
    attempt("multinomial", lambda: torch.multinomial(torch.rand(8, n, device=device), 4))


def products(n, dtype):
    """Of this type, in all shapes that choose another kernel, if `n` is the first size."""
    if n != SIZES[0]:
        return
    lengths = (1, 8, 32, 96, 256, 1024, 3072, 4096)
    for m, k, width, batch in itertools.product(lengths, lengths[4:], lengths[2:], (1, 4)):
        if batch * m * k * width > 1 << 36 or batch * (m * k + k * width) > 1 << 25:
            continue
        a = torch.rand(batch, m, k, device=device).to(dtype)
        b = torch.rand(batch, k, width, device=device).to(dtype)
        at, bt = a.mT.contiguous().mT, b.mT.contiguous().mT
        if batch == 1:
            bias = b[0][0].clone()
            for left, right in ((a, b), (a, bt), (at, b), (at, bt)):
                attempt("mm", torch.mm, left[0], right[0])
            attempt("addmm", torch.addmm, bias, a[0], b[0])
            attempt("linear", F.linear, a, bt[0].t(), bias)
        else:
            for left, right in ((a, b), (a, bt), (at, b)):
                attempt("bmm", torch.bmm, left, right)


def tables(n, dtype):
    """Products of matrices that only a table on the device names, which a kernel wrote, by code that multiplies others as well.
    Twice, and apart."""
    if n != SIZES[0]:
        return
    import ctypes
    types = {torch.float32: (0, 68), torch.bfloat16: (14, 68), torch.float16: (2, 68), torch.float64: (1, 70)}
    blas = ctypes.CDLL("libcublas.so.13")
    lengths = (8, 32, 96, 256, 1024)
    for dtype in (dtype, torch.float64) if dtype == torch.float16 else (dtype,):
        kind, compute = types[dtype]
        one = (ctypes.c_double if dtype == torch.float64 else ctypes.c_float)
        for m, k, width, batch, left, right in itertools.product(lengths, lengths[1:], lengths[1:], (3,), (0, 1), (0, 1)):
            # Each in memory of its own, or the table would lie beside what it names.
            a, b, c = (torch.ones(max(batch * size, 4 << 20), device=device, dtype=dtype)[:batch * size].view(batch, size)
                       for size in (m * k, k * width, m * width))
            # What is uploaded would be looked into.
            at = [torch.arange(batch, device=device) * (t[0].numel() * t.element_size()) + t.data_ptr() for t in (a, b, c)]

            def product():
                result = blas.cublasGemmBatchedEx(
                    ctypes.c_void_p(torch.cuda.current_blas_handle()), left, right, m, width, k, ctypes.byref(one(1)),
                    ctypes.c_void_p(at[0].data_ptr()), kind, k if left else m, ctypes.c_void_p(at[1].data_ptr()), kind,
                    width if right else k, ctypes.byref(one(0)), ctypes.c_void_p(at[2].data_ptr()), kind, m, batch,
                    compute, -1)
                if result:
                    raise RuntimeError(f"cublasGemmBatchedEx: {result}")

            attempt("product by table", lambda: [product(), torch.zeros(1, device=device), product()])


def convolutions(n, dtype):
    if n != SIZES[0]:
        return
    for channels, size, kernel, stride in itertools.product((3, 64, 128, 256, 512), (7, 14, 28, 56), (1, 3), (1, 2)):
        x = torch.rand(16, channels, size, size, device=device).to(dtype).requires_grad_()
        for out, form in itertools.product((64, 256), (torch.contiguous_format, torch.channels_last)):
            w = torch.rand(out, channels, kernel, kernel, device=device).to(dtype).requires_grad_()
            xs, ws = x.to(memory_format=form), w.to(memory_format=form)
            attempt("conv2d", lambda: F.conv2d(xs, ws, stride=stride, padding=kernel // 2).sum().backward())


optimizers = itertools.cycle([
    lambda p: torch.optim.AdamW(p, 1e-3), lambda p: torch.optim.AdamW(p, 1e-3, fused=True),
    lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9), lambda p: torch.optim.Adam(p, 1e-3, foreach=False)])


def trained(module, inputs, dtype):
    """Forwards and backwards, by one of the optimizers."""
    module = module.to(device=device, dtype=dtype)
    optimizer = next(optimizers)(list(module.parameters()))
    for _ in range(3):
        out = module(inputs)
        out = out[0] if isinstance(out, tuple) else out
        out.float().square().mean().backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def layers(n, dtype):
    x = torch.rand(4, 64, n, device=device).to(dtype)
    for name, module in {"norm": nn.Sequential(nn.Linear(n, n), nn.LayerNorm(n), nn.GELU(), nn.GELU(approximate="tanh"), nn.Dropout(0.1)),
                         "silu": nn.Sequential(nn.Linear(n, n), nn.RMSNorm(n), nn.SiLU()),
                         "encoder": nn.TransformerEncoderLayer(n, 8, 2 * n, batch_first=True),
                         "lstm": nn.LSTM(n, n // 2, batch_first=True), "gru": nn.GRU(n, n // 2, batch_first=True)}.items():
        attempt(name, trained, module, x, dtype)
    image = torch.rand(8, 16, n // 8, n // 8, device=device).to(dtype)
    for name, module in {"conv": nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
                         "strided": nn.Sequential(nn.Conv2d(16, 32, 3, 2), nn.GroupNorm(4, 32), nn.SiLU(), nn.AvgPool2d(2)),
                         "pointwise": nn.Sequential(nn.Conv2d(16, 64, 1), nn.Upsample(scale_factor=2)),
                         "depthwise": nn.Conv2d(16, 16, 3, groups=16),
                         "transposed": nn.ConvTranspose2d(16, 16, 2, 2)}.items():
        attempt(name, trained, module, image, dtype)
        attempt(name, trained, module, image.to(memory_format=torch.channels_last), dtype)
    words = torch.randint(0, 1000, (8, 64), device=device)
    attempt("embedding", trained, nn.Embedding(1000, n), words, dtype)
    def backwards():
        x = torch.rand(n, n, device=device).to(dtype).requires_grad_()
        for f in (torch.tanh, torch.sigmoid, torch.exp, torch.sqrt, torch.relu, F.elu, F.hardswish, lambda x: x ** 3,
                  lambda x: torch.softmax(x, 0), lambda x: torch.softmax(x.view(-1, 64), 1), lambda x: x.clamp(0.1, 0.9),
                  lambda x: torch.cat([x, x[:, :n // 2]], 1), lambda x: x.t().contiguous(), lambda x: x[:, ::2],
                  lambda x: torch.log_softmax(x, 1), lambda x: torch.where(x > 0.5, x, -x), lambda x: x.cumsum(1)):
            f(x).sum().backward()

    attempt("backwards", backwards)
    logits = torch.rand(256, 1000, device=device).to(dtype).requires_grad_()
    attempt("cross_entropy", lambda: F.cross_entropy(logits, words.view(-1)[:256]).backward())


def attention(n, dtype):
    """In the sizes, masks and ways that choose another kernel; `asked`: one new token asks, as in generation."""
    ways = {"flash": (1, 0, 0), "efficient": (0, 1, 0), "cudnn": (0, 0, 1), "plain": (0, 0, 0)}
    for head, length, causal, asked in itertools.product((32, 64, 96, 128, 256), (200, n, 1024), (False, True), (0, 1)):
        if (causal and asked) or (length != n and head not in (64, 128)):
            continue
        q, k, v = (torch.rand(2, 8, asked if asked and i == 0 else length, head, device=device).to(dtype)
                   for i in range(3))
        for t in () if asked else (q, k, v):
            t.requires_grad_()
        mask = torch.rand(1, 1, q.shape[2], length, device=device) > 0.1
        for (name, way), (masked, dropout) in itertools.product(ways.items(), ((0, 0.0), (1, 0.0), (0, 0.1))):
            if (masked or dropout) and (length != n or asked) or (masked and causal):
                continue
            torch.backends.cuda.enable_flash_sdp(bool(way[0]))
            torch.backends.cuda.enable_mem_efficient_sdp(bool(way[1]))
            torch.backends.cuda.enable_cudnn_sdp(bool(way[2]))

            def one():
                out = F.scaled_dot_product_attention(q, k, v, mask if masked else None, dropout, causal)
                return out if asked else out.sum().backward()
            attempt(f"attention {name}", one)


def libraries(n, dtype):
    """cuFFT, cuSOLVER, cuSPARSE and what lies around them. They have no halves, so other types stand for those."""
    real = torch.float64 if dtype == torch.float16 else torch.float32
    whole = dtype == torch.bfloat16
    for size in (n, n * 3, 1000, 1 << 14):
        x = torch.rand(48, size, device=device, dtype=real)
        attempt("rfft", lambda: torch.fft.irfft(torch.fft.rfft(x)))
        attempt("fft", lambda: torch.fft.ifft(torch.fft.fft(torch.complex(x, x))))
    for shape in ((4, n, n), (2, 48, 48, 48)):
        x = torch.rand(*shape, device=device, dtype=real)
        attempt("fftn", lambda: torch.fft.ifftn(torch.fft.fftn(torch.complex(x, x), dim=(-2, -1))))
        attempt("rfftn", lambda: torch.fft.irfftn(torch.fft.rfftn(x)))
    for batch, size in ((1, n), (1, 4 * n), (64, 32)):
        a = torch.rand(batch, size, size, device=device, dtype=real)
        a = a if batch > 1 else a[0]
        spd = a @ a.mT + size * torch.eye(size, device=device, dtype=real)
        b = torch.rand_like(a)
        linalg = torch.linalg
        for op in (linalg.cholesky, linalg.inv, linalg.lu_factor, linalg.det, linalg.eigh, linalg.qr, linalg.svdvals,
                   linalg.matrix_norm, torch.cholesky_inverse):
            attempt(op.__name__, op, spd)
        attempt("solve", linalg.solve, spd, b)
        attempt("lstsq", linalg.lstsq, spd, b)
        attempt("solve_triangular", lambda: linalg.solve_triangular(spd, b, upper=False))
    dense = torch.rand(8 * n, 8 * n, device=device, dtype=real)
    sparse = (dense * (dense > 0.99)).to_sparse_csr() if whole else (dense * (dense > 0.99)).to_sparse()
    wide = torch.rand(8 * n, 64, device=device, dtype=real)
    attempt("sparse mm", lambda: sparse @ wide)
    attempt("sparse mv", lambda: sparse @ wide[:, 0])
    attempt("sparse product", lambda: sparse @ sparse)
    attempt("to_dense", lambda: sparse.to_dense())
    attempt("coalesce", lambda: torch.sparse_coo_tensor(torch.randint(0, n, (2, 64 * n), device=device), dense[0].repeat(8),
                                                        (n, n)).coalesce())


groups = [elementwise, reductions, indexing, layers, attention, convolutions, products, tables, libraries]
chosen = [group for group in groups if group.__name__ in sys.argv[2:]] or groups
for group, round_, dtype in itertools.product(chosen, range(rounds), FLOATS):
    # Another place for everything.
    padding = torch.zeros((1 + round_) << 18, device=device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = round_ % 2 == 1
    for n in SIZES:
        group(n, dtype)
torch.cuda.synchronize()
print(f"{len(left_out)} operations were left out", *sorted(left_out), sep="\n  ", file=sys.stderr)
