#!/bin/bash
# Builds what users install: a wheel, a .deb and a tarball, for glibc 2.28 and later, each with its SBOM and licences.
#
# Usage: tools/package/build.sh [--machine MACHINE] [--unchecked BUILD] [--only KIND]... [FOLDER]
#   --machine MACHINE  x86_64 (default), or aarch64 by a cross compiler
#   --unchecked BUILD  for tests: pack a build that is there, whatever glibc it needs
#   --only KIND        wheel, deb or tarball (default: all three)
#   FOLDER             gets the packages (default: build/packages)
#
# The same sources and tools give the same bytes. SOURCE_DATE_EPOCH dates the files (default: the last commit).
set -euo pipefail
umask 022
export LC_ALL=C
repo=$(cd "$(dirname "$0")/../.." && pwd)
here=$repo/tools/package

die() {
  echo "package: $*" >&2
  exit 2
}

build=
given=false
machine=x86_64
kinds=()
folder=$repo/build/packages
while [[ $# -gt 0 ]]; do
  case $1 in
    --unchecked) build=$(cd "${2:?--unchecked takes a build folder}" && pwd); given=true; shift ;;
    --machine)
      [[ ${2:-} == x86_64 || ${2:-} == aarch64 ]] || die "--machine takes x86_64 or aarch64, not '${2:-}'"
      machine=$2
      shift
      ;;
    --only)
      [[ " wheel deb tarball " == *" ${2:-} "* ]] || die "--only takes wheel, deb or tarball, not '${2:-}'"
      kinds+=("$2")
      shift
      ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown argument '$1' (see --help)" ;;
    *) folder=$1 ;;
  esac
  shift
done
[[ ${#kinds[@]} -gt 0 ]] || kinds=(wheel deb tarball)

# A cache of compilations may write paths anew before the compiler sees them, and they are in messages.
export CCACHE_BASEDIR=

build_preset() {
  (
    cd "$repo"
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -j "${JOBS:-$(nproc)}" -- --quiet
  ) >&2
  build=$repo/build/$1
}
if [[ -z $build ]]; then
  "$repo/tools/setup.sh" package
  # The manual page is made of what a command says that runs here.
  build_preset package
  if [[ $machine == aarch64 ]]; then
    command -v aarch64-linux-gnu-g++ >/dev/null || die "the cross compiler is missing: install g++-aarch64-linux-gnu"
    "$here/arm64.sh" "$repo/build/deps/arm64"
    build_preset package-aarch64
  fi
fi
for tool in python3 readelf; do
  command -v "$tool" >/dev/null || die "$tool is missing: run tools/setup.sh package"
done

if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  # A copy without history has the date of what it says of itself.
  SOURCE_DATE_EPOCH=$(git -C "$repo" log -1 --format=%ct 2>/dev/null || stat -c %Y "$repo/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The tree that all packages hold, and that of the .deb: the broker's daemon is for hosts.
tree=$work/vramspan
host=$work/host
for component in library tools; do
  cmake --install "$build" --component "$component" --prefix "$tree" --strip >/dev/null
done
doc=$tree/share/doc/vramspan
"$here/pages.py" "$repo" "$doc"
version=$(sed -n 's/^#define VRAMSPAN_VERSION_[MP][A-Z]* //p' "$tree/include/vramspan/vramspan.h" | paste -sd.)

cp -a "$tree" "$host"
cmake --install "$build" --component broker --prefix "$host" --strip >/dev/null

# Every binary of it, and those inside: the images of kernels for the simulated driver.
mapfile -t binaries < <(find "$host" -type f \( -name '*.so*' -o -path '*/bin/*' -o -path '*/libexec/*' \) | sort)
mapfile -t images < <(find "$build" -path '*/kernels/*.so' ! -path '*/tests/*' ! -path '*/bench/*' ! -path '*/examples/*')
if $given; then
  echo "package: for tests only, because the build's glibc is not checked" >&2
else
  "$repo/cmake/old_glibc/check.sh" 2.28 "${binaries[@]}" "${images[@]}" >&2
  "$repo/cmake/check_preload.sh" "$host/lib/libvramspan_preload.so" "$repo/tests/preload/hooked_symbols.inc" >&2
  "$repo/cmake/check_stub.sh" "$host/lib/libvramspan_stub.so" "$host/lib/libvramspan_preload.so" >&2
fi
if ! find "$build" -name '*.fatbin' | grep -q .; then
  echo "package: no kernel has code for GPUs, because nvcc was not found" >&2
  $given || exit 1
fi

abseil=$(sed -n 's/^VRAMSPAN_ABSEIL_SOURCE_DIR:PATH=//p' "$build/CMakeCache.txt")
cuda=$(sed -n 's/^VRAMSPAN_CUDA_INCLUDE_DIR:PATH=//p' "$build/CMakeCache.txt")
for packed in "$tree" "$host"; do
  "$here/sbom.py" --version "$version" --abseil "$abseil" --cuda "$cuda" "$packed" \
    "$packed/share/doc/vramspan/vramspan.spdx.json" "$packed/share/doc/vramspan/THIRD-PARTY.txt"
done

for kind in "${kinds[@]}"; do
  case $kind in
    wheel) "$here/wheel.py" --version "$version" --machine "$machine" "$tree" "$here/python/vramspan" "$folder" ;;
    tarball)
      # Owners, order, times and gzip's header are no one machine's.
      file=$folder/vramspan-$version-linux-$machine.tar.gz
      tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go+u,go-w --format=gnu \
        --mtime="@$SOURCE_DATE_EPOCH" --transform "s,^vramspan,vramspan-$version," --create vramspan | gzip -9n >"$file"
      echo "$file"
      ;;
    deb) "$here/deb.sh" "$version" "$machine" "$host" "$folder" ;;
  esac
done
