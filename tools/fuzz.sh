#!/bin/bash
# Searches with the fuzz targets of tests/fuzz, keeps what is new, and adds up how much was run.
#
# Usage: tools/fuzz.sh --hours N [-j JOBS] [TARGET...]
#   --hours N   how long in all, as 2 or 0.5; each target gets the same part of it
#   -j JOBS     targets at once (default: the number of processors)
#   TARGET      as in tests/fuzz/corpus: trace, ipc, ... (default: all)
#
# Each target starts from its corpus, tests/fuzz/corpus/TARGET, and from what earlier searches of this folder found
# (build/fuzz/found/TARGET). Afterwards its corpus keeps the smallest inputs that reach the same code, of 4 KiB at most
# each. Inputs that a person has named stay. An input that breaks the target is made smaller for a minute, and stays as
# broke-HASH. Every build then runs it as a test, which fails until the fault is mended.
#
# tests/fuzz/runs.tsv says how many runs each target has had in all, and when the last was.
# Exit status: 0 if no target broke, 1 if one did, 2 for a wrong option. Example: tools/fuzz.sh --hours 0.5 trace
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "fuzz: $*" >&2
  exit 2
}

hours=
jobs=$(nproc)
targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --hours)
      [[ ${2:-} =~ ^[0-9]*\.?[0-9]+$ && ${2:-} =~ [1-9] ]] || die "--hours takes a number above 0, not '${2:-}'"
      hours=$2
      shift
      ;;
    -j)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "-j takes a number of 1 or more, not '${2:-}'"
      jobs=$2
      shift
      ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown argument '$1' (see --help)" ;;
    *)
      [[ -e tests/fuzz/fuzz_$1.cc ]] || die "there is no target '$1': tests/fuzz/fuzz_$1.cc"
      targets+=("$1")
      ;;
  esac
  shift
done
[[ -n $hours ]] || die "--hours N says how long (see --help)"
if [[ ${#targets[@]} -eq 0 ]]; then
  for source in tests/fuzz/fuzz_*.cc; do
    source=${source##*/fuzz_}
    targets+=("${source%.cc}")
  done
fi

tools/setup.sh all
cmake --preset fuzz -DVRAMSPAN_BUILD_TESTS=ON >/dev/null
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}" -j "$jobs" -- --quiet

# Rounds of `jobs` targets at once share the time.
rounds=$(((${#targets[@]} + jobs - 1) / jobs))
seconds=$(awk -v h="$hours" -v r="$rounds" 'BEGIN { s = int(h * 3600 / r); print s < 1 ? 1 : s }')
totals=tests/fuzz/runs.tsv
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
limits=(-timeout=20 -rss_limit_mb=1536)

# The smallest inputs that reach the same code. Those with names of a person's are there in any case.
minimise() {
  local target=$1 program=$2 corpus=$3 found=$4 log=$5 small="$results/$1.corpus" file
  mkdir -p "$small"
  for file in "$corpus"/*; do
    [[ ${file##*/} =~ ^[0-9a-f]{40}$ ]] || cp -r "$file" "$small"
  done
  "$program" -merge=1 -set_cover_merge=1 -use_counters=0 -max_len=4096 "${limits[@]}" \
    -artifact_prefix="$results/" "$small" "$corpus" "$found" >>"$log" 2>&1 ||
    { echo "fuzz: the corpus of $target could not be made smaller: $log says why" >&2; return; }
  rm -rf "$corpus"
  cp -r "$small" "$corpus"
}

search() {
  local target=$1 program=$PWD/build/fuzz/bin/fuzz_$1 corpus=$PWD/tests/fuzz/corpus/$1
  local found=$PWD/build/fuzz/found/$1 log=$PWD/build/fuzz/found/$1.log artifact broke=no
  mkdir -p "$found" "$corpus"
  rm -f "$found.artifact-"*
  "$program" -max_total_time="$seconds" "${limits[@]}" -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$found.artifact-" "$found" "$corpus" >"$log" 2>&1 || broke=yes
  awk '/stat::number_of_executed_units/ { n = $2 } END { print n + 0 }' "$log" >"$results/$target"
  for artifact in "$found.artifact-"*; do
    [[ -e $artifact ]] || continue
    "$program" -minimize_crash=1 -max_total_time=60 "${limits[@]}" \
      -exact_artifact_path="$artifact.small" "$artifact" >>"$log" 2>&1 || true
    [[ -e $artifact.small ]] || cp "$artifact" "$artifact.small"
    cp "$artifact.small" "$corpus/broke-$(sha1sum <"$artifact.small" | cut -c1-12)"
  done
  if [[ $broke == yes ]]; then
    echo "fuzz: $target broke: $log says how, $corpus has the input" >&2
    return 1
  fi
  minimise "$target" "$program" "$corpus" "$found" "$log"
}

# One line a target: what it had before, and this.
add_up() {
  local target
  {
    printf 'target\truns\tlast\n'
    {
      [[ ! -e $totals ]] || tail -n +2 "$totals"
      for target in "$@"; do
        printf '%s\t%s\t%s\n' "$target" "$(cat "$results/$target")" "$(date -u +%F)"
      done
    } | awk -F'\t' -v OFS='\t' '{ n[$1] += $2; if ($3 > day[$1]) day[$1] = $3 }
        END { for (t in n) printf "%s\t%d\t%s\n", t, n[t], day[t] }' | LC_ALL=C sort
  } >"$results/totals"
  cp "$results/totals" "$totals"
}

rc=0
for ((i = 0; i < ${#targets[@]}; i += jobs)); do
  pids=()
  for target in "${targets[@]:i:jobs}"; do
    search "$target" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || rc=1; done
  add_up "${targets[@]:i:jobs}"
done
cat "$totals"
exit "$rc"
