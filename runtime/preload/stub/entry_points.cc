// The entries as symbols: what the loader binds programs to, in the order of entries.cc.
//
// Each entry names itself by a number. It leaves all registers that carry arguments as they are.
#if defined(__x86_64__)
#define VS_NUMBERED(number) "mov $" number ", %r11d\njmp vramspan_stub_enter\n"
__asm__(
    ".text\n.p2align 4\n"
    ".type vramspan_stub_enter, %function\n"
    "vramspan_stub_enter:\n"
    ".cfi_startproc\n"
    "lea vramspan_stub_slots(%rip), %r10\n"
    "mov (%r10,%r11,8), %r10\n"
    "test %r10, %r10\n"
    "jz 1f\n"
    "jmp *%r10\n"
    "1:\n"
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n"
    ".cfi_adjust_cfa_offset 56\n"
    "sub $128, %rsp\n"
    ".cfi_adjust_cfa_offset 128\n"
    "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"
    "movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\n"
    "movups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
    "mov %r11, %rdi\n"
    "call vramspan_stub_resolve\n"
    "mov %rax, %r11\n"
    "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\n"
    "movups 48(%rsp), %xmm3\nmovups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\n"
    "movups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"
    "add $128, %rsp\n"
    ".cfi_adjust_cfa_offset -128\n"
    "pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
    ".cfi_adjust_cfa_offset -56\n"
    "jmp *%r11\n"
    ".cfi_endproc\n"
    ".size vramspan_stub_enter, .-vramspan_stub_enter\n");
#elif defined(__aarch64__)
#define VS_NUMBERED(number) "mov w17, #" number "\nb vramspan_stub_enter\n"
__asm__(
    ".text\n.p2align 4\n"
    ".type vramspan_stub_enter, %function\n"
    "vramspan_stub_enter:\n"
    ".cfi_startproc\n"
    "adrp x16, vramspan_stub_slots\n"
    "add x16, x16, #:lo12:vramspan_stub_slots\n"
    "ldr x16, [x16, x17, lsl #3]\n"
    "cbz x16, 1f\n"
    "br x16\n"
    "1:\n"
    "stp x29, x30, [sp, #-208]!\n"
    ".cfi_adjust_cfa_offset 208\n.cfi_offset 29, -208\n.cfi_offset 30, -200\n"
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\n"
    "stp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n"
    "stp q0, q1, [sp, #80]\nstp q2, q3, [sp, #112]\n"
    "stp q4, q5, [sp, #144]\nstp q6, q7, [sp, #176]\n"
    "mov x0, x17\n"
    "bl vramspan_stub_resolve\n"
    "mov x16, x0\n"
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\n"
    "ldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n"
    "ldp q0, q1, [sp, #80]\nldp q2, q3, [sp, #112]\n"
    "ldp q4, q5, [sp, #144]\nldp q6, q7, [sp, #176]\n"
    "ldp x29, x30, [sp], #208\n"
    ".cfi_adjust_cfa_offset -208\n.cfi_restore 29\n.cfi_restore 30\n"
    "br x16\n"
    ".cfi_endproc\n"
    ".size vramspan_stub_enter, .-vramspan_stub_enter\n");
#else
#error "the stub has no entries for this architecture"
#endif

// In the order of `Entry` (entries.cc), which the compiler does not tell the assembler.
__asm__(
    ".set vramspan_stub_number, 0\n"
    ".text\n.p2align 4\n"
    ".globl vramspan_stub_first_entry\n.hidden vramspan_stub_first_entry\n"
    "vramspan_stub_first_entry:\n");
#define VS_ENTRY(name)                                                                       \
  __asm__(".globl " name "\n.type " name ", %function\n.p2align 4\n" name ":\n" VS_NUMBERED( \
      "vramspan_stub_number") ".size " name ", .-" name                                      \
                              "\n"                                                           \
                              ".set vramspan_stub_number, vramspan_stub_number + 1\n");
#define VS_HOOK(base, version, symbol, hook) VS_ENTRY(#symbol)
#include "runtime/preload/hooks.inc"
#undef VS_HOOK
VS_ENTRY("nvmlDeviceGetMemoryInfo")
VS_ENTRY("nvmlDeviceGetMemoryInfo_v2")
VS_ENTRY("vramspan_stub_cuptiSubscribe")
VS_ENTRY("vramspan_stub_cuptiSubscribe_v2")
VS_ENTRY("vramspan_stub_cuptiFinalize")
__asm__(
    ".globl vramspan_stub_last_entry\n.hidden vramspan_stub_last_entry\n"
    "vramspan_stub_last_entry:\n");

// What was linked to CUPTI asks for a name in the version that CUPTI gives it, its soname.
#define VS_VERSION(name, version, tag)                                              \
  __asm__(".globl vramspan_stub_" name "_" tag "\n.set vramspan_stub_" name "_" tag \
          ", vramspan_stub_" name "\n.symver vramspan_stub_" name "_" tag ", " name version "\n")
VS_VERSION("cuptiSubscribe", "@@VRAMSPAN_STUB_1", "default");
VS_VERSION("cuptiSubscribe", "@libcupti.so.12", "12");
VS_VERSION("cuptiSubscribe", "@libcupti.so.13", "13");
VS_VERSION("cuptiSubscribe_v2", "@@VRAMSPAN_STUB_1", "default");
VS_VERSION("cuptiSubscribe_v2", "@libcupti.so.13", "13");
VS_VERSION("cuptiFinalize", "@@VRAMSPAN_STUB_1", "default");
VS_VERSION("cuptiFinalize", "@libcupti.so.12", "12");
VS_VERSION("cuptiFinalize", "@libcupti.so.13", "13");
