#!/bin/bash
# Checks the check of the documents: a page that names what is there passes, and one that names something else, or
# has a long sentence, does not.
#
# Usage: cmake/check_docs_test.sh
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/check_docs.py
tree=$(mktemp -d "${TMPDIR:-/tmp}/vramspan-docs.XXXXXX")
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/findings" "$tree/runtime/mover" "$tree/tools"
bad=0

passes() { "$check" "$tree" >/dev/null || { echo "refused: $1"; bad=1; }; }
fails() { ! "$check" "$tree" >/dev/null 2>&1 || { echo "not refused: $1"; bad=1; }; }
page() { cat >"$tree/docs/a.md"; }

printf '# Start\n\n## What moves, and when\n' >"$tree/README.md"
cat >"$tree/runtime/mover/gate.cc" <<'END'
void Gate::Enter() { getenv("VRAMSPAN_POLICY"); Option("--policy", "VRAMSPAN_LOG"); vramspanMemPin(); }
vramspan_add_executable(vramspan)
END

page <<<'It is in `runtime/mover/gate.cc`, `gate.cc`, `runtime/mover` and `runtime/mover/*.cc` ([there](../README.md)).'
passes "files that are there"
page <<<'See `runtime/mover/{gate,gone}.cc`.'
fails "one of two files"
page <<<'See `gone.h`.'
fails "a file that is nowhere"
page <<<'See `runtime/gone`.'
fails "a folder that is nowhere"
page <<<'See `runtime/gone/*.cc`.'
fails "a pattern that nothing matches"
page <<<'See [the start](../GONE.md).'
fails "a link that leads nowhere"
page <<<'See [moves](../README.md#what-moves-and-when).'
passes "a heading"
page <<<'See [moves](../README.md#what-stays).'
fails "a heading that is not there"
page <<<'Say `vramspan run --policy lru`, or `VRAMSPAN_POLICY`.'
passes "an option and its variable"
page <<<'Say `vramspan run --police lru`.'
fails "an option that is not there"
page <<<'    vramspan run --police lru'
fails "an option that is not there, in an indented block"
page <<<$'```\nvramspan run --police lru\n```'
fails "an option that is not there, in a fence"
page <<<$'Say `vramspan run\n--police lru`.'
fails "an option that is not there, in the next line"
page <<<'Set `VRAMSPAN_GONE`.'
fails "a variable that is not there"
page <<<'Call `vramspanMemPin`.'
passes "a function of the interface"
page <<<'Call `vramspanMemPine`.'
fails "a function of the interface that is not there"
page <<<'`Gate::Enter` counts.'
passes "a function"
page <<<'`Gate::Leave` counts.'
fails "a function that is not there"
page <<<'Run `build/release/bin/vramspan`.'
passes "a program"
page <<<'Run `build/release/bin/gone`.'
fails "a program that is not built"
page <<<"$(printf 'word %.0s' {1..24})end. And $(printf 'word %.0s' {1..20})"
passes "sentences of 25 words"
page <<<"$(printf 'word %.0s' {1..25})end."
fails "one of 26"
page <<<$'- item\n- '"$(printf 'word %.0s' {1..13})"$'\n  '"$(printf 'word %.0s' {1..13})"
fails "one of 26 in two lines of a list"
page <<<'Nothing.'
echo 'See `gone.h`.' >"$tree/docs/findings/0001-a.md"
passes "a finding, which keeps what it said"
rm "$tree/docs/a.md"
echo 'See `gone.h`.' >"$tree/README.md"
fails "the page of the folder itself"
exit $bad
