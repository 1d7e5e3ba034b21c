#!/bin/bash
# check.sh finds what it is there for: a newer symbol, a library of the compiler's, a table that the linker broke. And
# takes what is linked to the stubs.
#
# Usage: cmake/old_glibc/check_test.sh COMPILER
set -euo pipefail
compiler=$1
here=$(cd "$(dirname "$0")" && pwd)
check=$here/check.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for source in "$here"/*.cc; do
  "$compiler" -std=c++20 -O2 -fPIC -fno-stack-protector -fno-exceptions -c "$source" -o "$work/$(basename "$source").o"
done
ar rcs "$work/compat.a" "$work"/*.o
stubs=$work/stubs
"$here/stubs.sh" 2.28 "$stubs" "$work/compat.a" "$compiler"

# fstat is of glibc 2.33, or of what stands beside this file.
cat >"$work/new.cc" <<'CODE'
#include <sys/stat.h>
#include <cstdio>
int ran_before_main = 0;
struct Constructor {
  Constructor() { ran_before_main = 1; }
} constructor;
int main() {
  struct stat of_file{};
  if (fstat(0, &of_file) != 0 || of_file.st_ino == 0) return 1;
  try {
    throw ran_before_main;
  } catch (int caught) {
    return caught == 1 ? 0 : 2;
  }
}
CODE
"$compiler" -w "$work/new.cc" -o "$work/plain"
"$compiler" -w "$work/new.cc" -o "$work/shipped" -L "$stubs" -static-libstdc++ -static-libgcc

fails_with() {
  local said
  if said=$("$check" "$1" "$2" 2>&1); then
    echo "check.sh takes $2 for $1" >&2
    exit 1
  fi
  [[ $said == *"$3"* ]] || { echo "check.sh says '$said', not '$3'" >&2; exit 1; }
}
fails_with 2.28 "$work/plain" "needs the library libstdc++.so.6"
fails_with 2.28 "$work/plain" "needs GLIBC_2.34, for __libc_start_main"
fails_with 2.1 "$work/shipped" "needs GLIBC_2.2.5, for "
"$check" 2.28 "$work/shipped"
"$work/shipped" <"$0"

# Where this glibc finds the library of an address itself, nothing lists them. And random numbers come where the kernel's
# call is refused.
cat >"$work/own.cc" <<'CODE'
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <sys/types.h>
static int lists = 0, refusals = 0;
extern "C" int dl_iterate_phdr(int (*)(dl_phdr_info*, size_t, void*), void*) { return ++lists, 0; }
extern "C" ssize_t __wrap_getrandom(void*, size_t, unsigned) { return ++refusals, errno = ENOSYS, -1; }
extern "C" uint32_t arc4random();
int main() {
  if (dlerror() != nullptr) return 3;
  if (dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35") != nullptr) {
    try {
      throw 1;
    } catch (int) {
    }
    if (lists != 0) return 1;
  }
  uint32_t seen = 0;
  for (int i = 0; i < 8; ++i) seen |= arc4random();
  return seen != 0 && refusals == 8 ? 0 : 2;
}
CODE
"$compiler" "$work/own.cc" -o "$work/own" -L "$stubs" -static-libstdc++ -static-libgcc -Wl,--wrap=getrandom
"$check" 2.28 "$work/own"
"$work/own" || { echo "own.cc ends with $?" >&2; exit 1; }

# glibc has pthread_atfork for old programs only; new ones have it from an archive.
printf '#include <pthread.h>\nint main() { return pthread_atfork(nullptr, nullptr, nullptr); }\n' >"$work/fork.cc"
"$compiler" "$work/fork.cc" -o "$work/fork" -L "$stubs"
"$check" 2.28 "$work/fork"
"$work/fork"
refers=$(nm -D --undefined-only "$work/fork")
[[ $refers != *pthread_atfork* ]] || { echo "pthread_atfork is not the archive's" >&2; exit 1; }

# What exports a symbol under a version of its own can refer to glibc's.
root=$here/../..
"$compiler" -std=c++20 -O2 -fPIC -I"$root" -c "$root/runtime/preload/not_for_musl.cc" -o "$work/hook.o"
echo 'VRAMSPAN_NOT_FOR_MUSL { global: __libc_start_main; stdin; local: *; };' >"$work/hook.map"
link_hook() {
  "$compiler" -shared "$work/hook.o" -L "$stubs" -Wl,--version-script="$work/hook.map" -o "$work/$1"
}
link_hook hook.so
refers=$(nm -D --undefined-only "$work/hook.so")
[[ $refers == *__libc_start_main@GLIBC_2.* ]] || { echo "hook.so does not refer to glibc's start" >&2; exit 1; }
"$check" 2.28 "$work/hook.so"
# Stubs for an empty COMPAT let the linker take one for the other.
ar rcs "$work/empty.a"
"$here/stubs.sh" 2.28 "$stubs" "$work/empty.a" "$compiler"
link_hook broken.so
fails_with 2.28 "$work/broken.so" "symbol "
