"""How Sphinx makes the documentation site of the pages that stand in the repository (tools/docs.sh runs it).

The pages are written for readers of the repository: their links lead to files. Here those to other pages become links
between pages, and those to sources are copied beside them. What a page cannot say on GitHub, the order of the pages, is
said here.
"""
import os
import re
import shutil

project = "vramspan"
author = "the authors of vramspan"
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**.md", "bench/**.md",
                    "runtime/README.md", "tests/README.md", "examples/traces/README.md", "tools/broker/README.md",
                    "third_party/uplot/README.md",
                    "tools/simcuda/*.md"]
exclude_patterns = ["build"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
nitpicky = True
smartquotes = False
highlight_language = "none"

html_theme = "sphinx_rtd_theme"
html_theme_options = {"collapse_navigation": True, "navigation_depth": 2, "display_version": True}
html_title = "vramspan"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_show_search_summary = False  # It would fetch the pages, which browsers forbid to pages that are files.

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/vramspan/vramspan.h"),
          encoding="utf-8") as header:
    version = release = ".".join(re.findall(r"#define VRAMSPAN_VERSION_[MP][A-Z]* (\d+)", header.read()))

# The order in which pages are listed. A page in no list ends it.
PARTS = (
    ("Use it", ("docs/install", "docs/preload", "docs/top", "docs/budgets", "docs/overlap", "docs/compatibility",
                "docs/replay", "docs/report", "docs/audit", "docs/trust", "docs/learned", "docs/linking",
                "docs/versions", "SECURITY", "CHANGELOG")),
    ("Recipes", ("docs/recipes/README", "docs/recipes/*")),
    ("Share a GPU", ("docs/sharing", "docs/what-goes-wrong", "docs/broker-protocol", "tools/broker/README")),
    ("How it works", ("docs/glossary", "docs/life-of-a-launch", "docs/scheduler", "docs/chunk-states", "docs/graphs",
                      "docs/identities", "docs/checks", "docs/trace-format", "docs/events-format", "docs/conformance",
                      "runtime/README", "tools/simcuda/README", "tools/simcuda/KERNELS")),
    ("What was measured", ("docs/measurements", "bench/*", "examples/*", "docs/findings/README", "docs/findings/*")),
    ("Work on it", ("CONTRIBUTING", "tests/README", "docs/releasing", "third_party/*")),
)


def toctrees(pages):
    """The lists of pages, as MyST has them. Each page is in the first list that names it."""
    import fnmatch
    left = sorted(pages - {root_doc})
    text = ""
    for caption, patterns in PARTS:
        part = []
        for pattern in patterns:
            found = [page for page in left if fnmatch.fnmatchcase(page, pattern)]
            part += found
            left = [page for page in left if page not in found]
        listed = "\n".join("/" + page for page in part)
        text += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{listed}\n```\n"
    return text


def add_toctrees(app, page, source):
    if page == root_doc:
        source[0] += toctrees(set(app.env.found_docs))


def add_index(app, error):
    if error is None:
        shutil.copy(os.path.join(app.outdir, root_doc + ".html"), os.path.join(app.outdir, "index.html"))


def setup(app):
    app.connect("source-read", add_toctrees)
    app.connect("build-finished", add_index)
