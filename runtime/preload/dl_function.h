// VS_DL_FUNCTION(name): the exported dlsym or dlvsym, in both versions that programs are linked to.
// It asks `vramspan_answer_NAME`, which says whether it has decided, and goes on to what
// `vramspan_next_NAME` points to: by a jump, because that tells by the return address who asks, for
// RTLD_NEXT and for the libraries that only the caller sees.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_DL_FUNCTION_H_
#define VRAMSPAN_RUNTIME_PRELOAD_DL_FUNCTION_H_

#if defined(__x86_64__)
// clang-format off
#define VS_DL_FUNCTION(name)                                                          \
  __asm__(".text\n.p2align 4\n"                                                       \
          ".globl vramspan_" #name "\n.type vramspan_" #name ", %function\n"          \
          ".globl vramspan_old_" #name "\n.type vramspan_old_" #name ", %function\n"  \
          "vramspan_" #name ":\nvramspan_old_" #name ":\n"                            \
          ".cfi_startproc\n"                                                          \
          "push %rdi\n.cfi_adjust_cfa_offset 8\n"                                     \
          "push %rsi\n.cfi_adjust_cfa_offset 8\n"                                     \
          "push %rdx\n.cfi_adjust_cfa_offset 8\n"                                     \
          "call vramspan_answer_" #name "\n"                                          \
          "mov %rdx, %rcx\n"                                                          \
          "pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                     \
          "pop %rsi\n.cfi_adjust_cfa_offset -8\n"                                     \
          "pop %rdi\n.cfi_adjust_cfa_offset -8\n"                                     \
          "test %rcx, %rcx\n"                                                         \
          "jz 1f\n"                                                                   \
          "ret\n"                                                                     \
          "1: jmp *vramspan_next_" #name "(%rip)\n"                                   \
          ".cfi_endproc\n"                                                            \
          ".size vramspan_" #name ", .-vramspan_" #name "\n"                          \
          ".symver vramspan_" #name ", " #name "@@GLIBC_2.34\n"                       \
          ".symver vramspan_old_" #name ", " #name "@GLIBC_2.2.5\n")
#elif defined(__aarch64__)
#define VS_DL_FUNCTION(name)                                                          \
  __asm__(".text\n.p2align 4\n"                                                       \
          ".globl vramspan_" #name "\n.type vramspan_" #name ", %function\n"          \
          ".globl vramspan_old_" #name "\n.type vramspan_old_" #name ", %function\n"  \
          "vramspan_" #name ":\nvramspan_old_" #name ":\n"                            \
          ".cfi_startproc\n"                                                          \
          "stp x29, x30, [sp, #-48]!\n.cfi_adjust_cfa_offset 48\n"                    \
          ".cfi_offset 29, -48\n.cfi_offset 30, -40\n"                                \
          "stp x0, x1, [sp, #16]\n"                                                   \
          "str x2, [sp, #32]\n"                                                       \
          "bl vramspan_answer_" #name "\n"                                            \
          "mov x16, x0\nmov x17, x1\n"                                                \
          "ldp x0, x1, [sp, #16]\n"                                                   \
          "ldr x2, [sp, #32]\n"                                                       \
          "ldp x29, x30, [sp], #48\n.cfi_adjust_cfa_offset -48\n"                     \
          ".cfi_restore 29\n.cfi_restore 30\n"                                        \
          "cbz x17, 1f\n"                                                             \
          "mov x0, x16\n"                                                             \
          "ret\n"                                                                     \
          "1: adrp x16, vramspan_next_" #name "\n"                                    \
          "ldr x16, [x16, #:lo12:vramspan_next_" #name "]\n"                          \
          "br x16\n"                                                                  \
          ".cfi_endproc\n"                                                            \
          ".size vramspan_" #name ", .-vramspan_" #name "\n"                          \
          ".symver vramspan_" #name ", " #name "@@GLIBC_2.34\n"                       \
          ".symver vramspan_old_" #name ", " #name "@GLIBC_2.17\n")
#endif
// clang-format on

#endif  // VRAMSPAN_RUNTIME_PRELOAD_DL_FUNCTION_H_
