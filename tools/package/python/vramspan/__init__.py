"""More memory than the GPU has, at addresses that never change.

    vramspan.run(["python3", "train.py"], device_memory="50%")   # an unchanged program
    vramspan.torch.use_allocator()                               # PyTorch's allocations in this process
    vramspan.stats(), pin(tensor), unpin(tensor), prefetch(tensor), discard(tensor)   # where either is

Importing this starts nothing, and loads no library: each function does what it says when it is called.
"""
from ._files import binary_path, library_path, preload_path
from ._version import VERSION as __version__

_CALLS = ("Error", "discard", "pin", "prefetch", "stats", "unpin")
__all__ = ["binary_path", "library_path", "preload_path", "run", "torch", *_CALLS]


def run(program, *, check=False, **options):
    """Runs a program under vramspan, and returns its subprocess.CompletedProcess.

    `program` is a list of words. Options are those of `vramspan run --help`, with _ for -: device_memory="50%",
    stats=True. `check` is as in subprocess.run.
    """
    import subprocess

    return subprocess.run([binary_path(), "run", *_words(options), "--", *program], check=check)


def _words(options):
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            yield option
        elif value is not None and value is not False:
            yield from (option, str(value))


def __getattr__(name):
    import importlib

    if name == "torch":
        return importlib.import_module(".torch", __name__)
    if name in _CALLS:
        return getattr(importlib.import_module("._calls", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
