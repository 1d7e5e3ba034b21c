#!/bin/bash
# Checks what the stub shows of itself. It exports what the preload does, and dl_iterate_phdr. Not what keeps that out of
# programs for musl, nor what PyTorch's allocator reports to: it would come here for every block in host memory. The stub
# needs no library, no symbol and no version: the loader's list of libraries may be missing. It is small, it is never
# unloaded, and the loader has next to nothing to write into it.
#
# Usage: cmake/check_stub.sh STUB PRELOAD
set -euo pipefail
if [[ $# -ne 2 ]]; then
  echo "usage: $0 STUB PRELOAD" >&2
  exit 2
fi
stub=$1
bad=0
complain() {
  echo "$stub: $*" >&2
  bad=1
}
exports() {
  nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@*VRAMSPAN_.*_1$//' | sort
}
wanted=$(exports "$2" | grep -vE '@VRAMSPAN_NOT_FOR_MUSL$|^(stdin|__libc_start_main)|^vramspanPreload|^_ZN3c10' || true)
wanted+=$'\nvramspanPreloadStandAside'
[[ $(wc -l <<<"$wanted") -gt 200 ]] || complain "no symbols found in $2"
if ! difference=$(diff <(sort <<<"$wanted") <(exports "$stub" | grep -v '^dl_iterate_phdr@@GLIBC_2[.0-9]*$')); then
  complain "wanted (<) and exported (>) symbols differ:"
  echo "$difference" >&2
fi
grep -q '^dl_iterate_phdr@@GLIBC_2[.0-9]*$' <<<"$(exports "$stub")" || complain "does not export dl_iterate_phdr"

undefined=$(nm -D --undefined-only "$stub" | sed 's/^ *//')
[[ $undefined == "w _r_debug" ]] || complain "refers to: $undefined"
dynamic=$(readelf -dW "$stub")
for entry in NEEDED VERNEED TEXTREL; do
  ! grep -q "($entry)" <<<"$dynamic" || complain "has an entry $entry"
done
grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" || complain "not linked with -z nodelete"
grep -q 'SYMBOLIC' <<<"$dynamic" || complain "not linked with -Bsymbolic"
relocations=$(readelf -rW "$stub" | grep -c ' R_')
[[ $relocations -le 8 ]] || complain "has $relocations relocations"
loaded=0
for size in $(readelf -lW "$stub" | awk '$1 == "LOAD" { print $6 }'); do loaded=$((loaded + size)); done
[[ $loaded -gt 0 && $loaded -le 49152 ]] || complain "takes $loaded bytes of memory"

[[ $bad -eq 0 ]] || exit 1
echo "$(basename "$stub"): $(exports "$stub" | wc -l) symbols exported, $loaded bytes, needs nothing"
