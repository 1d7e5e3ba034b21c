#!/usr/bin/env python3
"""Checks bench/suites with suites of its own making: what is compared, and that a crash, a hang or a poisoned context ends
one test and not the suite. suites_test.py FOLDER [TEST...]: of the simulated driver."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest

SUITES = pathlib.Path(__file__).resolve().parents[2] / "bench/suites"
INSIDE = SUITES / "inside"
sys.path[:0] = [str(SUITES), str(INSIDE)]

import found  # noqa: E402
import one_unit  # noqa: E402
import run  # noqa: E402
import verdicts  # noqa: E402
from one_unit import Outcome  # noqa: E402

PASSED, FAILED, SKIPPED, HUNG, ABSENT = (
    Outcome(o) for o in ("passed", "failed", "skipped", "timed out", "not run"))


def bits(digest):
    return Outcome("passed", digest=digest)


class VerdictsTest(unittest.TestCase):
    def test_each_pair_has_its_word_and_regressions_are_told(self):
        for plain, under, word, regression in [
                (PASSED, PASSED, verdicts.BOTH_PASS, False), (FAILED, FAILED, verdicts.BOTH_FAIL, False),
                (PASSED, FAILED, verdicts.ONLY_PLAIN, True), (FAILED, PASSED, verdicts.ONLY_VRAMSPAN, False),
                (PASSED, SKIPPED, verdicts.ONLY_PLAIN, True), (SKIPPED, SKIPPED, verdicts.SKIPPED, False),
                (SKIPPED, FAILED, verdicts.ONLY_PLAIN, True), (PASSED, HUNG, verdicts.TIMED_OUT, True),
                (HUNG, PASSED, verdicts.TIMED_OUT, False), (HUNG, HUNG, verdicts.TIMED_OUT, False),
                (FAILED, HUNG, verdicts.TIMED_OUT, False), (PASSED, ABSENT, verdicts.NOT_RUN, False),
                (bits("a"), bits("a"), verdicts.BOTH_PASS, False), (bits("a"), bits("b"), verdicts.DIFFERS, True),
                (bits("varies"), bits("b"), verdicts.VARIES, False), (bits("a"), bits("varies"), verdicts.DIFFERS, True)]:
            with self.subTest(plain=plain, under=under):
                verdict = verdicts.first(plain, under)
                self.assertEqual((verdict.word, verdict.regression), (word, regression))

    def settled(self, plains, unders):
        verdict = verdicts.settled(plains, unders)
        return verdict.word, verdict.regression

    def test_what_fails_again_and_again_is_a_regression(self):
        self.assertEqual(self.settled([PASSED] * 3, [FAILED] * 3), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([PASSED] * 3, [HUNG, FAILED, HUNG]), (verdicts.TIMED_OUT, True))

    def test_what_came_out_otherwise_is_flaky(self):
        self.assertEqual(self.settled([PASSED, FAILED], [FAILED, FAILED]), (verdicts.FLAKY, False))
        self.assertEqual(self.settled([PASSED, PASSED], [FAILED, PASSED]), (verdicts.FLAKY, False))
        self.assertIn("passed 2 of 2 times plain, 1 of 2", verdicts.settled([PASSED] * 2, [FAILED, PASSED]).why)

    def test_what_was_not_run_again_stays_a_regression(self):
        self.assertEqual(self.settled([PASSED, PASSED], [FAILED, ABSENT]), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([PASSED], [FAILED]), (verdicts.ONLY_PLAIN, True))

    def test_bits_count_if_plain_runs_agree(self):
        # One wrong run of three is one too many.
        self.assertEqual(self.settled([bits("a")] * 3, [bits("b"), bits("a"), bits("a")]), (verdicts.DIFFERS, True))
        self.assertEqual(self.settled([bits("a"), bits("b")], [bits("b"), bits("b")]), (verdicts.VARIES, False))


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="suites test ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return path


class UnitTest(FolderTest):
    """Units of one script each, which says what its tests do."""

    def unit(self, body, limit=60.0, end=600.0):
        script = self.write("unit.py", "import os, time\nfrom suites_record import Record\nrecord = Record()\n"
                            "def test(name, does=lambda: None, outcome='passed'):\n"
                            "    if name not in record.done:\n"
                            "        record.begin(name)\n        does()\n        record.end(name, outcome)\n")
        script.write_text(script.read_text() + textwrap.dedent(body))
        unit = found.Unit("fake", "fake/unit", (sys.executable, str(script)))
        with tempfile.TemporaryFile() as log:
            result = one_unit.run_unit(unit, one_unit.Way("plain"), limit, time.monotonic() + end, log)
        return result, {name: o.outcome for name, o in result.tests.items() 
                        if name not in ("(start)", "(ballast)") and (name, o.outcome) != (one_unit.BETWEEN, "passed")}

    def test_a_crash_ends_one_test(self):
        result, outcomes = self.unit("test('a')\ntest('b', os.abort)\ntest('c', outcome='failed')\nrecord.close()")
        self.assertEqual(outcomes, {"a": "passed", "b": "failed", "c": "failed", "(rest)": "passed"})
        self.assertIn("-6", result.tests["b"].why)
        self.assertEqual(result.passed(), ["a"])

    def test_a_hang_ends_one_test(self):
        _, outcomes = self.unit("test('a')\ntest('b', lambda: time.sleep(600))\ntest('c')\nrecord.close()", limit=5)
        self.assertEqual(outcomes, {"a": "passed", "b": "timed out", "c": "passed", "(rest)": "passed"})

    def test_a_poisoned_context_gets_another_process(self):
        _, outcomes = self.unit("new = 'a' not in record.done\ntest('a', outcome='failed')\n"
                                "if new: os._exit(75)\ntest('b')\nrecord.close()")
        self.assertEqual(outcomes, {"a": "failed", "b": "passed", "(rest)": "passed"})

    def test_a_process_that_comes_no_further_is_given_up(self):
        result, outcomes = self.unit("test('a')\nos._exit(75)")
        self.assertEqual(outcomes, {"a": "passed", "(rest)": "failed"})
        self.assertIn("no further", result.tests["(rest)"].why)

    def test_a_crash_between_tests_is_not_forgotten(self):
        result, outcomes = self.unit("new = 'a' not in record.done\ntest('a')\nif new: os.abort()\ntest('b')\nrecord.close()")
        self.assertEqual(outcomes, {"a": "passed", "(between tests)": "failed", "b": "passed", "(rest)": "passed"})
        whole = one_unit.UnitRun({name: PASSED for name in result.tests})
        self.assertEqual([n for n, v in verdicts.unit_verdicts([whole], [result]).items() if v.regression], [one_unit.BETWEEN])

    def test_too_many_crashes_are_given_up(self):
        _, outcomes = self.unit("for n in range(99): test(str(n), os.abort)")
        self.assertEqual(outcomes.pop("(rest)"), "failed")
        self.assertEqual(len(outcomes), one_unit.MOST)

    def test_what_the_end_cuts_is_not_run_rather_than_too_slow(self):
        result, outcomes = self.unit("test('a')\ntest('b', lambda: time.sleep(600))", end=5)
        self.assertEqual(outcomes, {"a": "passed"})
        self.assertFalse(result.complete)
        verdict = verdicts.unit_verdicts([one_unit.UnitRun({"a": PASSED, "b": PASSED})], [result])["b"]
        self.assertEqual((verdict.word, verdict.regression), (verdicts.NOT_RUN, False))


CASES = """
    import os, unittest
    UNDER = "FAKE_VRAMSPAN" in os.environ
    class Cases(unittest.TestCase):
        def test_passes(self): pass
        def test_fails(self): self.fail("either way")
        def test_under(self): {under}
        @unittest.expectedFailure
        def test_expected(self): self.fail()
        @unittest.skip("no reason")
        def test_skipped(self): pass
        def test_parts(self):
            for n in range(2):
                with self.subTest(n=n): self.assertEqual(n, 0)
    class Broken(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise RuntimeError("no class")
        def test_never(self): pass
"""
VRAMSPAN = """\
    #!/usr/bin/env python3
    import json, os, sys
    if sys.argv[1] == "--version":
        print("vramspan 0")
        sys.exit()
    options, program = sys.argv[2:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
    stats = next(o for o in options if o.startswith("--stats=")).removeprefix("--stats=")
    with open(stats, "a") as file:
        file.write(os.environ.get("FAKE_STATS", json.dumps({"bytes_in": 1 << 30, "bytes_out": 1 << 30})) + "\\n")
    os.environ["FAKE_VRAMSPAN"] = " ".join(options)
    os.execv(program[0], program)
"""


class WholeTest(FolderTest):
    """run.py, with a numba and a vramspan that are not."""

    def setUp(self):
        super().setUp()
        for package in ("numba", "numba/cuda", "numba/cuda/tests", "numba/cuda/tests/part", "numba/cuda/tests/nocuda"):
            self.write(f"{package}/__init__.py", "")
        self.write("numba/cuda/tests/nocuda/test_no.py", CASES.format(under="pass"))
        self.vramspan = self.write("vramspan", VRAMSPAN, 0o755)

    def run_py(self, under, *options, **environment):
        self.write("numba/cuda/tests/part/test_it.py", CASES.format(under=under))
        words = [sys.executable, SUITES / "run.py", "--vramspan", self.vramspan, "--ballast", "0", "--only", "numba",
                 "--format", "json", *options]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), **environment}
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        self.data = json.loads(done.stdout)["suites"][0] if done.returncode < 2 else {}
        return done

    def test_what_passes_both_ways_is_no_fault(self):
        done = self.run_py("pass", "--out", str(self.folder / "out"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counts = {word: count for word, count in self.data["counts"].items() if count}
        self.assertEqual(counts, {"both pass": 3, "both fail": 3, "skipped": 1})
        self.assertEqual((self.data["units"], self.data["moved_bytes"], self.data["regressions"]), (1, 2 << 30, {}))
        passed = (self.folder / "out/numba.vramspan.passed").read_text()
        self.assertEqual([line.rpartition(".")[2] for line in passed.splitlines()],
                         ["test_expected", "test_passes", "test_under"])
        self.assertEqual(passed, (self.folder / "out/numba.plain.passed").read_text())
        self.assertIn("both pass", (self.folder / "out/suites.txt").read_text())
        self.assertEqual(json.loads((self.folder / "out/suites.json").read_text())["suites"][0], self.data)

    def test_what_fails_under_vramspan_alone_is_a_fault(self):
        done = self.run_py("self.assertFalse(UNDER)")
        self.assertEqual(done.returncode, 1, done.stderr)
        (name, why), = self.data["regressions"].items()
        self.assertTrue(name.startswith("part/test_it: ") and name.endswith("Cases.test_under"), name)
        self.assertIn("passed 3 of 3 times plain, 0 of 3 under vramspan", why)

    def test_what_crashes_under_vramspan_alone_is_a_fault(self):
        done = self.run_py("UNDER and os.abort()", "--again", "0")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(self.data["tests"]["only plain passes"].values()),
                         ["failed: the process ended with -6 (not run again)"])

    def test_what_fails_once_is_flaky(self):
        mark = self.folder / "mark"
        done = self.run_py(f"(UNDER and not os.path.exists({str(mark)!r})) and (open({str(mark)!r}, 'w'), self.fail())")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.data["counts"]["flaky"], 1)

    def test_memory_that_was_never_short_proves_nothing(self):
        done = self.run_py("pass", FAKE_STATS="{}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("never short", self.data["vain"])

    def test_a_vramspan_that_does_not_work_proves_nothing(self):
        done = self.run_py("pass", FAKE_STATS='{"off": "an old driver", "bytes_in": 1}')
        self.assertEqual(done.returncode, 1)
        self.assertIn("an old driver", self.data["vain"])

    def test_no_time_means_not_run(self):
        done = self.run_py("pass", "--end", "0")
        self.assertEqual((done.returncode, self.data["left_out"]), (1, ["numba/part/test_it"]))

    def test_a_signal_ends_what_runs_and_what_was_done_is_told(self):
        self.write("numba/cuda/tests/part/test_hangs.py", """
            import os, time, unittest
            class Hangs(unittest.TestCase):
                def test_hangs(self):
                    os.kill(int(os.environ["RUN_PY"]), 15)
                    time.sleep(600)
        """)
        wrapper = self.write("run_it.sh", "#!/bin/bash\nexport RUN_PY=$$\nexec \"$@\"\n", 0o755)
        words = [wrapper, sys.executable, SUITES / "run.py", "--vramspan", self.vramspan, "--ballast", "0", "--only", "numba"]
        done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(self.folder)}, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("numba: no time for 1 units: numba/part/test_hangs", done.stdout)

    def test_options_reach_vramspan(self):
        done = self.run_py("self.assertNotIn('--overlap safe', os.environ.get('FAKE_VRAMSPAN', ''))", "--overlap", "safe",
                           "--again", "0")
        self.assertEqual((done.returncode, len(self.data["regressions"])), (1, 1), done.stderr)

    def test_nothing_to_run_is_told(self):
        done = self.run_py("pass", "--match", "numba/other/*")
        self.assertEqual(done.returncode, 2)


class FindTest(unittest.TestCase):
    def test_a_run_that_is_cut_short_has_something_of_each(self):
        for suite, count in (("numba", 4), ("torch", 2)):
            units = [found.Unit(suite, f"{suite}/{n}", ()) for n in range(count)]
            self.addCleanup(setattr, found, suite, getattr(found, suite))
            setattr(found, suite, lambda options, units=units: ("a version", units))
        options = types.SimpleNamespace(only=["numba", "torch"], match=["numba/[1-3]"])
        _, units = found.find(options)
        self.assertEqual([u.name for u in units], ["numba/1", "torch/0", "numba/2", "numba/3", "torch/1"])

    def test_sizes(self):
        self.assertEqual((run.size("1.5GiB"), run.size("4096")), (3 << 29, 4096))
        self.assertEqual(run.arguments(["--device-memory", "4GiB"]).ballast, 5 << 30)


class BallastTest(FolderTest):
    """On the simulated driver, which takes no PTX: there words are set and not counted up."""

    def ballast(self, body):
        script = self.write("ballast.py", "import ctypes\nfrom suites_ballast import BUFFERS, Ballast\n"
                            "ballast = Ballast(64 << 20)\nfor _ in range(BUFFERS + 3): ballast.touch()\n")
        script.write_text(script.read_text() + textwrap.dedent(body))
        environment = {**os.environ, "PYTHONPATH": str(INSIDE), "LD_LIBRARY_PATH": SIMULATED}
        return subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)

    def test_what_is_not_as_it_was_left_is_counted(self):
        done = self.ballast("""
            print(len(ballast.buffers) * ballast.each >> 20, ballast.wrong_words())
            address = ctypes.c_uint64(ballast.buffers[7][0] + 4096)
            ballast._inside("cuMemsetD32_v2", address, 99, ctypes.c_size_t(5))
            print(ballast.wrong_words())
        """)
        self.assertEqual(done.stdout, "64 0\n5\n", done.stderr)

    def test_a_reset_context_gets_another(self):
        done = self.ballast("""
            for anew in (False, True):
                ballast.cuda.cuDevicePrimaryCtxReset_v2(0)
                if anew:  # As a test does that goes on behind its reset.
                    ballast._call("cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), 0)
                ballast.touch()
                print(len(ballast.buffers), ballast.wrong_words())
        """)
        self.assertEqual(done.stdout, "16 0\n16 0\n", done.stderr)


class PluginTest(FolderTest):
    """The plugin of pytest, called as pytest calls it."""

    def test_the_worst_of_a_tests_phases_counts(self):
        self.write("done", "old\n")
        self.write("plugin.py", """
            import types
            import suites_pytest as plugin
            plugin.pytest_configure(None)
            items = [types.SimpleNamespace(nodeid=n) for n in ("old", "a", "b", "c", "d")]
            config = types.SimpleNamespace(hook=types.SimpleNamespace(pytest_deselected=lambda items: None))
            plugin.pytest_collection_modifyitems(config, items)
            for item in items:
                plugin.pytest_runtest_logstart(item.nodeid, None)
                for phase in ("setup", "call", "teardown"):
                    report = types.SimpleNamespace(nodeid=item.nodeid, longrepr=phase, skipped=False, failed=False)
                    report.failed = (item.nodeid, phase) == ("b", "call")
                    report.skipped = (item.nodeid, phase) in (("c", "setup"), ("d", "call"))
                    if item.nodeid == "d":
                        report.wasxfail = "expected"
                    plugin.pytest_runtest_logreport(report)
                plugin.pytest_runtest_logfinish(item.nodeid, None)
            plugin.pytest_unconfigure(None)
        """)
        environment = {**os.environ, "PYTHONPATH": str(INSIDE), "SUITES_RECORD": str(self.folder / "record"),
                       "SUITES_DONE": str(self.folder / "done"), "SUITES_BALLAST": "0"}
        subprocess.run([sys.executable, self.folder / "plugin.py"], env=environment, check=True)
        rows = [json.loads(line) for line in (self.folder / "record").read_text().splitlines()]
        self.assertEqual({r["end"]: r["outcome"] for r in rows if "end" in r and r["end"][0] != "("},
                         {"a": "passed", "b": "failed", "c": "skipped", "d": "passed"})
        self.assertTrue(rows[-1]["complete"])


if __name__ == "__main__":
    SIMULATED = sys.argv.pop(1)
    unittest.main()
