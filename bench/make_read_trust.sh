#!/bin/bash
# Makes a trust file of what programs load, by reading its machine code (docs/trust.md). It needs no counters. What is put
# into runtime/observe/trust is built in. Programs of our own make no sense there: nobody else has their images.
#
# Usage: bench/make_read_trust.sh BUILD OUT.trust "WHAT IT IS OF" PROGRAM...
#   PROGRAM   one argument each, for bash; all run at once
set -euo pipefail
build=${1:?BUILD} out=${2:?OUT} of=${3:?what it is of}
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
  for program in "$@"; do
    printf '{ bash -c %q || echo "make_read_trust: it failed: "%q >&2; } &\n' "$program" "$program"
  done
  echo wait
} >"$scratch/programs.sh"
"$build/bin/vramspan" prove --trust "$scratch/all.trust" -- bash "$scratch/programs.sh" >&2
{
  echo "vramspan-trust 1"
  echo "of $of"
  grep -E '^(read|image|unread) ' "$scratch/all.trust"
} >"$out"
echo "make_read_trust: $(grep -c -E '^(read|image) ' "$out") lines of code that is proven, in $out" >&2
