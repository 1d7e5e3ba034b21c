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
{
  while [[ $# -gt 0 ]]; do
    [[ $1 == -- ]] || printf 'echo "make_trust: "%q >&2\nbash -c %q || echo "make_trust: it failed" >&2\n' "$1" "$1"
    shift
  done
} >"$scratch/programs.sh"
# One audit of all: what is known of a code adds up.
"$build/bin/vramspan" audit --trust "$scratch/all.trust" --output "$scratch/all.json" --format json -- \
  bash "$scratch/programs.sh" >&2
{
  echo "vramspan-trust 1"
  echo "of $of"
  # What launches were given tells of the program's sizes. Other programs have others.
  grep -E '^(kernel|arrays) ' "$scratch/all.trust" | grep -E "$(IFS='|'; echo "${patterns[*]}")" | LC_ALL=C sort -k6
} >"$out"
python3 - "$scratch/all.json" >&2 <<'EOF'
import collections, json, sys
levels = collections.Counter()
for kernel in json.load(open(sys.argv[1]))["kernels"]:
    levels[kernel["level"], kernel["doubtful_launches"] > 0] += 1
for (level, doubtful), count in sorted(levels.items()):
    print(f"make_trust: {count:5} {level}{' with doubtful launches' if doubtful else ''}")
EOF
echo "make_trust: $(grep -c '^kernel' "$out") kernels in $out" >&2
