#!/bin/bash
# Compares the tests of a build with tests/list_of_tests.txt: a test that is gone was taken out on purpose, or the
# run that passed says less than it did.
#
# Usage: tests/list_of_tests.sh [--update] BUILD_FOLDER [CTEST]
#   --update   write the list anew
#
# A line a test, as ctest names it, without values of parameters: PROGRAM:SUITE.NAME, and how many there are of
# several. Programs that are one test of ctest are asked for theirs.
set -euo pipefail
export LC_ALL=C
update=false
if [[ ${1:-} == --update ]]; then
  update=true
  shift
fi
build=${1:?usage: list_of_tests.sh [--update] BUILD_FOLDER [CTEST]}
ctest=${2:-ctest}
list="$(dirname "$0")/list_of_tests.txt"
whole="$build/tests/whole_tests.txt"

of_ctest() {
  "$ctest" --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p'
}
of_programs() {
  local name program
  while IFS='=' read -r name program; do
    [[ -n $name ]] || continue
    "$program" --gtest_list_tests | sed -n -e 's/ *# .*//' -e '/^[^ ].*\.$/h' \
      -e "/^  /{ G; s/^  \(.*\)\n\(.*\)/$name:\2\1/p }"
  done <"$whole"
}
names() {
  { of_ctest | grep -vxF -f <(cut -d= -f1 "$whole" | grep .); of_programs; } |
    sed 's|^\([^:]*:[^.]*\.[^/]*\)/.*|\1|' | sort | uniq -c |
    sed -e 's/^ *1 //' -e 's/^ *\([0-9]*\) \(.*\)/\2 (\1)/'
}

if ! $update && [[ ! -e $list ]]; then
  echo "list_of_tests: there is no $list; make it with tests/list_of_tests.sh --update $build" >&2
  exit 1
fi
now=$(names)
if $update; then
  printf '%s\n' "$now" >"$list"
  echo "list_of_tests: $(wc -l <"$list") lines written"
elif diff=$(printf '%s\n' "$now" | { diff -U0 "$list" - || true; } | grep '^[-+][^-+]'); then
  echo "$diff"
  echo "list_of_tests: these tests are listed but not built (-), or built but not listed (+)." \
    "If that is meant: tests/list_of_tests.sh --update $build, and name in the commit what went." >&2
  exit 1
else
  echo "list_of_tests: $(wc -l <"$list") lines, all as listed"
fi
