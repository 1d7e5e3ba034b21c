"""The calls of include/vramspan/process.h, in whichever library backs this process's memory."""
import ctypes
import os

from ._files import library_path
from ._statistics import FIELDS

_INVALID_VALUE, _OUT_OF_MEMORY, _NOT_FOUND = 1, 2, 500


class Error(RuntimeError):
    """A call that failed. `code` is its CUresult."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class _Statistics(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in FIELDS]


class _Library:
    def __init__(self, library, prefix, message):
        self._library, self._prefix = library, prefix
        self._message = getattr(library, message)
        self._message.restype = ctypes.c_char_p

    def call(self, name, *args):
        """The CUresult, and the sentence for it."""
        code = getattr(self._library, self._prefix + name)(*args)
        return code, (self._message() or b"").decode() if code != 0 else ""


def _libraries():
    """Those that are in this process already: none is loaded here."""
    process = ctypes.CDLL(None)
    if hasattr(process, "vramspanPreloadStatistics"):
        yield _Library(process, "vramspanPreload", "vramspanPreloadLastErrorMessage")
    if hasattr(process, "vramspanProcessStatistics"):
        yield _Library(process, "vramspanProcess", "vramspanLastErrorMessage")
    # One that a program was linked with or has opened has the name, and need not be this package's.
    path = library_path()
    handles = set()
    for name in (os.path.basename(path), path):
        try:
            own = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LOCAL | os.RTLD_NOW)
        except OSError:
            continue
        if own._handle not in handles and hasattr(own, "vramspanProcessStatistics"):
            handles.add(own._handle)
            yield _Library(own, "vramspanProcess", "vramspanLastErrorMessage")


def _call(name, *args):
    code, message = _NOT_FOUND, (
        "vramspan is not in this process; start it with `vramspan run`, or call vramspan.torch.use_allocator()")
    for library in _libraries():
        code, message = library.call(name, *args)
        if code != _NOT_FOUND:
            break
    if code == 0:
        return
    kind = {_INVALID_VALUE: ValueError, _OUT_OF_MEMORY: MemoryError, _NOT_FOUND: LookupError}.get(code)
    raise _error(kind)(code, message)


def _error(kind):
    """An Error that is also what Python calls such an error."""
    return Error if kind is None else type("Error", (Error, kind), {"__module__": "vramspan"})


def _range(memory, size):
    """Address and bytes of a PyTorch tensor, a CuPy array, or of what is given as numbers."""
    if size is not None:
        return ctypes.c_uint64(int(memory)), ctypes.c_size_t(int(size))
    if hasattr(memory, "untyped_storage"):
        # A view's elements may lie anywhere in its storage.
        whole = memory if memory.is_contiguous() else memory.untyped_storage()
        return ctypes.c_uint64(whole.data_ptr()), ctypes.c_size_t(
            whole.numel() * whole.element_size() if whole is memory else whole.nbytes())
    if hasattr(memory, "data") and hasattr(memory.data, "ptr"):
        if memory.flags.c_contiguous:
            return ctypes.c_uint64(memory.data.ptr), ctypes.c_size_t(memory.nbytes)
        # So may the elements of an array with strides, before its pointer too.
        return ctypes.c_uint64(memory.data.mem.ptr), ctypes.c_size_t(memory.data.mem.size)
    raise TypeError(f"{type(memory).__name__} is neither a tensor nor an array; give an address and a size")


def stats(device=0):
    """What vramspan did on a device, as a dict: the fields of vramspanStatistics (vramspan.h)."""
    statistics = _Statistics(struct_size=ctypes.sizeof(_Statistics))
    _call("Statistics", ctypes.c_int(device), ctypes.byref(statistics))
    return {name: getattr(statistics, name) for name in FIELDS}


def pin(memory, size=None):
    """Fetches the memory if needed, and keeps it on the device until `unpin`. MemoryError if the budget has no room.

    `memory` is a tensor, an array, or an address with a size.
    """
    _call("Pin", *_range(memory, size))


def unpin(memory, size=None):
    """Takes one `pin` back."""
    _call("Unpin", *_range(memory, size))


def prefetch(memory, size=None, *, to="device", stream=0):
    """Moves the memory in the background: after what the stream holds, and before what comes next in it.

    `to` is "device" or "host". `stream` is a CUDA stream as a number: torch.cuda.current_stream().cuda_stream.
    """
    places = {"device": 0, "host": 1}
    if to not in places:
        raise ValueError(f"to is {to!r}; use 'device' or 'host'")
    _call("Prefetch", *_range(memory, size), ctypes.c_int(places[to]), ctypes.c_void_p(stream))


def discard(memory, size=None, *, stream=0):
    """What is in the memory is not wanted any more, until something is written there: moving it costs no copy.

    `memory` is a contiguous tensor or array, or an address with a size. `stream` is as in `prefetch`.
    """
    if size is None and not _contiguous(memory):
        # The range of its elements has those of others in it.
        raise ValueError("memory is not contiguous, so what lies between its elements would be discarded as well")
    _call("Discard", *_range(memory, size), ctypes.c_void_p(stream))


def _contiguous(memory):
    if hasattr(memory, "is_contiguous"):
        return memory.is_contiguous()
    return not hasattr(memory, "flags") or memory.flags.c_contiguous
