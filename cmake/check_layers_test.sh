#!/bin/bash
# Checks the check of the layers: a tree that keeps the rules passes, and one include that breaks one does not.
#
# Usage: cmake/check_layers_test.sh
set -euo pipefail
check=$(cd "$(dirname "$0")" && pwd)/check_layers.sh
tree=$(mktemp -d "${TMPDIR:-/tmp}/vramspan-layers.XXXXXX")
trap 'rm -rf "$tree"' EXIT
bad=0

# FILE INCLUDED: writes the file with that one include.
write() {
  mkdir -p "$tree/$(dirname "$1")"
  echo "#include \"$2\"" >"$tree/$1"
}

allowed() {
  write "$1" "$2"
  "$check" "$tree" >/dev/null || { echo "refused: $1 includes $2"; bad=1; }
  rm "$tree/$1"
}

refused() {
  write "$1" "$2"
  ! "$check" "$tree" >/dev/null || { echo "not refused: $1 includes $2"; bad=1; }
  rm "$tree/$1"
}

# FILE CODE: refused for it, whatever it includes.
refused_code() {
  mkdir -p "$tree/$(dirname "$1")"
  echo "$2" >"$tree/$1"
  ! "$check" "$tree" >/dev/null || { echo "not refused: $1 with $2"; bad=1; }
  rm "$tree/$1"
}

write runtime/space/chunk.h runtime/base/units.h
allowed runtime/mover/a.cc runtime/placement/planner.h
allowed runtime/observe/a.cc runtime/driver/driver.h
allowed runtime/preload/a.inc vramspan/vramspan.h
allowed cupti_tracer/a.cc runtime/observe/launch_source.h
allowed tools/replay/a.cc runtime/space/chunk.h
allowed tools/replay/a.cc runtime/scheduler/patience.h
allowed runtime/scheduler/a.cc runtime/placement/planner.h
allowed runtime/mover/a.cc runtime/memory/memory.h
allowed tools/replay/a.cc runtime/lease/session.h
allowed tools/replay/a.cc tools/broker/core/decide.h
allowed tools/replay/a.cc tools/broker/words/said.h
allowed tools/broker/core/a.cc runtime/base/units.h
allowed tools/broker/core/a.cc tools/broker/core/water.h
allowed tools/broker/core/a.cc absl/strings/str_cat.h
allowed tools/broker/a.cc tools/broker/core/decide.h
allowed tools/broker/a.cc runtime/lease/message.h
allowed runtime/api/a.cc runtime/lease/message.h

refused runtime/base/a.h runtime/driver/driver.h
refused runtime/space/a.cc chunk.h
refused runtime/space/a.cc runtime/nowhere/a.h
refused runtime/nowhere/a.cc runtime/base/units.h
refused runtime/placement/a.cc runtime/space/chunk.h
refused runtime/observe/a.cc runtime/space/chunk.h
refused runtime/observe/a.cc runtime/placement/planner.h
refused runtime/scheduler/a.cc runtime/driver/driver.h
refused runtime/scheduler/a.cc runtime/backing/slot_pool.h
refused runtime/scheduler/a.cc runtime/placement/policies/lru.h
refused runtime/scheduler/a.cc runtime/memory/memory.h
refused runtime/memory/a.cc runtime/mover/mover.h
refused runtime/memory/a.cc runtime/placement/policies/lru.h
refused runtime/scheduler/a.cc runtime/base/mutex.h
refused runtime/scheduler/a.cc atomic
refused runtime/mover/a.cu runtime/api/runtime.h
refused runtime/mover/a.cc runtime/placement/policies/lru.h
refused runtime/mover/a.cc vramspan/vramspan.h
refused runtime/api/a.cc tools/replay/bound.h
refused include/vramspan/a.hpp runtime/base/units.h
refused cupti_tracer/a.cc runtime/mover/mover.h
refused tools/replay/a.cc runtime/driver/driver.h
refused tools/replay/a.cc tools/broker/server/client.h
refused tools/broker/server/a.cc tools/replay/bound.h
refused tools/simcuda/a.cc runtime/base/units.h
refused tools/broker/core/a.cc runtime/scheduler/patience.h
refused tools/broker/core/a.cc runtime/base/mutex.h
refused tools/broker/core/a.cc runtime/lease/message.h
refused runtime/lease/a.cc runtime/driver/driver.h
refused tools/broker/core/a.cc tools/broker/daemon.h
refused tools/broker/core/a.cc tools/replay/bound.h
refused tools/broker/core/a.cc vramspan/vramspan.h
refused tools/broker/core/a.cc water.h
refused tools/broker/core/a.cc atomic
refused tools/broker/a.cc runtime/api/runtime.h
refused runtime/api/a.cc tools/broker/core/decide.h

refused_code runtime/scheduler/a.cc 'const auto now = std::chrono::steady_clock::now();'
refused_code tools/broker/core/a.cc 'const auto now = std::chrono::steady_clock::now();'
refused_code runtime/mover/a.cc 'std::thread([] {}).detach();'
refused_code runtime/api/a.h 'std::jthread thread_;'
refused_code cupti_tracer/a.cc 'pthread_create(&id, nullptr, &Run, nullptr);'
refused_code runtime/base/a.h 'std::condition_variable cv_;'
refused_code tools/simcuda/a.h 'cv_.wait_until(lock, std::chrono::system_clock::now() + timeout);'
refused_code runtime/mover/a.cc 'pthread_condattr_setclock(&attributes, CLOCK_REALTIME);'
exit $bad
