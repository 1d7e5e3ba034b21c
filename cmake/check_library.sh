#!/bin/bash
# Checks what a shared library shows of itself: it exports exactly the functions that a public header
# declares with VRAMSPAN_API, needs nothing but the C library, and is never unloaded.
#
# Usage: cmake/check_library.sh LIBRARY HEADER...
set -euo pipefail
if [[ $# -lt 2 ]]; then
  echo "usage: $0 LIBRARY HEADER..." >&2
  exit 2
fi
library=$1
shift
bad=0
complain() {
  echo "$library: $*" >&2
  bad=1
}

declared=$(sed -nE 's/^VRAMSPAN_API .*[ *](vramspan[A-Za-z0-9_]+)\(.*/\1/p' "$@" | sort)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
[[ -n $declared ]] || complain "no function found in $*"
if ! difference=$(diff <(echo "$declared") <(echo "$exported")); then
  complain "declared (<) and exported (>) functions differ:"
  echo "$difference" >&2
fi

dynamic=$(readelf -dW "$library")
needed=$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' <<<"$dynamic")
for name in $needed; do
  case $name in
    libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-*.so.*) ;;
    *) complain "needs $name" ;;
  esac
done
grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" || complain "not linked with -z nodelete"
grep -q 'SONAME.*\[libvramspan\.so\.[0-9]*\]' <<<"$dynamic" ||
  complain "its soname is not libvramspan.so.MAJOR"

[[ $bad -eq 0 ]] || exit 1
echo "$(basename "$library"): $(wc -l <<<"$exported") functions exported, needs $(echo $needed)"
