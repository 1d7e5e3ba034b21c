#!/bin/bash
# Builds vramspan and runs its tests, all of them on the simulated driver: no GPU is needed.
#
# Usage: tools/test.sh [--all | --only STAGE] [-j JOBS]
#   --all          the five stages below; without it fuzz and release, which has every test
#   --only STAGE   one stage: fuzz, release, clang, asan or tsan
#   -j JOBS        programs at once, in building and in testing (default: the number of processors)
#
# Stages, in order; the first failure ends the run:
#   fuzz     what reads files of others, against arbitrary bytes, a minute each (clang, libFuzzer)
#   release  everything, optimised, all tests
#   clang    everything compiled with clang++ and -Wthread-safety -Werror, nothing run
#   asan     AddressSanitizer and UndefinedBehaviorSanitizer, all tests but those labelled slow or noasan
#   tsan     ThreadSanitizer, all tests but those labelled slow or notsan
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "test: $*" >&2
  exit 2
}

stages=(fuzz release)
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --all) stages=(fuzz release clang asan tsan) ;;
    --only)
      [[ ${2:-} =~ ^(fuzz|release|clang|asan|tsan)$ ]] ||
        die "--only takes fuzz, release, clang, asan or tsan, not '${2:-}'"
      stages=("$2")
      shift
      ;;
    -j)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "-j takes a number of 1 or more, not '${2:-}'"
      jobs=$2
      shift
      ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown argument '$1' (see --help)" ;;
  esac
  shift
done

tools/setup.sh

stage=setup
report() {
  local rc=$?
  [[ $rc -eq 0 ]] || echo "test: stage $stage failed" >&2
}
trap report EXIT
for stage in "${stages[@]}"; do
  started=$SECONDS
  echo "== $stage: build"
  # What is built for the first time is built sooner in few units. The folder stays like that: to go on
  # working in it, `cmake -DVRAMSPAN_UNITY=OFF build/release`. The other stages compile each file by itself.
  once=()
  if [[ $stage =~ ^(fuzz|release)$ && ! -e build/$stage/CMakeCache.txt ]]; then once=(-DVRAMSPAN_UNITY=ON); fi
  cmake --preset "$stage" "${once[@]}" >/dev/null
  # Progress lines are for a person at a terminal; a log wants what went wrong.
  if [[ -t 1 ]]; then
    cmake --build --preset "$stage" -j "$jobs"
  else
    cmake --build --preset "$stage" -j "$jobs" -- --quiet
  fi
  if [[ $stage != clang ]]; then
    echo "== $stage: tests"
    ctest --preset "$stage" -j "$jobs"
  fi
  echo "== $stage: done in $((SECONDS - started)) s"
done
