#!/usr/bin/env python3
"""Makes docs/measurements.md of bench/results/*.jsonl and bench/targets.json.

    bench/report.py            writes docs/measurements.md
    bench/report.py --check    writes nothing: fails where the page is not what it would write
    bench/report.py --show ID  prints every row of ID, the oldest first

Each form fails with the file and the line where a row or a target is not well-formed. The first two fail as well
where a document cites a figure (`@ID` in backquotes) that no row has, or names a page of docs/findings that is not
there. --root FOLDER reads another tree. bench/results/README.md has the form.
"""
import argparse
import json
import pathlib
import re
import sys

from figures import Row, Wrong, lines_of, read_results, read_targets

CITED = re.compile(r"`@([^`\s]+)`")
FINDING = re.compile(r"\bfindings/(\d{4}-[\w-]+\.md)")
SOURCES = ("*.md", "*.h", "*.cc", "*.cu")
SIGNS = {"at most": "≤", "at least": "≥", "within": "±"}
TREND = 5


def check_citations(root: pathlib.Path, rows: dict[str, list[Row]]) -> None:
    for file in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for number, line in enumerate(lines_of(file), 1):
            for cited in CITED.findall(line):
                if cited not in rows:
                    raise Wrong(f"{file}:{number}: the page cites {cited}, which no row in bench/results has")


def check_findings(root: pathlib.Path) -> None:
    """Documents and comments name pages that are there."""
    pages = {page.name for page in (root / "docs/findings").glob("*.md")}
    folders = [root / name for name in ("docs", "runtime", "tools", "tests", "bench")]
    for file in sorted(file for folder in folders for kind in SOURCES for file in folder.rglob(kind)):
        for number, line in enumerate(lines_of(file), 1):
            for name in FINDING.findall(line):
                if name not in pages:
                    raise Wrong(f"{file}:{number}: docs/findings/{name} is not there")


def text(value: float) -> str:
    """Four digits that count, and never an exponent."""
    shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{float(f'{value:.4g}'):.8f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def is_met(value: float, target: Row) -> bool:
    at = target["target"]
    return {"at most": value <= at, "at least": value >= at, "within": abs(value) <= at}[target["direction"]]


def table_line(target: Row, rows: list[Row]) -> str:
    wanted = "" if target["target"] is None else f"{SIGNS[target['direction']]} {text(target['target'])}"
    cells = [f"`{target['id']}`", target["sentence"], wanted]
    if not rows:
        return "| " + " | ".join([*cells, "none", "", "not measured" if wanted else "", ""]) + " |"
    latest = rows[-1]
    trend = [text(row["value"]) for row in rows if row["gpu"] == latest["gpu"]][-TREND:]
    met = "" if not wanted else "met" if is_met(latest["value"], target) else "**missed**"
    device = ", ".join([latest["date"][:10], latest["gpu"] or "device not noted", *filter(None, [latest.get("note")])])
    return "| " + " | ".join([*cells, f"{text(latest['value'])} {target['unit']}",
                              ", ".join(trend) if len(trend) > 1 else "", met, device]) + " |"


def page(targets: dict[str, Row], rows: dict[str, list[Row]]) -> str:
    head = ["# Measurements", "",
            "`bench/report.py` makes this page of `bench/results` and `bench/targets.json`. Do not edit it.",
            "[Rows](../bench/results/README.md) have the command, the commit and the spread; "
            "[findings](findings/README.md) say why.",
            "A trend has the last five figures of the latest row's device, the oldest first.",
            "`bench/report.py --show ID` prints every row of an id. Ids without a line here have rows, too.",
            "", "| id | what it is | target | latest | trend | met | latest on |", "|---|---|---|---|---|---|---|"]
    lines = [*head, *(table_line(target, rows.get(id, [])) for id, target in targets.items())]
    if len(lines) >= 120:
        raise Wrong(f"docs/measurements.md:120: {len(lines)} lines are too many; bench/targets.json has too many ids")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", metavar="ID")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args(arguments)
    targets = read_targets(options.root / "bench/targets.json")
    rows = read_results(options.root / "bench/results", targets)
    if options.show:
        if options.show not in rows:
            raise Wrong(f"{options.root / 'bench/results'}: no row has the id {options.show}")
        print("\n".join(json.dumps(row) for row in rows[options.show]))
        return
    check_citations(options.root, rows)
    check_findings(options.root)
    made, file = page(targets, rows), options.root / "docs/measurements.md"
    if not options.check:
        file.write_text(made, encoding="utf-8")
        print(f"{file}: {len(targets)} ids, {sum(map(len, rows.values()))} rows")
    elif lines_of(file) != made.splitlines():
        at = next((n for n, (a, b) in enumerate(zip(lines_of(file), made.splitlines()), 1) if a != b), len(made.splitlines()))
        raise Wrong(f"{file}:{at}: the page is not what bench/report.py writes; run bench/report.py")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"report.py: {wrong}")
