#!/bin/bash
# Checks what the preload shows of itself. It exports these, and nothing else:
#   - the entry points that are to be hooked, a list of X(base, version, symbol);
#   - NVML's memory info, CUPTI's subscription, and what PyTorch's allocator reports its blocks to;
#   - what the program may ask;
#   - the loader's look-up functions, in the versions that programs are linked to;
#   - what keeps it out of programs for musl.
# It needs nothing but the C library, whose start of a program it refers to. It is never unloaded.
#
# Usage: cmake/check_preload.sh LIBRARY LIST
set -euo pipefail
if [[ $# -ne 2 ]]; then
  echo "usage: $0 LIBRARY LIST" >&2
  exit 2
fi
library=$1
list=$2
bad=0
complain() {
  echo "$library: $*" >&2
  bad=1
}

rows=$(sed -nE 's/^X\([A-Za-z0-9_]+, [0-9]+, ([A-Za-z0-9_]+)\)$/\1/p' "$list" | sort)
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
# Not this machine's: packages are cross-compiled.
case $(LC_ALL=C readelf -h "$library" | sed -n 's/^ *Machine: *//p') in
  *X86-64) first=GLIBC_2.2.5 ;;
  *) first=GLIBC_2.17 ;;
esac
versions="$first GLIBC_2.34"
wanted=$(
  printf '%s\n' "$rows" nvmlDeviceGetMemoryInfo nvmlDeviceGetMemoryInfo_v2 \
      cuptiFinalize cuptiSubscribe cuptiSubscribe_v2 \
      _ZN3c1027reportMemoryUsageToProfilerEPv{lll,lmm}NS_6DeviceE \
      vramspanPreload{Discard,LastErrorMessage,Pin,Prefetch,StandAside,StandBehind,Statistics,Unpin} |
    sed 's/$/@@VRAMSPAN_PRELOAD_1/'
  printf '%s\n' {__libc_start_main,stdin}@@VRAMSPAN_NOT_FOR_MUSL
  printf '%s\n' {cuptiFinalize,cuptiSubscribe}@libcupti.so.1{2,3} cuptiSubscribe_v2@libcupti.so.13
  for version in $versions; do
    at=@
    [[ $version != GLIBC_2.34 ]] || at=@@
    printf '%s\n' "dlsym$at$version" "dlvsym$at$version"
  done
)
[[ $(wc -l <<<"$rows") -gt 100 ]] || complain "no symbols found in $list"
if ! difference=$(diff <(sort <<<"$wanted") <(echo "$exported")); then
  complain "wanted (<) and exported (>) symbols differ:"
  echo "$difference" >&2
fi

# Else a program that asks for no version starts in a loop (runtime/preload/not_for_musl.cc).
undefined=$(nm -D --undefined-only "$library" | awk '{ print $2 }')
grep -qxF "__libc_start_main@$first" <<<"$undefined" || complain "does not refer to __libc_start_main@$first"

dynamic=$(readelf -dW "$library")
needed=$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' <<<"$dynamic")
for name in $needed; do
  case $name in
    libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*.so.*) ;;
    *) complain "needs $name" ;;
  esac
done
grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" || complain "not linked with -z nodelete"
grep -q 'SYMBOLIC' <<<"$dynamic" || complain "not linked with -Bsymbolic"

[[ $bad -eq 0 ]] || exit 1
echo "$(basename "$library"): $(wc -l <<<"$exported") symbols exported, needs $(echo $needed)"
