#!/bin/bash
# Installs what building and testing vramspan needs, where it is missing (Debian 12), and checks that there
# is a CUDA Toolkit. Quiet when there is nothing to do. Writes to stderr alone, so that callers' output stays
# clean.
#
# Usage: tools/setup.sh [build | package | test | docs | all]
#   build   what the library and the tools are built with (tools/demo.sh)
#   package and what packs them (tools/package/build.sh)
#   test    and what the default tests need (tools/test.sh)
#   docs    alone what the documentation site is made with (tools/docs.sh)
#   all     and what the other stages, the benchmarks and those who edit need (default)
set -euo pipefail
exec 1>&2

# ccache is among the first: a build folder whose compiler launcher changes is built anew.
packages=(
  g++ cmake ninja-build ccache binutils pkg-config util-linux
  dpkg-dev                       # unpacks abseil's source package (cmake/fetch-abseil.sh)
  libzstd-dev liblz4-dev zlib1g-dev libcli11-dev nlohmann-json3-dev
  libtomlplusplus-dev            # reads the broker's configuration
)
test_packages=(
  libgtest-dev libgmock-dev
  clang lld                      # compile and link the tests; the other stages check the lock annotations, and fuzz
  musl-tools                     # a program for musl, which a test of the preload leaves alone
  chromium                       # opens the report's page in its test
  python3                        # makes docs/measurements.md of bench/results, which a test checks
)
docs_packages=(
  python3 python3-sphinx python3-myst-parser python3-sphinx-rtd-theme
)
all_packages=(
  "${docs_packages[@]}"
  libbenchmark-dev
  clang-format
  debootstrap lintian            # try the packages in fresh userlands (tools/package/try.sh)
  zsh fish                       # complete command lines in a test
)

die() {
  echo "setup: $*"
  exit 1
}

case ${1:-all} in
  build) ;;
  package) packages+=(python3) ;;
  test) packages+=("${test_packages[@]}") ;;
  docs) packages=("${docs_packages[@]}") ;;
  all) packages+=("${test_packages[@]}" "${all_packages[@]}") ;;
  -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) die "unknown argument '$1' (see --help)" ;;
esac

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_missing() {
  local missing=() name
  for name in "${packages[@]}"; do
    installed "$name" || missing+=("$name")
  done
  [[ ${#missing[@]} -eq 0 ]] && return

  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "packages are missing and there is no sudo; install them as root: ${missing[*]}"
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  # A failing update is not the end: the lists that are there may do.
  "${as_root[@]}" apt-get -qq update || echo "setup: apt-get update failed, so the package lists that are here are used"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get could not install: ${missing[*]}"
}

# The same places, in the same order, as cmake/Cuda.cmake.
check_cuda() {
  local nvcc root
  nvcc=$(command -v nvcc || true)
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" \
    "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")}" /usr/local/cuda; do
    [[ -n $root ]] || continue
    if [[ -f $root/include/cuda.h || -f $root/targets/x86_64-linux/include/cuda.h ]]; then
      return
    fi
  done
  die "there is no CUDA Toolkit: no cuda.h is under CUDA_HOME, beside nvcc, or in /usr/local/cuda." \
    "Install NVIDIA's CUDA Toolkit 13.0 or later (its package is cuda-toolkit-13-0; a GPU and its driver" \
    "are not needed to build), then set CUDA_HOME to its folder and run this again."
}

if command -v dpkg-query >/dev/null; then
  install_missing
else
  echo "setup: there is no dpkg, so nothing was installed; install these packages (Debian's names): ${packages[*]}"
fi
[[ ${1:-all} == docs ]] || check_cuda
