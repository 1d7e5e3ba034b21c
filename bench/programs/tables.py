"""Multiplies matrices that only tables on the device name, which kernels write: tables.py [GROUPS [ROUNDS]]. As programs do that call
cublasGemmBatchedEx, and compute its pointers on the device."""
import ctypes
import itertools
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
groups = int(sys.argv[1]) if len(sys.argv) > 1 else 64
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 6
N, BATCH = 1024, 8
torch.zeros(1, device="cuda") @ torch.zeros(1, 1, device="cuda")
blas = ctypes.CDLL("libcublas.so.13")
handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
one, zero = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))
weights = [torch.randn(BATCH, N, N, device="cuda") / N**0.5 for _ in range(groups)]
xs = [torch.randn(BATCH, N, N, device="cuda") for _ in range(2)]


def table(t):
    return torch.arange(BATCH, device="cuda") * (t[0].numel() * t.element_size()) + t.data_ptr()


tables, x_tables = [table(w) for w in weights], [table(x) for x in xs]


def by_table(w, x, y):
    code = blas.cublasGemmBatchedEx(handle, 0, 0, N, N, N, one, ctypes.c_void_p(x.data_ptr()), 0, N, ctypes.c_void_p(w.data_ptr()),
                                    0, N, zero, ctypes.c_void_p(y.data_ptr()), 0, N, BATCH, 68, -1)
    assert code == 0, code


def turn():
    # By turns with products that name their matrices, of the same code.
    for (w, t), (a, b) in zip(zip(weights, tables), itertools.cycle(((0, 1), (1, 0)))):
        by_table(t, x_tables[a], x_tables[b])
        xs[a].copy_(torch.bmm(xs[b], w))


times = [timed(turn, torch.cuda.synchronize) for _ in range(rounds)]
report(digest(xs[0].cpu().numpy(), xs[1].cpu().numpy()), torch.cuda.max_memory_reserved(), turn=median(times[1:]))
