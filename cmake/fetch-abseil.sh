#!/bin/bash
# Fetches the distribution's source package of abseil and unpacks it into the folder given.
#
# Usage: cmake/fetch-abseil.sh FOLDER
#
# Why the source package: Debian's static libraries of abseil are not position independent, and what is
# injected into a program must carry abseil inside. The deb-src list is derived from the machine's own
# package sources and handed to apt on its command line, with a private folder for apt's state, so neither
# the system's configuration nor its package lists change. Does nothing if FOLDER is complete; two callers
# at once are safe (the second waits for the first).
set -euo pipefail

if [[ $# -ne 1 || $1 == -* ]]; then
  echo "usage: $0 FOLDER" >&2
  exit 2
fi
target=$1
mkdir -p "$(dirname "$target")"
target=$(cd "$(dirname "$target")" && pwd)/$(basename "$target")

die() {
  echo "fetch-abseil: $*" >&2
  echo "fetch-abseil: or unpack abseil 20220623 or later yourself and configure with" \
    "-DVRAMSPAN_ABSEIL_SOURCE_DIR=FOLDER" >&2
  exit 1
}

exec 9>"$target.lock"
flock 9

# The last step below is a rename, so a folder with this file in it is a complete one.
[[ -f $target/absl/base/config.h ]] && exit 0

for tool in apt-get dpkg-source; do
  command -v "$tool" >/dev/null || die "$tool is missing: run tools/setup.sh (package dpkg-dev)"
done

work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial" "$work/src"

# Both forms of a source list: deb822 stanzas (.sources) and one-line entries (.list).
found=0
for file in /etc/apt/sources.list.d/*.sources; do
  [[ -r $file ]] || continue
  sed -E 's/^Types:.*/Types: deb-src/I' "$file" >"$work/sources/$(basename "$file")"
  found=1
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [[ -r $file ]] || continue
  sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]/deb-src /p' "$file" | sort -u \
    >"$work/sources/$(basename "$file" .list).list"
  found=1
done
[[ $found -eq 1 ]] || die "no package sources found under /etc/apt"

# Sandbox::User: apt would otherwise drop to a user that cannot read this folder, and warn.
apt_options=(
  -qq
  -o Dir::Etc::SourceList=/dev/null
  -o "Dir::Etc::SourceParts=$work/sources"
  -o "Dir::State::Lists=$work/lists"
  -o "Dir::Cache=$work/cache"
  -o APT::Sandbox::User=root
  -o APT::Get::List-Cleanup=0
  -o Acquire::Languages=none
  -o Acquire::Retries=3
)

# One unreachable third-party source must not stop this, so the update's own result does not count: the
# package is either found afterwards or not.
log=$work/log
apt-get "${apt_options[@]}" update >"$log" 2>&1 || true
if ! (cd "$work/src" && apt-get "${apt_options[@]}" source abseil) >>"$log" 2>&1; then
  cat "$log" >&2
  die "apt-get could not get the source package 'abseil'"
fi

unpacked=$(find "$work/src" -mindepth 1 -maxdepth 1 -type d | head -n 1)
[[ -n $unpacked && -f $unpacked/absl/base/config.h ]] ||
  die "the source package 'abseil' does not hold absl/base/config.h"
# Debian pins abseil's own string_view and friends, for the sake of its shared libraries; built in here, abseil
# follows the language instead: absl::string_view is std::string_view.
sed -i -E 's/(define ABSL_OPTION_USE_STD_(ANY|OPTIONAL|STRING_VIEW|VARIANT)) 0/\1 2/' \
  "$unpacked/absl/base/options.h"
rm -rf "$target"
mv "$unpacked" "$target"
echo "fetch-abseil: $(basename "$unpacked") is in $target"
