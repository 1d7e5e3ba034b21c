"""Launches what CuPy programs launch most, in several types and sizes, as operations.py does for PyTorch's: cupy_operations.py
[ROUNDS]. For bench/make_trust.sh; an operation that this version does not have is named and left out."""
import sys

import cupy
from cupyx.scipy import sparse

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
left_out = set()
# Memory that no operation names: touching it would show.
others = [cupy.zeros(16 << 20, dtype=cupy.float32) for _ in range(4)]


def attempt(name, function):
    """Four times. What came out is kept till the next one, so that the sets of arguments differ."""
    global kept
    try:
        kept = [function() for _ in range(4)]
    except Exception as error:  # Compilers and libraries have kinds of their own.
        left_out.add(f"{name}: {str(error).splitlines()[0][:100]}")


def arrays(n, dtype):
    a, b = (cupy.random.rand(n, n).astype(dtype) + cupy.asarray(1, dtype) for _ in range(2))
    for name in "add subtract multiply divide maximum minimum equal less greater power".split():
        attempt(name, lambda: getattr(cupy, name)(a, b))
        attempt(name, lambda: getattr(cupy, name)(a, 2))
    for name in "negative exp log sqrt sin cos tanh abs square isnan floor".split():
        attempt(name, lambda: getattr(cupy, name)(a))
    for name in "sum mean max min argmax argmin var prod any all cumsum sort argsort".split():
        attempt(name, lambda: getattr(cupy, name)(a))
        attempt(name, lambda: getattr(cupy, name)(a, axis=0))
        attempt(name, lambda: getattr(cupy, name)(a, axis=1))
    for to in (cupy.float32, cupy.float64, cupy.int32, cupy.int64, cupy.bool_):
        attempt("astype", lambda: a.astype(to))
        attempt("arange", lambda: cupy.arange(n * n, dtype=to))
        attempt("ones", lambda: cupy.ones((n, n), dtype=to))
    index = cupy.random.randint(0, n, n)
    attempt("take", lambda: a[index])
    attempt("put", lambda: a.__setitem__(index, b[0]))
    attempt("mask", lambda: a[a > 1.5])
    attempt("where", lambda: cupy.where(a > 1.5, a, b))
    attempt("copy", lambda: a.T.copy())
    attempt("concatenate", lambda: cupy.concatenate([a, b], axis=1))
    attempt("clip", lambda: cupy.clip(a, 1, 2))
    attempt("nonzero", lambda: cupy.nonzero(a > 1.5))
    attempt("unique", lambda: cupy.unique(index))
    attempt("histogram", lambda: cupy.histogram(a, 32))
    attempt("bincount", lambda: cupy.bincount(index))


def libraries(n, dtype):
    a = cupy.random.rand(n, n).astype(dtype)
    spd = a @ a.T + n * cupy.eye(n, dtype=dtype)
    b = cupy.random.rand(n, 32).astype(dtype)
    attempt("matmul", lambda: a @ spd)
    attempt("matvec", lambda: a @ b[:, 0])
    attempt("einsum", lambda: cupy.einsum("ij,jk->ki", a, spd))
    for name in "cholesky inv svd qr eigh norm".split():
        attempt(name, lambda: getattr(cupy.linalg, name)(spd))
    attempt("solve", lambda: cupy.linalg.solve(spd, b))
    for name in "fft rfft fft2".split():
        attempt(name, lambda: getattr(cupy.fft, name)(a))
    for kind in (sparse.csr_matrix, sparse.csc_matrix):
        s = kind(cupy.where(a > 0.95, a, 0).astype(dtype))
        attempt("sparse mm", lambda: s @ b)
        attempt("sparse mv", lambda: s @ b[:, 0])
        attempt("sparse product", lambda: s @ s)
        attempt("sparse sum", lambda: s + s)
    for name in "rand randn".split():
        attempt(name, lambda: getattr(cupy.random, name)(n, n))


for round_ in range(rounds):
    padding = cupy.zeros((1 + round_) << 18, dtype=cupy.float32)  # Another place for everything.
    for n in (512, 768):
        for dtype in (cupy.float32, cupy.float64, cupy.int32):
            arrays(n, dtype)
        for dtype in (cupy.float32, cupy.float64):
            libraries(n, dtype)
cupy.cuda.Device().synchronize()
print(f"{len(left_out)} operations were left out", *sorted(left_out), sep="\n  ", file=sys.stderr)
