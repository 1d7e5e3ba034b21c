#!/bin/bash
# Builds what users install: a wheel, a .deb and a tarball, for glibc 2.28 and later, each with its SBOM and licences.
#
# Usage: tools/package/build.sh [--from BUILD] [--only KIND]... [FOLDER]
#   --from BUILD  package a build folder that is there (default: build the preset `package`)
#   --only KIND   wheel, deb or tarball (default: all three)
#   FOLDER        gets the packages (default: build/packages)
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
kinds=()
folder=$repo/build/packages
while [[ $# -gt 0 ]]; do
  case $1 in
    --from) build=$(cd "${2:?--from takes a build folder}" && pwd); given=true; shift ;;
    --only)
      [[ " wheel deb tarball " == *" ${2:-} "* ]] || die "--only takes wheel, deb or tarball, not '${2:-}'"
      kinds+=("$2")
      shift
      ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown argument '$1' (see --help)" ;;
    *) folder=$1 ;;
  esac
  shift
done
[[ ${#kinds[@]} -gt 0 ]] || kinds=(wheel deb tarball)

if [[ -z $build ]]; then
  "$repo/tools/setup.sh" build
  build=$repo/build/package
  (
    cd "$repo"
    cmake --preset package >/dev/null
    cmake --build --preset package -j "${JOBS:-$(nproc)}" -- --quiet
  ) >&2
fi
for tool in python3 strip; do
  command -v "$tool" >/dev/null || die "$tool is missing: run tools/setup.sh test"
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

# The tree that all packages hold.
tree=$work/vramspan
for component in library tools; do
  cmake --install "$build" --component "$component" --prefix "$tree" --strip >/dev/null
done
doc=$tree/share/doc/vramspan
mkdir -p "$doc/docs"
cp "$repo/README.md" "$repo/CHANGELOG.md" "$repo/LICENSE" "$doc"
cp "$repo"/docs/*.md "$doc/docs"
version=$("$tree/bin/vramspan" --version)
version=${version#vramspan }

# Every binary of it, and those inside: the images of kernels for the simulated driver.
mapfile -t binaries < <(find "$tree" -type f \( -name '*.so*' -o -path '*/bin/*' \) | sort)
mapfile -t images < <(find "$build" -path '*/kernels/*.so' ! -path '*/tests/*' ! -path '*/bench/*' ! -path '*/examples/*')
"$repo/cmake/old_glibc/check.sh" 2.28 "${binaries[@]}" "${images[@]}" >&2
if ! find "$build" -name '*.fatbin' | grep -q .; then
  echo "package: no kernel has code for GPUs, because nvcc was not found" >&2
  $given || exit 1
fi

"$here/sbom.py" --version "$version" --abseil "$(sed -n 's/^VRAMSPAN_ABSEIL_SOURCE_DIR:PATH=//p' "$build/CMakeCache.txt")" \
  "$tree" "$doc/vramspan.spdx.json" "$doc/THIRD-PARTY.txt"

machine=$(uname -m)
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
    deb) "$here/deb.sh" "$version" "$tree" "$folder" ;;
  esac
done
