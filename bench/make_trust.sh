#!/bin/bash
# Makes a trust file of a framework's kernels (docs/trust.md), on the GPU that is there: audits programs, and puts what
# they saw into one file. What is put into runtime/observe/trust is built in.
#
# Usage: bench/make_trust.sh BUILD OUT.trust "WHAT IT IS OF" PATTERN... -- PROGRAM [-- PROGRAM]...
#   PATTERN   names of kernels that go into the file, as egrep has it; others are of the programs themselves
#   PROGRAM   one argument each, for bash
set -euo pipefail
build=${1:?BUILD} out=${2:?OUT} of=${3:?what it is of}
shift 3
patterns=()
while [[ ${1:---} != -- ]]; do patterns+=("$1"); shift; done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0
while [[ $# -gt 0 ]]; do
  [[ $1 != -- ]] || { shift; continue; }
  n=$((n + 1))
  echo "make_trust: $1" >&2
  "$build/bin/vramspan" audit --trust "$scratch/$n.trust" --output "$scratch/$n.txt" -- bash -c "$1" >&2 ||
    echo "make_trust: the audit of '$1' failed, and is left out" >&2
  shift
done
{
  echo "vramspan-trust 1"
  echo "of $of"
  # A code that several programs launched: launches add up, of the others the largest counts.
  cat "$scratch"/*.trust | grep '^kernel ' | awk '
    { name = $0; sub(/^kernel [^ ]+ [^ ]+ [^ ]+ [^ ]+ /, "", name); key = $5 " " name
      launches[key] += $2; if ($3 > sets[key]) sets[key] = $3; if ($4 > most[key]) most[key] = $4 }
    END { for (key in launches) print "kernel", launches[key], sets[key] + 0, most[key] + 0, key }' |
    grep -E "$(IFS='|'; echo "${patterns[*]}")" | LC_ALL=C sort -k6
} >"$out"
echo "make_trust: $(grep -c '^kernel' "$out") kernels in $out" >&2
