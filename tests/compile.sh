#!/bin/bash
# A compiler launcher of builds that are made once: the tests' own files by clang++, which reads what they
# include in about half of g++'s time. What they test, also where a test compiles it again, is g++'s as ever.
#
# Usage: tests/compile.sh CLANG FOLDER FOLDER [ccache] g++ ARGUMENT...
#   FOLDER   where the tests' own files are: of the source, and of the build
set -euo pipefail
clang=$1 folders=("$2" "$3")
shift 3
launcher=()
if [[ ${1##*/} == ccache ]]; then
  launcher=("$1")
  shift
fi
source=${*: -1}  # CMake names it last.
[[ $source == *.c[cx]* && ($source == "${folders[0]}"/* || $source == "${folders[1]}"/*) ]] || exec "${launcher[@]}" "$@"
shift
# clang++ would take an old one for its own header.
[[ $source != */cmake_pch.hxx.cxx ]] || rm -f "${source%.cxx}.gch"
exec "${launcher[@]}" "$clang" -Wno-unknown-warning-option -fpch-instantiate-templates "$@"
