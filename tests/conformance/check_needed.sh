#!/bin/bash
# Fails if a program needs a library that is not a part of the C library.
#
# Usage: check_needed.sh PROGRAM
set -euo pipefail

needed=$(readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[[ -n $needed ]] || { echo "$1: no needed library found; is it a dynamic program?" >&2; exit 1; }
others=$(grep --invert-match --line-regexp --extended-regexp \
  'lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-x86-64\.so\.2' <<<"$needed" || true)
if [[ -n $others ]]; then
  echo "$1 needs more than the C library:" >&2
  echo "$others" >&2
  exit 1
fi
