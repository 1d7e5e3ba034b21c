#!/bin/bash
# Installs the package into a folder of its own, moves that folder, and builds and runs two programs
# against it: one found by CMake, one by pkg-config. VRAMSPAN_DRIVER names the driver they run on.
#
# Usage: run.sh SOURCE BUILD CMAKE CXX CUDA_INCLUDE
set -euo pipefail
if [[ $# -ne 5 ]]; then
  echo "usage: $0 SOURCE BUILD CMAKE CXX CUDA_INCLUDE" >&2
  exit 2
fi
source=$1
build=$2
cmake=$3
cxx=$4
cuda_include=$5

work=$(mktemp -d "${TMPDIR:-/tmp}/vramspan-consumer.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Moved after the installation: no path of the build or of the prefix may be baked in.
"$cmake" --install "$build" --component library --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
if grep -rlI --include='*.cmake' --include='*.pc' -e "$work/first" -e "$build" "$work/moved"; then
  echo "the files above name a folder of the build" >&2
  exit 1
fi

"$cmake" -S "$source/tests/consumer" -B "$work/build" -G Ninja -Wno-dev \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/moved" \
  -DVRAMSPAN_EXAMPLES_ROOT="$source" -Dvramspan_CUDA_INCLUDE_DIR="$cuda_include" \
  >"$work/configure.log" || { cat "$work/configure.log" >&2; exit 1; }
"$cmake" --build "$work/build" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
"$work/build/consumer_cpp"

pc=$(dirname "$(find "$work/moved" -name vramspan.pc)")
flags() { PKG_CONFIG_PATH=$pc pkg-config "$@" --define-variable=cuda_includedir="$cuda_include" vramspan; }
libdir=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir vramspan)
# The flags are words of their own.
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Werror $(flags --cflags) "$source/tests/consumer/main.c" \
  -o "$work/consumer_c" $(flags --libs) -Wl,-rpath,"$libdir"
"$work/consumer_c"
