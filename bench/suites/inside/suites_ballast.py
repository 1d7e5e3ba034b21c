"""Memory that a program holds and keeps using, beside what its tests take, so that device memory is short.

It belongs to the primary context, as the frameworks' memory does, and is asked of the driver itself. Each touch counts all
words of one buffer up, by turns. At the end all buffers are read: a wrong word is vramspan's fault, or a test's.
"""
import array
import ctypes

BUFFERS = 16
BLOCK = 256
# Fills and copies may be served where the memory is. A kernel wants it on the device.
COUNT_UP = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry suites_count_up(.param .u64 words, .param .u32 number)
{
    .reg .pred %past;
    .reg .b32 %r<7>;
    .reg .b64 %a<3>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [number];
    setp.ge.u32 %past, %r4, %r5;
    @%past bra end;
    ld.param.u64 %a1, [words];
    cvta.to.global.u64 %a1, %a1;
    mul.wide.u32 %a2, %r4, 4;
    add.u64 %a1, %a1, %a2;
    ld.global.u32 %r6, [%a1];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%a1], %r6;
end:
    ret;
}
\0"""


class Ballast:
    def __init__(self, size):
        self.each = (size // BUFFERS + 0x1FFFFF) & ~0x1FFFFF  # In whole chunks, so that it is not less in all.
        self.buffers = []  # [address, what each word is]
        self.touches = 0
        self.kernel = None  # None: the driver takes none (the simulated one), so words are set.
        if self.each:
            self.cuda = ctypes.CDLL("libcuda.so.1")
            self.context = ctypes.c_void_p()
            self._call("cuInit", 0)
            self._begin()

    def touch(self):
        """Counts the next buffer up. A context that a test has reset gets new ones. RuntimeError: it takes no more calls."""
        if not self.each:
            return
        at = self.touches % BUFFERS
        if not self._there(self.buffers[at]):
            self._begin()
        self._count_up(self.buffers[at])
        self.touches += 1

    def wrong_words(self):
        """How many words are not what was last written."""
        if not self.each:
            return 0
        self.touch()
        host, wrong = (ctypes.c_uint8 * self.each)(), 0
        for address, value in self.buffers:
            self._inside("cuMemcpyDtoH_v2", host, ctypes.c_uint64(address), ctypes.c_size_t(self.each))
            if bytes(host) != value.to_bytes(4, "little") * (self.each // 4):
                wrong += self.each // 4 - array.array("I", bytes(host)).count(value)
        return wrong

    def _begin(self):
        """Buffers and the kernel in the primary context as it is now."""
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.buffers = []
        for at in range(BUFFERS):
            address = ctypes.c_uint64()
            self._inside("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.each))
            self.buffers.append([address.value, at])
            self._set(self.buffers[at])
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self._inside("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(COUNT_UP))
            self._inside("cuModuleGetFunction", ctypes.byref(self.kernel), module, ctypes.c_char_p(b"suites_count_up"))
        except RuntimeError:
            self.kernel = None

    def _there(self, buffer):
        """Whether no test has reset the context since. The driver need not know what it is handed of a context that is gone."""
        flags, active, base, length = ctypes.c_uint(), ctypes.c_int(), ctypes.c_uint64(), ctypes.c_size_t()
        self._call("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
        if not active.value:
            return False
        try:
            self._inside("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(length), ctypes.c_uint64(buffer[0]))
        except RuntimeError:
            return False
        return (base.value, length.value) == (buffer[0], self.each)

    def _set(self, buffer):
        self._inside("cuMemsetD32_v2", ctypes.c_uint64(buffer[0]), ctypes.c_uint(buffer[1]), ctypes.c_size_t(self.each // 4))

    def _count_up(self, buffer):
        buffer[1] += 1
        if self.kernel is None:
            self._set(buffer)
        else:
            words, number = ctypes.c_uint64(buffer[0]), ctypes.c_uint32(self.each // 4)
            arguments = (ctypes.c_void_p * 2)(ctypes.addressof(words), ctypes.addressof(number))
            self._inside("cuLaunchKernel", self.kernel, (number.value + BLOCK - 1) // BLOCK, 1, 1, BLOCK, 1, 1, 0, None,
                         arguments, None)
        self._inside("cuCtxSynchronize")

    def _inside(self, name, *arguments):
        """A call in the context, whatever is current in this thread before and after."""
        self._call("cuCtxPushCurrent_v2", self.context)
        try:
            self._call(name, *arguments)
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: CUDA error {code}")
