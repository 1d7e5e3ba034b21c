#!/bin/bash
# Makes libraries to link against, so that what is linked runs with an old glibc, whatever glibc this machine has.
#
# Usage: cmake/old_glibc/stubs.sh VERSION FOLDER COMPAT COMPILER...
#   VERSION   the newest glibc that may be needed, for example 2.28
#   FOLDER    gets libc.so.6, libm.so.6, ..., which have the symbols and versions of this machine's, but no code
#   COMPAT    an archive that has what VERSION lacks; FOLDER/libc.so takes from it what is called
#
# A symbol has the newest of its versions that is no newer than VERSION: glibc keeps the older ones for good. What
# came later is missing, and the linker names it. So is what glibc keeps for old programs alone, without a default
# version. Since 2.34 libc.so.6 has what was in libraries of their own.
# The stubs put it back there, because with an old glibc somebody must load them.
#
# Who names no version gets that one, unless COMPAT has the symbol. Then the stub's is not the default version: the
# linker takes a default one and what a library itself exports under that name for the same symbol.
set -euo pipefail
if [[ $# -lt 4 ]]; then
  echo "usage: $0 VERSION FOLDER COMPAT COMPILER..." >&2
  exit 2
fi
version=$1
folder=$2
compat=$3
shift 3
compiler=("$@")
mkdir -p "$folder"

file_of() {
  local path
  path=$("${compiler[@]}" -print-file-name="$1")
  [[ -e $path ]] || return 1
  readlink -f "$path"
}
in_compat=$(readelf -sW "$compat" | awk '$5 == "GLOBAL" && $7 != "UND" { print $8 }' | sort -u | paste -sd' ')

# Symbols of the library in $1: library, name, version, kind, size.
symbols_of() {
  local path
  path=$(file_of "$1") || return 0
  readelf --dyn-syms -W "$path" | awk -v library="$1" -v limit="$version" -v in_compat="$in_compat" '
    function number(text,    part) { split(text, part, "."); return part[1] * 1e6 + part[2] * 1e3 + part[3] }
    BEGIN { split(in_compat, words, " "); for (i in words) ours[words[i]] }
    $7 == "UND" || $7 == "ABS" || NF < 8 || $5 == "LOCAL" { next }
    split($8, part, /@+/) == 2 && part[2] ~ /^GLIBC_[0-9.]+$/ {
      name = part[1]
      if ($8 ~ /@@/) for_new_programs[name] = 1
      value = number(substr(part[2], 7))
      if (!(name in newest) || value > newest[name]) newest[name] = value
      if (value > number(limit) || (name in best) && value < best[name]) next
      best[name] = value; node[name] = part[2]; kind[name] = $4; size[name] = $3
    }
    END {
      for (name in best) {
        if (!(name in for_new_programs)) continue
        home = library
        if (library == "libc.so.6" && newest[name] > best[name]) {
          if (name ~ /^dl/) home = "libdl.so.2"
          else if (name ~ /^(_*pthread_|sem_|thrd_|mtx_|cnd_|tss_|call_once$)/) home = "libpthread.so.0"
          else if (name ~ /^(aio_|lio_|mq_|shm_|timer_)/) home = "librt.so.1"
        }
        at = name in ours ? "@" : "@@"
        print home, name, node[name], kind[name], size[name], at
      }
    }'
}

libraries=(libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1)
all=$(for library in "${libraries[@]}"; do symbols_of "$library"; done | sort -u -k1,2)
[[ $(wc -l <<<"$all") -gt 1000 ]] || { echo "$0: $(file_of libc.so.6) has too few symbols" >&2; exit 1; }

for library in "${libraries[@]}"; do
  awk -v library="$library" '
    $1 != library { next }
    $4 == "OBJECT" { print ".bss\n.balign 32" }
    $4 == "TLS" { print ".section .tbss,\"awT\",%nobits\n.balign 16" }
    $4 != "OBJECT" && $4 != "TLS" { print ".text" }
    {
      type = $4 == "OBJECT" ? "object" : $4 == "TLS" ? "tls_object" : "function"
      bytes = type == "function" || $5 == "0" ? 1 : $5
      label = $6 == "@@" ? $2 : "vramspan_old_" $2
      print ".globl " label "\n.type " label ", %" type "\n" label ":\n.skip " bytes "\n.size " label ", " bytes
      if (label != $2) print ".symver " label ", " $2 "@" $3
    }' <<<"$all" >"$folder/$library.s"
  awk -v library="$library" '
    $1 == library { names[$3] = names[$3] ($6 == "@@" ? " " $2 ";" : "") }
    END {
      for (node in names) print node " {" (names[node] == "" ? "" : " global:" names[node]) " };"
      print "VRAMSPAN_NO_MORE { local: *; };"
    }' <<<"$all" | sort >"$folder/$library.map"
  "${compiler[@]}" -shared -nostdlib -x assembler "$folder/$library.s" -Wl,-soname,"$library" \
    -Wl,--version-script="$folder/$library.map" -o "$folder/$library"
  rm "$folder/$library.s" "$folder/$library.map"
done

# What -lc and the others find: before what is named first, an archive's members count where they are called.
nonshared=$(file_of libc_nonshared.a)
loader=$(file_of ld-linux-x86-64.so.2 || file_of ld-linux-aarch64.so.1)
echo "GROUP ( \"$compat\" \"$folder/libc.so.6\" AS_NEEDED ( \"$folder/libpthread.so.0\" \"$folder/libdl.so.2\"" \
  "\"$folder/librt.so.1\" ) \"$nonshared\" AS_NEEDED ( \"$loader\" ) )" >"$folder/libc.so"
echo "GROUP ( \"$folder/libm.so.6\" )" >"$folder/libm.so"
for library in pthread.so.0 dl.so.2 rt.so.1; do
  echo "GROUP ( AS_NEEDED ( \"$folder/lib$library\" ) )" >"$folder/lib${library%%.*}.so"
done
