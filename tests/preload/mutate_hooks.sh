#!/bin/bash
# Takes one row out of runtime/preload/hooks_*.inc at a time and says whether a test misses it: what
# the program sees of the call must change, so the tests of the table itself do not count.
# Not part of CI: half a minute a row.
#
# usage: tests/preload/mutate_hooks.sh BUILD [SYMBOL...]    (in a clean tree; all rows by default)
set -uo pipefail
build=${1:?usage: mutate_hooks.sh BUILD [SYMBOL...]}
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
tests=(preload_test preload_chain_test)
symbols=("$@")
if [ $# -eq 0 ]; then
  mapfile -t symbols < <(sed -n 's/^X(.*, \(\w*\))$/\1/p' "$root/tests/preload/hooked_symbols.inc")
fi

copy=$(mktemp -d)
cp "$root"/runtime/preload/hooks_*.inc "$copy"
restore() { cp "$copy"/* "$root/runtime/preload/"; }
trap 'restore; rm -rf "$copy"' EXIT

missing_is_seen() {
  for test in "${tests[@]}"; do
    timeout -s KILL 900 "$build/bin/$test" --gtest_fail_fast --gtest_filter=-Preload.HooksAllOfTheTable* \
      </dev/null >"$copy.log" 2>&1 && continue
    killer=$(sed -n 's/^\[  FAILED  \] \(\S*\).*/\1/p' "$copy.log" | head -1)
    return 0
  done
  return 1
}

survivors=0
for symbol in "${symbols[@]}"; do
  sed -i "/^VS_[A-Z_]*([A-Za-z0-9]*, [0-9]*, ${symbol}[,)]/d" "$root"/runtime/preload/hooks_*.inc
  if ! ninja -C "$build" vramspan_preload >"$copy.log" 2>&1; then
    echo "does not build without $symbol" >&2
    exit 2
  elif missing_is_seen; then
    echo "seen      $symbol  by $killer"
  else
    echo "NOT SEEN  $symbol"
    survivors=$((survivors + 1))
  fi
  restore
done
ninja -C "$build" vramspan_preload >/dev/null
rm -f "$copy.log"
echo "$survivors rows are missed by no test"
[ "$survivors" -eq 0 ]
