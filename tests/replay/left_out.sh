#!/bin/bash
# Compares what two builds of vramspan predict, as one with a rule and one without: by trace the geometric mean, the
# most that a prediction got slower, and the most that one got faster. The first lines are of the old build with a
# little less memory: what is no more than these says nothing (docs/findings/0061-what-each-rule-is-worth.md).
#
# Usage: tests/replay/left_out.sh OLD NEW [TRACE...]    (default: the traces of examples/traces)
set -euo pipefail
export LC_ALL=C
usage='usage: left_out.sh OLD NEW [TRACE...]'
old=${1:?$usage} new=${2:?$usage}
shift 2
if [[ $# == 0 ]]; then
  set -- "$(dirname "$0")"/../../examples/traces/*.vramspan
fi

# Lines of the trace, how much may move, a place in the list of sizes, and nanoseconds.
predict() {
  local vramspan=$1 memory=$2 trace overlap
  for trace in "${@:3}"; do
    for overlap in off safe all auto; do
      "$vramspan" replay "$trace" --format csv --overlap "$overlap" --policy cost --device-memory "$memory" \
        2>/dev/null | awk -F, -v OFS='\t' -v trace="$(basename "$trace" .vramspan)" '
          NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
          { print trace, $at["overlap"], NR, $at["predicted_ms"] }'
    done
  done
}

# Of two such files.
compare() {
  awk -F'\t' -v what="$1" '
    function line(of) {
      printf "%s\t%s\t%d predictions\t%.4f\t%.3f\t%.3f\n", what, of, count[of], exp(logs[of] / count[of]), most[of],
             least[of]
    }
    function add(of, times) {
      if (!count[of]++) most[of] = least[of] = times
      logs[of] += log(times)
      if (times > most[of]) most[of] = times
      if (times < least[of]) least[of] = times
    }
    NR == FNR { before[$1, $2, $3] = $4; next }
    ($1, $2, $3) in before { add($1, $4 / before[$1, $2, $3]); add("all", $4 / before[$1, $2, $3]) }
    END { for (of in count) line(of) }' "$2" "$3" | sort
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
predict "$old" 75%,50%,25% "$@" >"$folder/old"
predict "$old" 74.9%,49.9%,24.9% "$@" >"$folder/less"
predict "$new" 75%,50%,25% "$@" >"$folder/new"
compare "less memory" "$folder/old" "$folder/less"
compare "new" "$folder/old" "$folder/new"
