#!/bin/bash
# Checks that binaries run with an old glibc: none needs a symbol of a version newer than VERSION, nor any library
# but the C library. Names the binary, the symbol and its version. Nor do readelf and nm warn of its table of symbols.
#
# Usage: cmake/old_glibc/check.sh VERSION BINARY...
set -euo pipefail
if [[ $# -lt 2 ]]; then
  echo "usage: $0 VERSION BINARY..." >&2
  exit 2
fi
limit=$1
shift
bad=0
complain() {
  echo "$*" >&2
  bad=1
}

newest=0
for binary; do
  warnings=$({ readelf --dyn-syms -W "$binary" && nm -D "$binary"; } 2>&1 >/dev/null) || warnings+=" (failed)"
  [[ -z $warnings ]] || complain "$binary: $warnings"
  dynamic=$(readelf -dW "$binary")
  for name in $(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' <<<"$dynamic"); do
    case $name in
      libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-*.so.*) ;;
      *) complain "$binary: needs the library $name" ;;
    esac
  done
  # Versions that are needed, those that no symbol names among them (GLIBC_ABI_DT_RELR).
  versions=$(readelf -VW "$binary" | sed -nE '/^Version needs/,/^Version [^n]/s/.* Name: ([^ ]+) .*/\1/p' | sort -u)
  for version in $versions; do
    number=${version#GLIBC_}
    if [[ $version == GLIBC_[0-9]* && $(printf '%s\n' "$number" "$limit" | sort -V | tail -n 1) == "$limit" ]]; then
      newest=$(printf '%s\n' "$number" "$newest" | sort -V | tail -n 1)
      continue
    fi
    symbols=$(readelf --dyn-syms -W "$binary" | awk -v version="$version" '
      { split($8, part, /@+/); if (part[2] == version) print part[1] }')
    complain "$binary: needs $version, for ${symbols:-the file itself}"
  done
done
[[ $bad -eq 0 ]] || exit 1
echo "$# binaries need glibc $newest and nothing else"
