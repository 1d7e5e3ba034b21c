#!/bin/sh
# Usage: check_exports.sh LIBRARY [SONAME PREFIX]
# The library has that soname and exports nothing but names of that prefix (a regular expression), by default
# the driver's and its own controls. It needs only the C and C++ runtimes (and those of a sanitizer).
set -eu
wanted=${2:-libcuda.so.1}
prefix=${3:-'(cu[A-Z]|simcuda[A-Z])'}
extra=$(nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | grep -Ev "^$prefix" || true)
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libasan|libtsan|libubsan|ld-linux.*)\.so' || true)
soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ -z "$extra" ] || { echo "exports that are not $prefix: $extra"; exit 1; }
[ -z "$needed" ] || { echo "needs other libraries: $needed"; exit 1; }
[ "$soname" = "$wanted" ] || { echo "its soname is '$soname', not $wanted"; exit 1; }
