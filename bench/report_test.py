#!/usr/bin/env python3
"""Checks bench/report.py: a well-formed tree passes, and each wrong file is refused with its name and line."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import figures
import report

HERE = pathlib.Path(__file__).resolve().parent
ROW = {"id": "plan.held_8", "value": 4.5, "unit": "us", "spread": [4.3, 4.6], "n": 5, "target": 5, "commit": "0123abc",
       "dirty": False, "date": "2026-11-26T10:00:00+00:00", "gpu": "2 EPYC cores, no GPU", "driver": None,
       "command": "plan_bench"}
TARGET = {"id": "plan.held_8", "target": 5, "direction": "at most", "unit": "us", "sentence": "A plan takes so long."}
NAME = "2026-11-26-0123abc-epyc.jsonl"


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "a tree"
        (self.root / "bench/results").mkdir(parents=True)
        (self.root / "docs/findings").mkdir(parents=True)
        self.write("README.md", "A plan takes `@plan.held_8`.\n")
        self.targets([TARGET])
        self.rows([ROW])

    def write(self, name: str, text: str | bytes) -> None:
        (self.root / name).write_bytes(text.encode() if isinstance(text, str) else text)

    def rows(self, rows: list[Any], name: str = NAME) -> None:
        self.write(f"bench/results/{name}", "".join(json.dumps(row) + "\n" for row in rows))

    def targets(self, targets: list[Any]) -> None:
        self.write("bench/targets.json", "[\n" + ",\n".join(map(json.dumps, targets)) + "\n]\n")

    def report(self, *options: str) -> str:
        """What it prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            report.main(["--root", str(self.root), *options])
        return out.getvalue()

    def refused(self, where: str, *options: str) -> None:
        with self.assertRaises(figures.Wrong) as caught:
            self.report(*options)
        self.assertIn(where, str(caught.exception))

    def test_the_command_says_where_and_fails(self) -> None:
        self.rows([ROW, 4])
        done = subprocess.run([sys.executable, HERE / "report.py", "--root", self.root], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"report.py: {self.root}/bench/results/{NAME}:2: the line is not an object\n")

    def test_writes_a_page_that_passes_its_check(self) -> None:
        self.refused("measurements.md:1:", "--check")
        self.report()
        self.report("--check")
        page = (self.root / "docs/measurements.md").read_text()
        self.assertIn("| `plan.held_8` | A plan takes so long. | ≤ 5 | 4.5 us |  | met | 2026-11-26, 2 EPYC cores, no GPU |", page)

    def test_a_page_that_was_edited_fails(self) -> None:
        self.report()
        page = (self.root / "docs/measurements.md").read_text()
        self.write("docs/measurements.md", page.replace("4.5 us", "4.4 us"))
        self.refused("measurements.md:10:", "--check")

    def test_the_latest_row_counts_and_the_trend_is_of_its_device(self) -> None:
        self.rows([{**ROW, "value": 9, "date": "2026-11-25", "commit": None}], "2026-11-25-unknown-epyc.jsonl")
        self.rows([{**ROW, "value": 1, "date": "2026-11-24", "gpu": "H100"}], "2026-11-24-0123abc-h100.jsonl")
        self.rows([{**ROW, "value": 6}])
        self.report()
        self.assertIn("| 6 us | 9, 6 | **missed** |", (self.root / "docs/measurements.md").read_text())
        shown = self.report("--show", "plan.held_8").splitlines()
        self.assertEqual([json.loads(line)["value"] for line in shown], [1, 9, 6])

    def test_the_directions(self) -> None:
        for direction, value, met in (("at least", 5, "met"), ("at least", 4, "missed"),
                                      ("within", -5, "met"), ("within", -6, "missed")):
            self.targets([{**TARGET, "direction": direction}])
            self.rows([{**ROW, "value": value}])
            self.report()
            self.assertIn(f"| {met} |" if met == "met" else "| **missed** |", (self.root / "docs/measurements.md").read_text(), (direction, value))

    def test_wrong_rows_are_refused(self) -> None:
        wrong = {"id": "Plan held", "value": "4.5", "unit": "", "spread": [2, 1], "n": 0, "target": True, "commit": "xyz",
                 "dirty": 1, "date": "yesterday", "gpu": 7, "driver": ["580"], "command": "a\nb", "value ": 4, "note": 1,
                 "source": ""}
        for field, value in wrong.items():
            with self.subTest(field):
                self.rows([ROW, {**ROW, "id": "other", field: value}])
                self.refused(f"{NAME}:2:")
        for field in ROW:
            with self.subTest(f"no {field}"):
                self.rows([{k: v for k, v in ROW.items() if k != field}])
                self.refused(f"{NAME}:1: the field {field!r} is missing")

    def test_hostile_lines_are_refused(self) -> None:
        good = json.dumps(ROW)
        for line in ("", "{", "[]", "null", "4", good[:-1], good + good,
                     good.replace("4.5", "NaN"), good.replace("4.5", "-Infinity"), good.replace("4.5", "1e999"), good.replace("4.5", "9" * 400), good.replace("4.5", "9" * 5000),
                     good.replace('"n": 5', '"n": 5, "n": 6'), "[" * 100000, "\x00", good.replace("us", "\\u0000")):
            with self.subTest(line[:60]):
                self.write(f"bench/results/{NAME}", good.replace("plan.held_8", "first") + "\n" + line + "\n")
                self.refused(f"{NAME}:2:")
        self.write(f"bench/results/{NAME}", b"\xff\xfe\n")
        self.refused(f"{NAME}:1:")

    def test_duplicates_and_misplaced_rows_are_refused(self) -> None:
        self.rows([ROW, ROW])
        self.refused(f"{NAME}:2: the id plan.held_8 stands in")
        self.rows([{**ROW, "date": "2026-11-25"}])
        self.refused(f"{NAME}:1: the date or commit")
        self.rows([{**ROW, "commit": None}])
        self.refused(f"{NAME}:1: the date or commit")
        self.rows([{**ROW, "unit": "ms"}])
        self.refused(f"{NAME}:1: plan.held_8 is in us, not in ms")
        self.rows([ROW, {**ROW, "id": "free"}])
        self.rows([{**ROW, "id": "free", "unit": "ms"}], "2026-11-26-0123abc-h100.jsonl")
        self.refused("h100.jsonl:1: other rows of free are in us, not in ms")
        self.rows([ROW])
        self.rows([ROW], "results.jsonl")
        self.refused("results.jsonl:1:")

    def test_wrong_targets_are_refused(self) -> None:
        for field, value in {"target": "5", "direction": "up", "sentence": None, "unit": 3, "id": "a b", "more": 1}.items():
            with self.subTest(field):
                self.targets([{**TARGET, "id": "first"}, {**TARGET, field: value}])
                self.refused("targets.json:3:")
        self.targets([TARGET, TARGET])
        self.refused("targets.json:3: the id plan.held_8 stands in")
        self.targets([{**TARGET, "direction": None}])
        self.refused("targets.json:2: a target needs a direction")
        for text in ("", "{}", "[\n", "[\n{}\n", "[\n{},\n]\n"):
            self.write("bench/targets.json", text)
            self.refused("targets.json:")
        self.targets([{**TARGET, "id": f"plan.{n}"} for n in range(200)])
        self.rows([ROW])
        self.refused("too many ids")

    def test_what_documents_cite_has_to_be_there(self) -> None:
        self.write("docs/findings/0001-a.md", "# A\n\nRows: `@plan.held_9`.\n")
        self.refused("0001-a.md:3: the page cites plan.held_9")
        self.write("docs/findings/0001-a.md", "# A\n")
        self.write("docs/b.md", "See [the page](findings/0001-a.md),\nand [another](findings/0002-b.md).\n")
        self.refused("b.md:2: docs/findings/0002-b.md is not there")
        self.refused("no row has the id nothing", "--show", "nothing")


if __name__ == "__main__":
    unittest.main()
