#!/usr/bin/env python3
"""Copies the pages that packages hold. A link to what they do not hold becomes its text.

Usage: tools/package/pages.py REPOSITORY FOLDER
"""
import os
import pathlib
import re
import sys

PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "docs/*.md", "docs/*.html", "docs/recipes/*.md",
         "docs/findings/*.md")
FENCED = re.compile(r"(^```.*?^```$)", re.M | re.S)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def with_links_to(there, page, text):
    """`text` of `page`, with links to `there` and to addresses alone."""
    def kept(link):
        label, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0]))
        return link[0] if path in there else label
    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(kept, part) for part in parts)


def main():
    repository, folder = map(pathlib.Path, sys.argv[1:])
    there = {str(p.relative_to(repository)) for pattern in PAGES for p in repository.glob(pattern)}
    for name in sorted(there):
        content = (repository / name).read_text(encoding="utf-8")
        if name.endswith(".md"):
            content = with_links_to(there, name, content)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
