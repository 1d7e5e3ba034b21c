#!/usr/bin/env python3
"""Checks bench/programs/turns.py with programs and a vramspan that are made up: who runs in which turn, what is compared,
and what is said where a program fails."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Notes how it was asked, and runs the program.
VRAMSPAN = """\
    #!{python}
    import json, os, subprocess, sys
    words = sys.argv[2:sys.argv.index("--")]
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(" ".join([os.environ.get("WAY", "-"), *(w for w in words if "stats" not in w)]) + "\\n")
    for word in words:
        if word.startswith("--stats="):
            with open(word[8:], "w") as stats:
                print(json.dumps({{"bytes_in": 3 << 30}}), file=stats)
    sys.exit(subprocess.run(sys.argv[sys.argv.index("--") + 1:]).returncode)
    """
# Takes 8 ms, or what the way says; the first run of all takes far longer.
PROGRAM = """\
    import json, os, sys
    with open(os.environ["SEEN"]) as seen:
        first = len(seen.readlines()) < 3
    if "fails" in sys.argv:
        sys.exit("no such thing")
    result = os.environ.get("WAY", "") if "differs" in sys.argv else "same"
    print("words before")
    print(json.dumps({"result": result, "ms": {"lap": 900 if first else float(os.environ.get("WAY", 8)), "token": 2}}))
    """


class TurnsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="turns of ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.vramspan = self.folder / "vramspan"
        self.vramspan.write_text(textwrap.dedent(VRAMSPAN).format(python=sys.executable))
        self.vramspan.chmod(0o755)
        (self.folder / "load.py").write_text(textwrap.dedent(PROGRAM))

    def turns(self, *words, code=0):
        """What it prints, and how vramspan was asked."""
        seen = self.folder / "seen"
        seen.write_text("")
        done = subprocess.run([sys.executable, ROOT / "bench/programs/turns.py", "--vramspan", self.vramspan, *words],
                              capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "SEEN": str(seen), "VRAMSPAN_RESULTS": str(self.folder / "rows")})
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout.splitlines(), seen.read_text().splitlines()

    def test_both_ways_run_by_turns_and_the_first_of_each_does_not_count(self):
        lines, seen = self.turns("--second", "WAY=4 --overlap off", "--turns", "2", "6GiB ./load.py --gib 8")
        first, second = "- --device-memory 6GiB", "4 --device-memory 6GiB --overlap off"
        self.assertEqual(seen, [first, second] * 3)
        self.assertEqual(lines[1].split(), "load 8.0 ms 4.0 ms 0.50 3.0 GiB 3.0 GiB the same".split())

    def test_another_vramspan_and_another_time_may_be_meant(self):
        lines, seen = self.turns("--first", f"'VRAMSPAN={self.vramspan}' WAY=1", "--time", "token", "./load.py big")
        self.assertEqual(seen, ["1", "-"] * 2)
        self.assertEqual(lines[1].split()[:6], "load_big 2.0 ms 2.0 ms 1.00".split())

    def test_results_that_differ_are_said(self):
        lines, _ = self.turns("--first", "WAY=1", "./load.py differs", code=1)
        self.assertIn("DIFFERENT", lines[1])

    def test_what_fails_is_said_and_the_rest_goes_on(self):
        lines, seen = self.turns("./load.py fails", "./load.py", code=1)
        self.assertIn("load_fails", lines[1])
        self.assertIn("no such thing", "\n".join(lines))
        self.assertTrue(lines[-1].startswith("load "), lines)
        self.assertEqual(len(seen), 5, "it is not tried again")

    def test_rows_are_added(self):
        lines, _ = self.turns("--second", "WAY=4", "--results", "percent_75", "./load.py")
        rows = [json.loads(row) for row in pathlib.Path(lines[-1]).read_text().splitlines()]
        self.assertEqual([(r["id"], r["value"], r["unit"]) for r in rows],
                         [("loads.load.percent_75.first", 8, "ms"), ("loads.load.percent_75.second", 4, "ms")])

    def test_wrong_words_are_refused(self):
        self.turns("--turns", "0", "./load.py", code=2)
        self.turns("50%", code=1)


if __name__ == "__main__":
    unittest.main()
