#!/bin/sh
# Usage: check_exports.sh LIBRARY
# The library exports nothing but the driver's names and its own controls, and needs only the C and C++
# runtimes (and those of a sanitizer).
set -eu
extra=$(nm -D --defined-only "$1" | awk '{print $3}' | grep -Ev '^(cu[A-Z]|simcuda[A-Z])' || true)
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libasan|libtsan|libubsan|ld-linux.*)\.so' || true)
soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ -z "$extra" ] || { echo "exports that are not the driver's: $extra"; exit 1; }
[ -z "$needed" ] || { echo "needs other libraries: $needed"; exit 1; }
[ "$soname" = libcuda.so.1 ] || { echo "its soname is '$soname', not libcuda.so.1"; exit 1; }
