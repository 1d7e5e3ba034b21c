#!/bin/bash
# Makes the texts NAME.sm_*.sass of NAME.cu: what nvdisasm says, less what is not read of it.
#
# Usage: tests/prove/code/make.sh    (nvcc and nvdisasm in PATH)
set -euo pipefail
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in arrays pointers; do
for sm in 75 80 90 100; do
  nvcc -w -O2 -arch=sm_$sm -cubin -o "$scratch/cubin" $name.cu
  nvdisasm "$scratch/cubin" | awk '
    /^\t\.target/ { print }
    /^\t\.section[ \t]/ { code = /\.text\./; names = /\.nv\.constant4/; if (code || names) print }
    names && /\.dword/ { print }
    code && (/\.other/ || /^[^ \t].*:$/ || (/^ *\/\*.*;/ && !/ NOP *;/)) { sub(/^ +/, " "); gsub(/ +/, " "); print }
  ' > $name.sm_$sm.sass
done
done
