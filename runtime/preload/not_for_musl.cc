// musl's loader leaves this library alone.
//
// It cannot be loaded by musl: it needs functions that only glibc has, and musl's loader ends a
// program with code 127 where one is missing, also in a library that was only preloaded. But what
// defines both of the symbols below musl takes for a C library, puts its own in its place, and goes
// on (load_library in its ldso/dynlink.c). So programs for musl, and what glibc's start of them,
// run as without us.
//
// To glibc both are symbols of a version that nobody asks for. Who asks for none at all, an old
// program or dlsym, is led to glibc's own: by the jump, by the value, and by AnswerFor.
#include "runtime/preload/not_for_musl.h"

extern "C" {

// What glibc's `stdin` points to before the program changes it.
extern struct _IO_FILE_plus _IO_2_1_stdin_;
__attribute__((used, visibility("default"))) void* vramspan_stdin = &_IO_2_1_stdin_;

__attribute__((visibility("default"))) extern const char vramspan_libc_start_main[];

#if defined(__x86_64__)
__asm__(
    ".text\n.p2align 4\n"
    ".globl vramspan_libc_start_main\n.type vramspan_libc_start_main, %function\n"
    "vramspan_libc_start_main:\n"
    "jmp *vramspan_real_start_main@GOTPCREL(%rip)\n"
    ".size vramspan_libc_start_main, .-vramspan_libc_start_main\n"
    ".symver vramspan_real_start_main, __libc_start_main@GLIBC_2.2.5\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\n"
    ".globl vramspan_libc_start_main\n.type vramspan_libc_start_main, %function\n"
    "vramspan_libc_start_main:\n"
    "adrp x16, :got:vramspan_real_start_main\n"
    "ldr x16, [x16, :got_lo12:vramspan_real_start_main]\n"
    "br x16\n"
    ".size vramspan_libc_start_main, .-vramspan_libc_start_main\n"
    ".symver vramspan_real_start_main, __libc_start_main@GLIBC_2.17\n");
#endif
__asm__(
    ".symver vramspan_libc_start_main, __libc_start_main@@VRAMSPAN_NOT_FOR_MUSL\n"
    ".symver vramspan_stdin, stdin@@VRAMSPAN_NOT_FOR_MUSL\n");
}

namespace vramspan::preload {
namespace {

// Not strcmp: a sanitizer that wraps it is only about to look for the real one.
bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace

bool IsForMusl(const char* name) {
  return Equal(name, "stdin") || Equal(name, "__libc_start_main");
}

bool IsForMusl(const void* found) {
  return found == &vramspan_stdin || found == vramspan_libc_start_main;
}

}  // namespace vramspan::preload
