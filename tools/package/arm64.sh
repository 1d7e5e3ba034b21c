#!/bin/bash
# Fetches what the cross build for aarch64 needs beside its compiler (g++-aarch64-linux-gnu): Debian's libraries and
# headers for arm64, unpacked into a folder. The machine's own packages and lists stay as they are.
#
# Usage: tools/package/arm64.sh FOLDER
set -euo pipefail
folder=$1
packages=(libzstd-dev liblz4-dev zlib1g-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev)
[[ ! -e $folder/usr/include/lz4.h ]] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
options=(
  -qq
  -o APT::Architecture=arm64 -o APT::Architectures=arm64
  -o Dir::State::Lists="$work/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache"
  -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3
)
# A source without packages for arm64 is no harm: what is needed is found afterwards, or not.
apt-get "${options[@]}" update >"$work/log" 2>&1 || true
(cd "$work" && apt-get "${options[@]}" download "${packages[@]}") >>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for package in "$work"/*.deb; do
  dpkg-deb -x "$package" "$work/root"
done
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work/root" "$folder"
