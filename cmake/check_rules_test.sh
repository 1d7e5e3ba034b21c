#!/bin/bash
# Checks the check of the rules: a tree in which each stands once passes, and one in which one stands twice does
# not.
#
# Usage: cmake/check_rules_test.sh
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/check_rules.sh
tree=$(mktemp -d "${TMPDIR:-/tmp}/vramspan-rules.XXXXXX")
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/runtime/mover" "$tree/tools/replay"
bad=0

passes() { "$check" "$tree" >/dev/null || { echo "refused: $1"; bad=1; }; }
fails() { ! "$check" "$tree" >/dev/null || { echo "not refused: $1"; bad=1; }; }

# FILE, and the code on stdin with each $x renamed.
write() { sed "s/@/$2/g" >"$tree/$1"; }

code='bool Mover::Look() {
  // Comments do not count.
  const Chunk& @ = chunks[index];
  if (@.dying) return false;
  if (@.in_flight != 0) return false;
  size += @.size();
  used = used + size;
  moving = moving + size;
  list.push_back(index);
  return true;
}'
write runtime/mover/mover.cc c <<<"$code"
passes "a function that stands once"
write tools/replay/simulated.cc chunk <<<"${code/Mover::Look/SimulatedMover::See}"
fails "the same under other names"
write tools/replay/simulated.cc chunk <<<"${code/size += @.size();/size = @.size() - 1;}"
passes "one that is not the same"

write tools/replay/simulated.cc c <<<'bool SimulatedMover::RunsAsItIs(const Work& work) {'
fails "a definition of a rule's name"
write tools/replay/simulated.cc c <<<'  bool HasItsMemory(const Work& work) const;'
fails "a declaration of one"
write tools/replay/simulated.cc c <<<'  if (readiness_.Ready(work)) return trials_.Try(work);'
passes "a call of one"
write tools/replay/simulated.cc c <<<'  return residency_.Movable(c);'
passes "a call whose result is returned"
exit $bad
