#!/usr/bin/env python3
"""Checks the documents: what they name is there, and no sentence has more than 25 words.

Names are files, links and their headings, options, variables and functions.

Usage: cmake/check_docs.py FOLDER

They stand in backticks, in blocks of code, or in links. Tables and headings have no sentences here; code counts as
one word. Findings are dated and never edited, and docs/measurements.md is generated, so neither is looked at.
"""
import fnmatch
import os
import re
import sys

PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "bench", "docs", "examples", "runtime", "tests", "tools")
SKIPPED = ("docs/findings/0", "docs/measurements.md", "tests/fuzz/corpus/")
# Options and files of other programs.
FOREIGN_FILES = {"cuda.h"}
FOREIGN_OPTIONS = set("""
    --activities --build --cflags --component --config --cycles-device --define-variable --disable-dynamic-vram
    --gpu-memory-utilization --gres --gtest_filter --install --libs --long --mem --output-on-failure --prefix --preset
    --show-error --target --test-dir
""".split())
MOST_WORDS = 25
SOURCE = (".cc", ".h", ".hpp", ".cu", ".inc", ".c", ".py", ".sh", ".in", ".cmake", ".json", ".txt", ".js", ".html",
          ".map", ".css")
FILE = re.compile(r"^[\w.*{},-]+(/[\w.*{},-]+)*\.(cc|h|hpp|cu|inc|md|py|sh|txt|tsv|json|jsonl|html|map)$")


def tree(top):
    """The files and folders below `top`, as paths from it, less what is built."""
    paths = set()
    for folder, names, files in os.walk(top):
        inside = os.path.relpath(folder, top)
        names[:] = [n for n in names if n != ".git" and not (inside == "." and n in ("build", "issues"))]
        for name in names + files:
            paths.add(os.path.normpath(os.path.join(inside, name)))
    return paths


def alternatives(text):
    """The texts that a{b,c}d stands for."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [t for part in match.group(1).split(",")
            for t in alternatives(text[:match.start()] + part + text[match.end():])]


def anchor(heading):
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return text.replace(" ", "-")


class Checker:
    def __init__(self, top):
        self.top = top
        self.paths = tree(top)
        self.names = {os.path.basename(p) for p in self.paths}
        self.complaints = []
        sources = [p for p in self.paths if p.endswith(SOURCE) or os.access(self.file(p), os.X_OK)]
        texts = []
        for path in sorted(sources):
            if os.path.isfile(self.file(path)) and "/corpus/" not in path and not path.endswith(".md"):
                texts.append(self.read(path))
        self.source = "\n".join(texts)
        self.words = set(re.findall(r"\w+", self.source))
        self.options = set(re.findall(r"--[a-z][\w-]*", self.source))

    def file(self, path):
        return os.path.join(self.top, path)

    def read(self, path):
        with open(self.file(path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def pages(self):
        for path in sorted(self.paths):
            if path.endswith(".md") and path.split("/")[0] in PAGES and not path.startswith(SKIPPED):
                yield path

    def there(self, name, page):
        """Whether a file or folder of that name is in the tree, at its place or, without one, anywhere."""
        for one in alternatives(name.rstrip("/")):
            places = {one, os.path.normpath(os.path.join(os.path.dirname(page), one))}
            if "*" in one:
                pool = self.paths if "/" in one else self.names
                if not any(fnmatch.fnmatch(p, place) for p in pool for place in places):
                    return False
            elif not (places & self.paths or ("/" not in one and one in self.names) or
                      any(p.endswith("/" + one) for p in self.paths)):
                return False
        return True

    def program(self, name):
        """Whether a program of the build has that name."""
        return re.search(r"\b" + re.escape(name) + r"\b", self.source) is not None

    def complain(self, page, number, what):
        self.complaints.append(f"{page}:{number}: {what}")

    def check_word(self, page, number, word):
        word = re.sub(r"\b(NAME|FILE)\b|(?<=_)(NAME|FILE)", "*", word.rstrip(".,:;)").lstrip("("))
        if word.startswith("build/"):
            name = os.path.basename(word)
            if "/bin/" in word and not self.program(name):
                self.complain(page, number, f"no program {name} is built")
        elif FILE.match(word) and word.split("/")[0] != "":
            if ("/" in word and word.split("/")[0] in {p for p in self.paths if "/" not in p}) or "/" not in word:
                if not self.there(word, page) and not self.made(word) and word not in FOREIGN_FILES:
                    self.complain(page, number, f"{word} is not there")
        elif re.match(r"^[\w-]+(/[\w*-]+)+/?$", word) and word.split("/")[0] in PAGES + ("cmake", "include"):
            if not self.there(word, page):
                self.complain(page, number, f"{word} is not there")

    def made(self, word):
        """Files that commands write or that are examples: no place, and named in no source."""
        return "/" not in word and not word.endswith((".cc", ".h", ".inc", ".cu", ".hpp", ".md", ".sh"))

    def check_code(self, page, number, code):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code):
            if option not in self.options and option not in FOREIGN_OPTIONS:
                self.complain(page, number, f"no source has the option {option}")
        for name in re.findall(r"\b(?:VRAMSPAN|SIMCUDA)_[A-Z_]+[A-Z]\b(?!\*)", code):
            if name not in self.words:
                self.complain(page, number, f"no source has {name}")
        for name in re.findall(r"\bvramspan[A-Z]\w*", code):
            if name not in self.words:
                self.complain(page, number, f"no source has {name}")
        words = code.split()
        for before, word in zip([""] + words, words):
            if before not in ("-o", "--output"):
                self.check_word(page, number, word)

    def members(self, name):
        """The text of all classes and structs of that name."""
        start = re.compile(r"^( *)(?:template <.*>\s+)?(?:class|struct) [^;{}=]*?\b" + re.escape(name) +
                           r"(?: final)?(?: :[^;{}]*)? \{", re.M)
        for match in start.finditer(self.source):
            end = re.compile(r"^" + match.group(1) + r"\};", re.M).search(self.source, match.end())
            yield self.source[match.end():end.start() if end else None]

    def check_name(self, page, number, code):
        """`Class::Member`: written so in a source, or in the class."""
        if not re.fullmatch(r"[A-Z]\w*(::~?\w+)+", code) or code in self.source:
            return
        name, member = code.split("::")[-2:]
        if not any(re.search(r"\b" + re.escape(member) + r"\b", body) for body in self.members(name)):
            self.complain(page, number, f"no source has {code}")

    def check_link(self, page, number, target):
        if re.match(r"[a-z]+:", target):
            return
        path, _, heading = target.partition("#")
        other = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if other not in self.paths:
            self.complain(page, number, f"the link to {target} leads nowhere")
        elif heading and heading not in {anchor(h) for h in re.findall(r"^#+ +(.*)$", self.read(other), re.M)}:
            self.complain(page, number, f"{other} has no heading #{heading}")

    def check_sentences(self, page, number, text):
        """`text` is a paragraph, or an item of a list."""
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
        text = re.sub(r"`[^`]*`", "Code", text).replace("**", "")
        for sentence in re.split(r"(?<=[.!?])\s+|(?<=[:;])\s+(?=[A-Z(\[])", text):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST_WORDS:
                self.complain(page, number, f"{len(words)} words: {' '.join(sentence.split())}")

    def check_page(self, page):
        fenced = False
        prose = []
        for number, line in enumerate(self.read(page).splitlines(), 1):
            if line.startswith("```"):
                fenced = not fenced
            elif fenced or line.startswith("    "):
                self.check_code(page, number, line)
            else:
                prose.append(line)
                continue
            prose.append("")
        text = "\n".join(prose)
        paragraph = []
        for number, line in enumerate(prose + [""], 1):
            item = re.match(r"\s*([-*]|\d+\.)\s", line)
            if paragraph and (item or not line.strip() or line.startswith(("#", "|"))):
                self.check_sentences(page, number - len(paragraph), "\n".join(paragraph))
                paragraph = []
            if line.strip() and not line.startswith(("#", "|")):
                paragraph.append(line[item.end():] if item else line)
        # Code may go on in the next line, never past an empty one.
        for match in re.finditer(r"`([^`\n]+(?:\n[^`\n]+)*)`", text):
            number = text.count("\n", 0, match.start()) + 1
            self.check_code(page, number, match.group(1))
            self.check_name(page, number, match.group(1))
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            self.check_link(page, text.count("\n", 0, match.start()) + 1, match.group(1))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: cmake/check_docs.py FOLDER")
    checker = Checker(sys.argv[1])
    pages = list(checker.pages())
    if not pages:
        sys.exit(f"{sys.argv[1]} has no pages")
    for page in pages:
        checker.check_page(page)
    for complaint in checker.complaints:
        print(complaint, file=sys.stderr)
    if checker.complaints:
        sys.exit(1)
    print(f"{len(pages)} pages name nothing that is not there, in sentences of at most {MOST_WORDS} words")


main()
