#!/bin/bash
# Writes the .deb from the tree that is installed, by CPack. The tree stands in /usr/lib/vramspan as it is, so that
# the command finds its libraries; /usr/bin has a link to the command, and the pages are where Debian has pages.
#
# Usage: tools/package/deb.sh VERSION MACHINE TREE FOLDER
set -euo pipefail
umask 022
version=$1
machine=$2
tree=$3
folder=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

usr=$work/root/usr
doc=$usr/share/doc/vramspan
mkdir -p "$usr/lib" "$usr/bin" "$usr/share/lintian/overrides" "$doc"
cp -a "$tree" "$usr/lib/vramspan"
ln -s ../lib/vramspan/bin/vramspan "$usr/bin/vramspan"
mv "$usr/lib/vramspan/share/man" "$usr/share/man"
cp -a "$usr/lib/vramspan/share/doc/vramspan/." "$doc"
mv "$usr/lib/vramspan/share/vramspan" "$usr/share/vramspan"
mv "$usr/lib/vramspan/share/bash-completion" "$usr/lib/vramspan/share/fish" "$usr/share"
# Debian's zsh looks there, and in site-functions only below /usr/local.
mkdir -p "$usr/share/zsh"
mv "$usr/lib/vramspan/share/zsh/site-functions" "$usr/share/zsh/vendor-completions"
rm -r "$usr/lib/vramspan/share"
mv "$usr/lib/vramspan/lib/systemd" "$usr/lib/systemd"
gzip -9n "$usr/share/man/man1/vramspan.1"
mv "$doc/CHANGELOG.md" "$doc/NEWS.md"

# Debian's form of both. The Apache licence is on every Debian; the text would only stand there twice.
rm "$doc/LICENSE"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: vramspan\n\n'
  printf 'Files: *\nCopyright: the authors of vramspan\nLicense: Apache-2.0\n'
  printf ' The licence is in /usr/share/common-licenses/Apache-2.0.\n .\n'
  printf ' The binaries hold parts of other works, with these licences:\n .\n'
  sed -e 's/[[:space:]]*$//' -e 's/^$/./' -e 's/^/ /' "$doc/THIRD-PARTY.txt"
} >"$doc/copyright"
rm "$doc/THIRD-PARTY.txt"
{
  printf 'vramspan (%s) stable; urgency=medium\n\n  * NEWS.md says what is new.\n\n' "$version"
  printf ' -- %s  %s\n' "$(cat "$here/maintainer")" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"
cp "$here/lintian-overrides" "$usr/share/lintian/overrides/vramspan"
find "$usr" -name '*.so*' -type f -exec chmod 0644 {} +
find "$work/root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

case $machine in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "$0: what does Debian call $machine?" >&2; exit 1 ;;
esac
cat >"$work/CPackConfig.cmake" <<CONFIG
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vramspan)
set(CPACK_PACKAGE_VERSION [[$version]])
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "more memory than the GPU has, for CUDA programs")
set(CPACK_PACKAGE_DESCRIPTION "vramspan gives a CUDA program more memory than its GPU has, behind addresses\nthat never change. Host memory backs what does not fit, and moves to the\nGPU before the kernels that need it.")
set(CPACK_PACKAGE_CONTACT [[$(cat "$here/maintainer")]])
set(CPACK_PACKAGE_DIRECTORY [[$work/out]])
set(CPACK_INSTALLED_DIRECTORIES [[$work/root]] ".")
set(CPACK_PACKAGE_FILE_NAME vramspan)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE $architecture)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
CONFIG
cpack --config "$work/CPackConfig.cmake" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cp "$work"/out/*.deb "$folder"
echo "$folder/$(basename "$work"/out/*.deb)"
