"""PyTorch's operators on the sample inputs of its own tests, forwards and backwards: suites_torch.py PART PARTS DTYPES SAMPLES.

Runs each PARTS-th operator from PART on. A test is an operator, a type and a direction. Its digest is of what came out of
its first SAMPLES samples, or "varies" if a second time gave other bits.
"""
import hashlib
import importlib.machinery
import importlib.util
import os
import random
import sys
import types
import unittest
import warnings

from suites_record import POISONED, Record

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
SEED = 1


def operators():
    """All of them, in an order that is the same every time."""
    if importlib.util.find_spec("expecttest") is None:  # PyTorch's tests want it, and its samples do not.
        stand_in = types.ModuleType("expecttest")
        stand_in.__spec__ = importlib.machinery.ModuleSpec("expecttest", None)
        stand_in.TestCase, stand_in.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db
    return sorted({named(op): op for op in op_db}.items())


def named(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def seed():
    random.seed(SEED)
    torch.manual_seed(SEED)
    numpy.random.seed(SEED)


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def digest(tree):
    h = hashlib.sha1()
    for leaf in pytree.tree_leaves(tree):
        if not isinstance(leaf, torch.Tensor):
            h.update(repr(leaf).encode())
            continue
        leaf = leaf.detach()
        leaf = leaf.to_dense() if leaf.layout != torch.strided else leaf
        h.update(f"{leaf.dtype}{tuple(leaf.shape)}".encode())
        bits = leaf.resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
        bits = torch.view_as_real(bits).reshape(-1) if bits.is_complex() else bits
        h.update(bits.view(torch.uint8).numpy().tobytes())
    return h.hexdigest()[:12]


def forward(op, sample):
    seed()
    out = op(sample.input, *sample.args, **sample.kwargs)
    return sample.output_process_fn_grad(out) if sample.output_process_fn_grad else out


def backward(op, sample):
    """The gradients of all inputs, by ones; None if there are none to be had."""
    inputs = [t for t in tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    outputs = [t for t in tensors(forward(op, sample)) if t.requires_grad]
    if not inputs or not outputs:
        return None
    return torch.autograd.grad(outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True)


def one(op, dtype, way, count):
    """The digest of a test."""
    digests = []
    for _ in range(2):
        seed()
        h, taken = hashlib.sha1(), 0
        for sample in op.sample_inputs("cuda", dtype, requires_grad=way is backward):
            h.update(digest(way(op, sample)).encode())
            taken += 1
            if taken == count:
                break
        digests.append(h.hexdigest()[:12])
    return digests[0] if digests[0] == digests[1] else "varies"


def test(record, name, op, dtype, way, count):
    supported = op.supported_backward_dtypes("cuda") if way is backward else op.supported_dtypes("cuda")
    name = f"{name} {str(dtype).removeprefix('torch.')} {way.__name__}"
    if dtype not in supported or name in record.done:
        return
    record.begin(name)
    try:
        record.end(name, "passed", digest=one(op, dtype, way, count))
        return
    except Exception as error:  # Whatever an operator raises is its result.
        text = f"{type(error).__name__}: {error}"
    print(f"{name}: {text}", flush=True)
    record.end(name, "failed", text[:400])
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        os._exit(POISONED)


def main():
    part, parts, dtypes, count = sys.argv[1:]
    sys.argv[1:] = []  # PyTorch's tests read it.
    global numpy, pytree, torch
    record = Record()
    import numpy
    import torch
    from torch.utils import _pytree as pytree
    warnings.simplefilter("ignore")
    torch.use_deterministic_algorithms(True, warn_only=True)
    for name, op in operators()[int(part)::int(parts)]:
        for dtype in dtypes.split(","):
            for way in (forward, backward):
                test(record, name, op, getattr(torch, dtype), way, int(count))
    record.close()


if __name__ == "__main__":
    main()
