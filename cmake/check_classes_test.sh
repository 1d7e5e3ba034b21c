#!/bin/bash
# Checks the check of the classes: what is too large by one is refused, and what may be as large passes.
#
# Usage: cmake/check_classes_test.sh
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/check_classes.sh
tree=$(mktemp -d "${TMPDIR:-/tmp}/vramspan-classes.XXXXXX")
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/runtime/mover" "$tree/tools/replay"
bad=0

passes() { "$check" "$tree" >/dev/null || { echo "refused: $1"; bad=1; }; }
fails() { ! "$check" "$tree" >/dev/null || { echo "not refused: $1"; bad=1; }; }

# So many lines of it, each with its number for @.
lines() { for ((i = 0; i < $1; ++i)); do echo "  ${2//@/$i}"; done; }
# What stands in the file of the runtime, and in that of the replay tool.
runtime() { cat >"$tree/runtime/mover/a.h"; }
replay() { cat >"$tree/tools/replay/a.cc"; }

replay <<<''
runtime < <(echo 'class A {'; lines 40 'int F@() const { return @; }'; lines 25 'int m@_ = 0;'; echo '};')
passes "a class with 25 members and 40 functions"
runtime < <(echo 'class A {'; lines 1 'int F@();'; lines 26 'std::map<int, int> m@_ VS_GUARDED_BY(mu_);'; echo '};')
fails "26 members"
runtime < <(echo 'class A final : public B {'; lines 1 'int F@();'; echo '  int a_ = 0,'; lines 24 'b@_ = 0,'; echo '  c_ = 0;'; echo '};')
fails "26 members, many in a line"
runtime < <(echo 'class A {'; lines 41 'int F@(int a, int b);'; echo '};')
fails "41 functions"
runtime < <(echo 'struct A {'; lines 41 'int F@(int a) { if (a) { return 0; } return 1; }'; echo '};')
fails "41 functions with bodies"

runtime < <(echo 'struct A {'; lines 60 'int m@ = 0;'; echo '};')
passes "a plain record"
runtime < <(echo 'class A {'; lines 1 'int F@();'; lines 25 'int m@_;'; lines 30 '// int c@_;'; lines 5 'static constexpr int kC@ = 1;'
  lines 5 'using T@ = int;'; echo '};')
passes "comments, constants and types"
runtime < <(echo 'class A {'; lines 1 'int F@();'; echo '  struct Inner {'; lines 20 'int m@;'; echo '  };'; lines 20 'int m@_;'; echo '};')
passes "a record within a class counts alone"

bundle() { echo 'struct Parts {'; lines 10 'Part@* part@;'; echo '};'; }
runtime < <(bundle; echo 'class A {'; lines 1 'int F@();'; echo '  const Parts parts_;'; lines 15 'int m@_;'; echo '};')
passes "a bundle of 10 and 15 members"
runtime < <(bundle; echo 'class A {'; lines 1 'int F@();'; echo '  const Parts parts_;'; lines 16 'int m@_;'; echo '};')
fails "a bundle of 10 and 16 members"

runtime <<<''
replay < <(echo 'namespace {'; echo 'class A {'; lines 1 'int F@();'; lines 26 'int m@_;'; echo '};'; echo '}')
fails "the same in the replay tool"
replay <<<''
mkdir -p "$tree/tools/broker/core"
(echo 'class A {'; lines 1 'int F@();'; lines 26 'int m@_;'; echo '};') >"$tree/tools/broker/core/a.h"
fails "the same in the broker"
exit $bad
