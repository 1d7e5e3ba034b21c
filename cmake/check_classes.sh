#!/bin/bash
# Checks that classes stay small: at most 25 data members and 40 functions. A plain record without functions is
# exempt. A record that only bundles pointers counts as what it bundles, where a class has it as a member.
#
# Usage: cmake/check_classes.sh [--all] [REPOSITORY]
#   --all   print what every class has
set -euo pipefail
most_members=25
most_functions=40
all=0
if [[ ${1:-} == --all ]]; then
  all=1
  shift
fi
cd "${1:-$(dirname "$0")/..}"

find $(ls -d runtime tools/broker tools/prove tools/reader tools/replay 2>/dev/null) \( -name '*.h' -o -name '*.cc' \) | sort | xargs awk -v all=$all \
  -v most_members=$most_members -v most_functions=$most_functions '
  # Without comments, literals, annotations, attributes and preprocessor lines.
  function clean(line) {
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "0", line)
    gsub(/\047[^\047]*\047/, "0", line)
    if (comment) {
      if (!sub(/^.*\*\//, "", line)) return ""
      comment = 0
    }
    gsub(/\/\*[^*]*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    if (sub(/\/\*.*/, "", line)) comment = 1
    if (line ~ /^[ \t]*#/) return ""
    gsub(/VS_[A-Z_]+\([^()]*(\([^()]*\))?[^()]*\)/, "", line)
    gsub(/VS_[A-Z_]+|\[\[[^]]*\]\]|alignas\([^)]*\)/, "", line)
    return line
  }
  # What a piece of a class is: a function, so many members, or nothing that counts.
  function piece(text,    head, depth, i, c, count) {
    gsub(/(public|private|protected):/, "", text)
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    if (text == "" || text ~ /^(using|friend|typedef|static_assert|enum|template *<[^>]*> *(class|struct)|class|struct)[^A-Za-z_0-9]/ && text !~ /@/) return
    head = text
    sub(/[^=!<>]=[^=].*/, "", head)
    while (gsub(/<[^<>]*>/, "", head)) {}
    gsub(/\{[^{}]*\}/, "", head)
    # A pointer to a function is a member.
    if (head ~ /\(/ && head !~ /\(\*/) {
      functions[name[level]]++
      return
    }
    if (text ~ /^static /) return
    count = 1
    for (i = 1; i <= length(text); i++) {
      c = substr(text, i, 1)
      if (c ~ /[<({]/) depth++
      if (c ~ /[>)}]/) depth--
      if (c == "," && depth == 0) count++
    }
    members[name[level]] += count
    if (text !~ /\*/ && text !~ /&/) valued[name[level]]++
    sub(/^(const|mutable) /, "", head)
    if (match(head, /^[A-Za-z_:0-9]+/)) {
      types[name[level]] = types[name[level]] " " substr(head, RSTART, RLENGTH)
    }
  }
  FNR == 1 { level = 0; text = ""; comment = 0 }
  {
    line = clean($0)
    n = length(line)
    for (i = 1; i <= n; i++) {
      c = substr(line, i, 1)
      if (c == "{") {
        saved[++level] = ""
        kind[level] = "other"
        if (text ~ /(^|[^A-Za-z_])(class|struct) +[A-Za-z_:0-9]+( +final)? *(:[^:].*)?$/ && text !~ /enum +(class|struct)/) {
          kind[level] = "class"
          tag = text
          sub(/^.*(class|struct) +/, "", tag)
          match(tag, /^[A-Za-z_:0-9]+/)
          tag = substr(tag, 1, RLENGTH)
          name[level] = (kind[level - 1] == "class" ? name[level - 1] "::" : FILENAME ":") tag
          if (!(name[level] in seen)) order[++total] = name[level]
          seen[name[level]] = 1
          base[name[level]] = text ~ /:[^:]/
        } else if (kind[level - 1] == "class" && level > 1 && text ~ /\(/) {
          kind[level] = "function"
          level--
          piece(text)
          level++
        } else if (kind[level - 1] == "class" && level > 1) {
          kind[level] = "value"
          saved[level] = text
        }
        text = ""
      } else if (c == "}") {
        was = kind[level]
        text = was == "value" ? saved[level] "{}" : was == "class" ? "@" : ""
        level--
        if (level < 0) level = 0
      } else if (c == ";") {
        if (level > 0 && kind[level] == "class") {
          if (text != "@") piece(text)
        }
        text = ""
      } else if (c == ":" && text ~ /(public|private|protected)$/) {
        text = ""
      } else {
        text = text c
      }
    }
    text = text " "
  }
  END {
    for (i = 1; i <= total; i++) {
      x = order[i]
      if (functions[x] + 0 == 0 && members[x] > 0 && valued[x] + 0 == 0) {
        bundle = x
        sub(/^.*:/, "", bundle)
        bundles[bundle] = members[x]
      }
    }
    for (i = 1; i <= total; i++) {
      x = order[i]
      if (functions[x] + 0 == 0) continue
      has = members[x]
      m = split(types[x], names, " ")
      for (j = 1; j <= m; j++) if (names[j] in bundles) has += bundles[names[j]] - 1
      if (all) printf "%4d %4d  %s\n", has, functions[x], x
      if (has > most_members || functions[x] > most_functions) {
        printf "%s: %d data members (at most %d), %d functions (at most %d)\n", x, has, most_members, functions[x], most_functions
        bad = 1
      }
    }
    if (bad) print "split it by concept: each part has its own small state (docs/scheduler.md is an example)"
    else if (!all) print "no class of " total " is too large"
    exit bad
  }'
