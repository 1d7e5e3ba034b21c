#!/bin/bash
# Installs the packages in fresh Debian userlands, uses them there and removes them. Needs root and debootstrap.
#
# Usage: tools/package/try.sh [--from FOLDER] [--userlands FOLDER] [SUITE]...
#   --from FOLDER       has the packages (default: build them)
#   --userlands FOLDER  where userlands are made, and found again (default: /var/tmp/vramspan-userlands, for debootstrap
#                       takes no path with a space)
#   SUITE               bullseye, bookworm, trixie (default: these, and buster where a mirror has it)
#
# DEBIAN_MIRROR names another mirror than deb.debian.org.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
userlands=/var/tmp/vramspan-userlands
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages=
suites=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --from) packages=$(cd "${2:?--from takes a folder}" && pwd); shift ;;
    --userlands) userlands=${2:?--userlands takes a folder}; shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "try: unknown argument '$1' (see --help)" >&2; exit 2 ;;
    *) suites+=("$1") ;;
  esac
  shift
done
asked=${#suites[@]}
[[ $asked -gt 0 ]] || suites=(bullseye bookworm trixie buster)
for tool in debootstrap lintian unshare chroot; do
  command -v "$tool" >/dev/null || { echo "try: $tool is missing: run tools/setup.sh" >&2; exit 1; }
done
if [[ -z $packages ]]; then
  packages=$here/../../build/packages
  rm -rf "$packages"
  "$here/build.sh" "$packages"
fi
lintian --allow-root --fail-on error,warning "$packages"/*.deb
[[ $userlands != *" "* ]] || { echo "try: debootstrap takes no path with a space: '$userlands'" >&2; exit 2; }
mkdir -p "$userlands"
userlands=$(cd "$userlands" && pwd)

# inside ROOT COMMAND...: what it writes is gone afterwards, with the name space that it was in.
inside() {
  unshare --mount --pid --fork bash -euc '
    mount -t tmpfs -o size=2G tmpfs "$1/mnt"
    mkdir "$1/mnt/upper" "$1/mnt/work" "$1/mnt/root"
    mount -t overlay -o "lowerdir=$1,upperdir=$1/mnt/upper,workdir=$1/mnt/work" overlay "$1/mnt/root"
    mkdir "$1/mnt/root/packages"
    cp "${@:3}" "$1/mnt/root/packages"
    mount -t proc proc "$1/mnt/root/proc"
    exec chroot "$1/mnt/root" bash -c "$2"' inside "$@"
}

tried=0
for suite in "${suites[@]}"; do
  root=$userlands/$suite
  if [[ ! -d $root ]]; then
    if ! debootstrap --variant=minbase --include=python3-venv "$suite" "$root.new" "$mirror" >"$root.log" 2>&1; then
      if [[ $asked -eq 0 && $suite == buster ]]; then
        echo "buster: no userland, since $mirror does not have it; not tried"
        continue
      fi
      tail -n 5 "$root.log" >&2
      exit 1
    fi
    mv "$root.new" "$root"
  fi
  echo "$suite:"
  inside "$root" /packages/try_inside.sh "$packages"/*.deb "$packages"/*.whl "$packages"/*.tar.gz \
    "$here"/try_inside.sh "$here"/try_program.py
  tried=$((tried + 1))
done
echo "$tried userlands: installed, used, and removed without a trace"
