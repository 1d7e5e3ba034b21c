#!/bin/bash
# Writes the manual page of the `vramspan` command from what its --help says, so that the two never differ.
#
# Usage: cmake/man_page.sh VRAMSPAN FILE
#        cmake/man_page.sh --check VRAMSPAN     writes nothing; fails unless every option of every command is in it
set -euo pipefail
if [[ $# -ne 2 ]]; then
  echo "usage: $0 VRAMSPAN FILE | --check VRAMSPAN" >&2
  exit 2
fi
binary=$1
[[ $1 != --check ]] || binary=$2

# Text as it is: no line is a request, and hyphens can be copied.
verbatim() {
  printf '.nf\n'
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\&\\1/"
  printf '.fi\n'
}

# The subcommands of the command in the arguments.
subcommands() {
  "$binary" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}

# A line each, those of a command behind it.
commands=$(for command in $(subcommands); do
  echo "$command"
  for action in $(subcommands "$command"); do echo "$command $action"; done
done)
[[ -n $commands ]] || { echo "$0: $binary --help lists no commands" >&2; exit 1; }

page() {
  local version
  version=$("$binary" --version)
  printf '.TH VRAMSPAN 1 "" "%s" "User Commands"\n.SH NAME\n' "$version"
  printf 'vramspan \\- more memory than the GPU has, behind addresses that never change\n'
  printf '.SH SYNOPSIS\n.B vramspan\n.I command\n[options]\n.SH DESCRIPTION\n'
  "$binary" --help | verbatim
  printf '.SH COMMANDS\n'
  while read -ra command; do
    printf '.SS vramspan %s\n' "${command[*]}"
    # Where the binary lies is of no interest to who reads the page.
    "$binary" "${command[@]}" --help | sed "s|^Usage: [^ ]*|Usage: vramspan|" | verbatim
  done <<<"$commands"
}

if [[ $1 != --check ]]; then
  page >"$2"
  exit 0
fi
text=$(page)
while read -ra command; do
  for option in $("$binary" "${command[@]}" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
    grep -qF -- "${option//-/\\-}" <<<"$text" || { echo "$option of ${command[*]} is missing" >&2; exit 1; }
  done
  grep -qxF -- ".SS vramspan ${command[*]}" <<<"$text" || { echo "${command[*]} is missing" >&2; exit 1; }
done <<<"$commands"
for known in run "trace export" "broker cdi-hook"; do
  grep -qxF -- ".SS vramspan $known" <<<"$text" || { echo "$known is missing" >&2; exit 1; }
done
if grep -nE "^[.'][^A-Zn f]" <<<"$text"; then
  echo "a line of text reads as a request" >&2
  exit 1
fi
echo "a page of $(wc -l <<<"$text") lines for $(wc -l <<<"$commands") commands"
