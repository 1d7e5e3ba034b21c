#!/bin/bash
# Looks whether the tests that docs/what-goes-wrong.md names are among tests/list_of_tests.txt, and whether each of
# its lines names one.
#
# Usage: tests/named_tests.sh [PAGE]
set -euo pipefail
export LC_ALL=C
here="$(cd "$(dirname "$0")" && pwd)"
page=${1:-"$here/../docs/what-goes-wrong.md"}
known=$(sed 's/ ([0-9]*)$//' "$here/list_of_tests.txt")
lines=0
wrong=0
while IFS= read -r line; do
  lines=$((lines + 1))
  named=$(grep -oE '`[a-z_]+:[A-Za-z/.]+`' <<<"$line" | tr -d '`' || true)
  if [[ -z $named ]]; then
    echo "named_tests: a line of $page names no test: $line" >&2
    wrong=1
  fi
  while IFS= read -r name; do
    if [[ -n $name ]] && ! grep -qxF -- "$name" <<<"$known"; then
      echo "named_tests: there is no test $name, which $page names" >&2
      wrong=1
    fi
  done <<<"$named"
done < <(grep -E '^\| [0-9]+ \|' "$page")
if [[ $lines -eq 0 ]]; then
  echo "named_tests: $page has no line of a table" >&2
  exit 1
fi
exit "$wrong"
