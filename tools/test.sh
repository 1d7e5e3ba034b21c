#!/bin/bash
# Builds vramspan and runs its tests, all of them on the simulated driver: no GPU is needed.
#
# Usage: tools/test.sh [--all | --nightly | --only STAGE] [-j JOBS]
#   --all          run all stages, and the tests labelled all (default: the first stage, which has every other test)
#   --nightly      run all stages, search for an hour each, and run the tests labelled nightly
#   --only STAGE   run one stage: release, fuzz, dev, clang, asan or tsan
#   -j JOBS        build with so many processes at once (default: the number of processors), and test with half as many
#                  more, since tests wait as often as they compute
#
# Stages run in this order. The first failure ends the run.
#   release  builds everything, optimised, and runs all tests
#   fuzz     gives arbitrary bytes to each reader of files, for a minute each (clang, libFuzzer)
#   dev      builds each file by itself, and the benchmarks; runs nothing
#   clang    builds with clang++ and -Wthread-safety -Werror; runs nothing
#   asan     runs all tests but those labelled slow or noasan, with AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan     runs all tests but those labelled slow or notsan, with ThreadSanitizer
#
# With --all and --nightly the torture takes its full time. With --nightly its seed is the date.
#
# Exit status: 0 if all passed, 2 for a wrong option, else that of the stage that failed (the last line names it).
# Examples: tools/test.sh; tools/test.sh --only asan -j 4
# Read more: CONTRIBUTING.md
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "test: $*" >&2
  exit 2
}

all=(release fuzz dev clang asan tsan)
stages=(release)
needs=test
fuzz_seconds=60
labels=
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --all | --nightly)
      stages=("${all[@]}")
      needs=all
      labels=all
      export VRAMSPAN_TORTURE=long
      if [[ $1 == --nightly ]]; then
        labels='(all|nightly)'
        export VRAMSPAN_NIGHTLY=1  # For tests that do more by then (tests/hostile).
        fuzz_seconds=3600
        export VRAMSPAN_TORTURE_SEED=${VRAMSPAN_TORTURE_SEED:-$(date +%Y%m%d)}
      fi
      ;;
    --only)
      [[ -n ${2:-} && " ${all[*]} " == *" $2 "* ]] || die "--only takes one of ${all[*]}, not '${2:-}'"
      stages=("$2")
      [[ $2 == release ]] || needs=all
      shift
      ;;
    -j)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "-j takes a number of 1 or more, not '${2:-}'"
      jobs=$2
      shift
      ;;
    -h | --help) sed -n '2,24s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument '$1' (see --help)" ;;
  esac
  shift
done

tools/setup.sh "$needs"

stage=setup
report() {
  local rc=$?
  [[ $rc -eq 0 ]] || echo "test: stage $stage failed" >&2
}
trap report EXIT
# FOLDER: what the tests that failed there said, behind ctest's closing lines. Who reads a log from its end finds it.
tell_failed() {
  local logs=$1/Testing/Temporary name
  [[ -s $logs/LastTestsFailed.log ]] || return 0
  echo "== what those that failed said: the last 30 lines of each, of five at most"
  head -n 5 "$logs/LastTestsFailed.log" | cut -d: -f2- | while IFS= read -r name; do
    echo "-- $name"
    name=$name awk '
      /^[0-9]+\/[0-9]+ Testing: / { on = substr($0, index($0, " Testing: ") + 10) == ENVIRON["name"] }
      /^<end of output>$/ { on = said = 0 }
      on && said
      /^Output:$/ { said = 1 }
    ' "$logs/LastTest.log" | tail -n 30
  done
}
for stage in "${stages[@]}"; do
  started=$SECONDS
  echo "== $stage: build"
  # tools/demo.sh may have made the folder, without tests.
  cmake --preset "$stage" -DVRAMSPAN_BUILD_TESTS=ON -DVRAMSPAN_FUZZ_SECONDS="$fuzz_seconds" >/dev/null
  # Progress lines are for a person at a terminal; a log wants what went wrong.
  if [[ -t 1 ]]; then
    cmake --build --preset "$stage" -j "$jobs"
  else
    cmake --build --preset "$stage" -j "$jobs" -- --quiet
  fi
  if [[ $stage != dev && $stage != clang ]]; then
    echo "== $stage: tests"
    ctest --preset "$stage" -j "$((jobs + jobs / 2))" || {
      rc=$?
      tell_failed "build/$stage"
      exit "$rc"
    }
    # What nothing but time finds: kills at random moments, long searches (label nightly). What needs more packages (all).
    if [[ -n $labels && $stage == release ]]; then
      (cd build/release && ctest -L "^$labels\$" -j "$jobs" --output-on-failure --no-tests=ignore)
    fi
  fi
  echo "== $stage: done in $((SECONDS - started)) s"
done
