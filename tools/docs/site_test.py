#!/usr/bin/env python3
"""Makes the documentation site, follows every link of it, and searches it in a headless Chromium without a network.

Usage: tools/docs/site_test.py
"""
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
# A word, and a page that is found by it.
SEARCHES = (("expandable", "docs/preload.html"), ("gguf", "docs/recipes/llama-cpp.html"))
# Attributes by which a page takes in something else: that is never of another host.
TAKEN = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.taken, self.anchors = [], [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in TAKEN:
                self.taken.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def wrong_links(site):
    """What is wrong, and how many links were followed."""
    pages = {}
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html") and "_downloads" not in folder:
                path = os.path.join(folder, name)
                pages[path] = Page(path)
    wrong, followed = [], 0
    for path, page in pages.items():
        for link in page.links + page.taken:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.taken or parts.scheme not in ("http", "https", "mailto"):
                    wrong.append(f"{path} takes in {link}")
                continue
            followed += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if not os.path.isfile(target):
                wrong.append(f"{path}: {link} leads nowhere")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{path}: {link} leads to no heading")
    return wrong, followed, len(pages)


def chromium():
    for name in (os.environ.get("VRAMSPAN_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return name
    sys.exit("no Chromium here: install it (tools/setup.sh does), or name it in VRAMSPAN_CHROMIUM")


def opened(page, query, folder):
    """The page as it stands when its scripts have run, and what they complained of."""
    # A proxy that nothing listens to, and no name resolves: what is asked for cannot be answered.
    done = subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--enable-logging=stderr",
         "--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile",
         "--virtual-time-budget=60000", "--dump-dom", "file://" + urllib.parse.quote(page) + query],
        capture_output=True, text=True, check=False, timeout=180)
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, complaints


def main():
    if len(sys.argv) != 1:
        sys.exit(__doc__.split("\n\n")[1])
    with tempfile.TemporaryDirectory(prefix="vramspan site ") as folder:
        site = os.path.join(folder, "a site")
        subprocess.run([os.path.join(HERE, "..", "docs.sh"), site], check=True)
        wrong, followed, pages = wrong_links(site)
        if pages < 80 or followed < 1000:
            wrong.append(f"there are {pages} pages with {followed} links alone")
        dom, complaints = opened(os.path.join(site, "index.html"), "", folder)
        wrong += complaints
        if not re.search(r'<a [^>]*href="docs/recipes/README\.html"', dom):
            wrong.append("the first page leads to no recipes")
        for word, page in SEARCHES:
            dom, complaints = opened(os.path.join(site, "search.html"), "?q=" + word, folder)
            wrong += complaints
            results = dom[dom.find('id="search-results"'):]
            if not re.search(rf'<a href="{re.escape(page)}[^"]*"', results):
                wrong.append(f"a search for {word} does not find {page}: {results[:1000]}")
    for what in wrong:
        print(what, file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"{pages} pages: {followed} links lead somewhere, {len(SEARCHES)} searches find their page")


main()
