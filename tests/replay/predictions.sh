#!/bin/bash
# Compares what replays of the shipped traces predict with tests/replay/predictions.tsv, to the last fetch and
# nanosecond: a rule that changed without meaning to shows here first.
#
# Usage: tests/replay/predictions.sh [--update] VRAMSPAN
#   --update   write the predictions anew; the commit says by how much each moved
set -euo pipefail
export LC_ALL=C
update=false
if [[ ${1:-} == --update ]]; then
  update=true
  shift
fi
vramspan=${1:?usage: predictions.sh [--update] VRAMSPAN}
here="$(cd "$(dirname "$0")" && pwd)"
kept="$here/predictions.tsv"
now=$(mktemp)
trap 'rm -f "$now"' EXIT

predict() {
  local trace overlap table
  printf 'trace\toverlap\tmemory_percent\tpolicy\tpredicted_ns\tfetches\tmoves_out\tserved_in_place\n'
  for trace in bfs gemm-chain llama sweep train train-half; do
    for overlap in off safe all; do
      table=$("$vramspan" replay "$here/../../examples/traces/$trace.vramspan" --format csv \
        --overlap "$overlap" --policy cost,lru --device-memory 75%,50%,25%)
      awk -F, -v OFS='\t' -v trace="$trace" '
        NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
        {
          ns = $at["predicted_ms"]
          sub(/[.]/, "", ns)  # Six digits behind the point.
          print trace, $at["overlap"], $at["device_memory_percent"], $at["policy"], ns, $at["fetches"],
                $at["moves_out"], $at["served_in_place"]
        }' <<<"$table"
    done
  done
}

predict >"$now"
if $update; then
  cp "$now" "$kept"
elif ! diff -u "$kept" "$now"; then
  echo "predictions: changed; if that is meant, tests/replay/predictions.sh --update $vramspan" >&2
  exit 1
fi
