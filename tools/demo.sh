#!/bin/bash
# Builds vramspan and runs its demo: a program whose data are larger than its device memory, run to a
# verified result, on the GPU if there is one, else on the simulated driver.
#
# Usage: tools/demo.sh [ARGUMENTS OF vramspan demo], for example --device-memory 4GiB or --format json
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)

# The demo's output alone goes to stdout.
{
  "$repo/tools/setup.sh" build
  cd "$repo"
  # A build folder that is there stays as it is; a new one does without what only tests need.
  if [[ ! -e build/release/CMakeCache.txt ]]; then
    echo "demo: building vramspan, which takes minutes the first time"
    cmake --preset release -DVRAMSPAN_BUILD_TESTS=OFF >/dev/null
  fi
  quiet=(-- --quiet)
  if [[ -t 2 ]]; then quiet=(); fi
  cmake --build --preset release --target vramspan simcuda -j "$(nproc)" "${quiet[@]}"
  cd - >/dev/null
} >&2

exec "$repo/build/release/bin/vramspan" demo "$@"
