#!/bin/bash
# Makes the documentation site of the repository's pages, by Sphinx, which it installs. The site needs no network and
# no server, search included: open index.html.
#
# Usage: tools/docs.sh [FOLDER]
#   FOLDER   gets the site, in place of what it made there before (default: build/site)
#
# A link that leads nowhere, or a page in no list, ends it.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) echo "docs: unknown argument '$1' (see --help)" >&2; exit 2 ;;
esac
repo=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$repo/build/site}
"$repo/tools/setup.sh" docs
if [[ -e $folder && ! -e $folder/searchindex.js && -n $(ls -A "$folder") ]]; then
  echo "docs: $folder holds something else than a site; name another folder" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sphinx-build -q -W --keep-going -n -c "$repo/tools/docs" -d "$work/doctrees" -b html "$repo" "$work/site"
rm -rf "$work/site/.buildinfo" "$folder"
mkdir -p "$(dirname "$folder")"
mv "$work/site" "$folder"
chmod 755 "$folder"
echo "docs: $(find "$folder" -name '*.html' | wc -l) pages in $folder"
