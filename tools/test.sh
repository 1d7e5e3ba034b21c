#!/bin/bash
# Builds vramspan and runs its tests, all of them on the simulated driver: no GPU is needed.
#
# Usage: tools/test.sh [--all | --nightly | --only STAGE] [-j JOBS]
#   --all          all stages; without it the first, which has every test
#   --nightly      all stages, an hour for each that searches, and what is labelled nightly
#   --only STAGE   one stage: release, fuzz, dev, clang, asan or tsan
#   -j JOBS        programs at once, in building and in testing (default: the number of processors)
#
# Stages, in order; the first failure ends the run:
#   release  everything, optimised, all tests; what others' files once broke is among them
#   fuzz     what reads files of others, against arbitrary bytes, a minute each (clang, libFuzzer)
#   dev      as release, each file compiled by itself, and the benchmarks; nothing run
#   clang    everything compiled with clang++ and -Wthread-safety -Werror, nothing run
#   asan     AddressSanitizer and UndefinedBehaviorSanitizer, all tests but those labelled slow or noasan
#   tsan     ThreadSanitizer, all tests but those labelled slow or notsan
#
# With --all and --nightly the torture takes its full time; with --nightly its seed is the date.
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
nightly=false
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --all | --nightly)
      stages=("${all[@]}")
      needs=all
      export VRAMSPAN_TORTURE=long
      if [[ $1 == --nightly ]]; then
        nightly=true
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
    -h | --help) sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
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
    ctest --preset "$stage" -j "$jobs"
    # What nothing but time finds: kills at random moments, long searches (label nightly).
    if $nightly && [[ $stage == release ]]; then
      (cd build/release && ctest -L '^nightly$' -j "$jobs" --output-on-failure --no-tests=ignore)
    fi
  fi
  echo "== $stage: done in $((SECONDS - started)) s"
done
