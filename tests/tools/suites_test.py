#!/usr/bin/env python3
"""Checks bench/suites with suites of its own making: what is compared, and that a crash, a hang or a poisoned context ends
one test and not the suite. suites_test.py FOLDER [TEST...]: of the simulated driver."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest
import unittest.mock

SUITES = pathlib.Path(__file__).resolve().parents[2] / "bench/suites"
INSIDE = SUITES / "inside"
sys.path[:0] = [str(SUITES), str(INSIDE)]

import found  # noqa: E402
import one_unit  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
import verdicts  # noqa: E402
from one_unit import Outcome  # noqa: E402

PASSED, FAILED, SKIPPED, HUNG, ABSENT, MISSING = (
    Outcome(o) for o in ("passed", "failed", "skipped", "timed out", "not run", "missing"))
CRASHED = Outcome("failed", "the process ended with -11")


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
                (PASSED, MISSING, verdicts.ONLY_PLAIN, True), (MISSING, FAILED, verdicts.ONLY_PLAIN, True),
                (MISSING, HUNG, verdicts.ONLY_PLAIN, True), (MISSING, PASSED, verdicts.ONLY_VRAMSPAN, False),
                (FAILED, MISSING, verdicts.NOT_RUN, False), (SKIPPED, MISSING, verdicts.SKIPPED, False),
                (bits("a"), bits("a"), verdicts.BOTH_PASS, False), (bits("a"), bits("b"), verdicts.DIFFERS, True),
                (bits("varies"), bits("b"), verdicts.VARIES, False), (bits("a"), bits("varies"), verdicts.DIFFERS, True)]:
            with self.subTest(plain=plain, under=under):
                verdict = verdicts.first(plain, under)
                self.assertEqual((verdict.word, verdict.regression), (word, regression))

    def settled(self, plains, unders, name=""):
        verdict = verdicts.settled(plains, unders, name)
        return verdict.word, verdict.regression

    def test_what_fails_again_and_again_is_a_regression(self):
        self.assertEqual(self.settled([PASSED] * 3, [FAILED] * 3), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([PASSED] * 3, [HUNG, FAILED, HUNG]), (verdicts.TIMED_OUT, True))

    def test_what_came_out_otherwise_is_flaky(self):
        self.assertEqual(self.settled([PASSED, FAILED], [FAILED, FAILED]), (verdicts.FLAKY, False))
        self.assertEqual(self.settled([PASSED, PASSED], [FAILED, PASSED]), (verdicts.FLAKY, False))
        self.assertIn("passed 2 of 2 times plain, 1 of 2", verdicts.settled([PASSED] * 2, [FAILED, PASSED]).why)
        self.assertEqual(self.settled([SKIPPED] * 3, [FAILED, SKIPPED, SKIPPED]), (verdicts.FLAKY, False))
        self.assertEqual(self.settled([PASSED] * 3, [FAILED, SKIPPED, SKIPPED]), (verdicts.ONLY_PLAIN, True))

    def test_a_name_that_only_one_of_the_two_has_counts_again_and_again(self):
        self.assertEqual(self.settled([PASSED] * 3, [MISSING] * 3), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([MISSING] * 3, [FAILED] * 3), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([MISSING] * 3, [FAILED, MISSING, MISSING]), (verdicts.FLAKY, False))
        # As a name with an address in it.
        self.assertEqual(self.settled([PASSED, MISSING, MISSING], [MISSING] * 3), (verdicts.FLAKY, False))

    def test_one_wrong_ballast_or_crash_is_one_too_many(self):
        for name, wrong in (("(ballast)", FAILED), ("test", CRASHED), (one_unit.BETWEEN, CRASHED)):
            with self.subTest(name=name):
                self.assertEqual(self.settled([PASSED] * 3, [wrong, PASSED, PASSED], name), (verdicts.ONLY_PLAIN, True))
                self.assertEqual(self.settled([PASSED] * 3, [PASSED, PASSED, wrong], name), (verdicts.ONLY_PLAIN, True))
                self.assertEqual(self.settled([PASSED, FAILED], [wrong, PASSED], name), (verdicts.FLAKY, False))
                self.assertEqual(self.settled([FAILED], [wrong], name), (verdicts.BOTH_FAIL, False))
                self.assertEqual(self.settled([ABSENT], [wrong], name), (verdicts.NOT_RUN, False))

    def test_what_a_complete_run_lacks_is_missing(self):
        def words(under, complete):
            runs = one_unit.UnitRun({"a": PASSED}, complete=True), one_unit.UnitRun(under, complete=complete)
            self.assertEqual(bool(verdicts.suspects(*runs)), complete)
            return {name: (v.word, v.regression) for name, v in verdicts.unit_verdicts(*([r] for r in runs)).items()}
        self.assertEqual(words({}, True), {"a": (verdicts.ONLY_PLAIN, True)})
        self.assertEqual(words({}, False), {"a": (verdicts.NOT_RUN, False)})
        self.assertEqual(words({"a": PASSED, "setUpClass": FAILED}, True),
                         {"a": (verdicts.BOTH_PASS, False), "setUpClass": (verdicts.ONLY_PLAIN, True)})

    def test_what_was_not_run_again_stays_a_regression(self):
        self.assertEqual(self.settled([PASSED, PASSED], [FAILED, ABSENT]), (verdicts.ONLY_PLAIN, True))
        self.assertEqual(self.settled([PASSED], [FAILED]), (verdicts.ONLY_PLAIN, True))

    def test_bits_count_if_plain_runs_agree(self):
        # One wrong run of three is one too many.
        self.assertEqual(self.settled([bits("a")] * 3, [bits("b"), bits("a"), bits("a")]), (verdicts.DIFFERS, True))
        self.assertEqual(self.settled([bits("a")] * 3, [bits("a"), bits("a"), bits("b")]), (verdicts.DIFFERS, True))
        self.assertEqual(self.settled([bits("a"), bits("b")], [bits("a"), bits("b")]), (verdicts.VARIES, False))
        self.assertEqual(self.settled([bits("a"), bits("b")], [bits("b"), bits("b")]), (verdicts.VARIES, False))


class ResultsTest(unittest.TestCase):
    def test_what_is_named_is_what_is_counted(self):
        suite = results.Suite("fake", "a version")
        plain = {"(start)": PASSED, "(ballast)": PASSED, "(rest)": FAILED, "a": PASSED}
        under = {"(start)": PASSED, "(ballast)": FAILED, "(rest)": FAILED, "a": PASSED}
        suite.add(found.Unit("fake", "fake/unit", ()), [one_unit.UnitRun(plain)], [one_unit.UnitRun(under)])
        data = suite.data()
        self.assertEqual({word: count for word, count in data["counts"].items() if count},
                         {"both pass": 1, "only plain passes": 1, "both fail": 1})
        self.assertEqual({word: len(names) for word, names in data["tests"].items()},
                         {word: count for word, count in data["counts"].items() if word != "both pass"})


class ProcessesTest(unittest.TestCase):
    def test_what_takes_too_long_is_ended(self):
        self.assertIsNone(one_unit.Processes().run(["sleep", "600"], 0.1))

    def test_a_signal_may_come_within_the_lock(self):
        processes = one_unit.Processes()
        with processes.lock:
            processes.stop()
        self.assertIsNone(processes.run(["true"], 600))


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


class Hurried(subprocess.Popen):
    """A process whose time is over as soon as its record says that the test that hangs has begun."""

    def __init__(self, *words, env=None, **options):
        super().__init__(*words, env=env, **options)
        self.record = env and pathlib.Path(env["SUITES_RECORD"])

    def wait(self, timeout=None):
        while timeout is not None and self.record and self.poll() is None:
            if self.record.exists() and '{"begin": "hangs"}\n' in self.record.read_text():
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.01)
        return super().wait(timeout)


class UnitTest(FolderTest):
    """Units of one script each, which says what its tests do."""

    def unit(self, body, limit=600.0, end=6000.0, **environment):
        script = self.write("unit.py", "import os, time\nfrom suites_record import Record\nrecord = Record()\n"
                            "def test(name, does=lambda: None, outcome='passed'):\n"
                            "    if name not in record.done:\n"
                            "        record.begin(name)\n        does()\n        record.end(name, outcome)\n")
        script.write_text(script.read_text() + textwrap.dedent(body))
        unit = found.Unit("fake", "fake/unit", (sys.executable, "-S", str(script)))
        with tempfile.TemporaryFile() as log:
            result = one_unit.run_unit(unit, one_unit.Way("plain", (), environment), limit, time.monotonic() + end, log)
        return result, {name: o.outcome for name, o in result.tests.items()
                        if name not in ("(start)", "(ballast)") and (name, o.outcome) != (one_unit.BETWEEN, "passed")}

    def test_a_crash_ends_one_test(self):
        result, outcomes = self.unit("test('a')\ntest('b', os.abort)\ntest('c', outcome='failed')\nrecord.close()")
        self.assertEqual(outcomes, {"a": "passed", "b": "failed", "c": "failed", "(rest)": "passed"})
        self.assertIn("-6", result.tests["b"].why)
        self.assertEqual(result.passed(), ["a"])

    def test_a_hang_ends_one_test(self):
        with unittest.mock.patch.object(one_unit.subprocess, "Popen", Hurried):
            _, outcomes = self.unit("test('a')\ntest('hangs', lambda: time.sleep(600))\ntest('c')\nrecord.close()")
        self.assertEqual(outcomes, {"a": "passed", "hangs": "timed out", "c": "passed", "(rest)": "passed"})

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
        with unittest.mock.patch.object(one_unit.subprocess, "Popen", Hurried):
            result, outcomes = self.unit("test('a')\ntest('hangs', lambda: time.sleep(600))", end=599)
        self.assertEqual(outcomes, {"a": "passed"})
        self.assertFalse(result.complete)
        verdict = verdicts.unit_verdicts([one_unit.UnitRun({"a": PASSED, "hangs": PASSED})], [result])["hangs"]
        self.assertEqual((verdict.word, verdict.regression), (verdicts.NOT_RUN, False))

    def test_a_driver_that_takes_no_kernel_is_told(self):
        result, _ = self.unit("test('a')\nrecord.close()", LD_LIBRARY_PATH=SIMULATED, SUITES_BALLAST=str(64 << 20))
        self.assertTrue(result.complete and result.refused)
        result.moved = 1
        suite = results.Suite("fake", "a version")
        suite.add(found.Unit("fake", "fake/unit", ()), [result], [result])
        self.assertIn("took no kernel", suite.vain())
        result, _ = self.unit("test('a')\nrecord.close()")
        self.assertFalse(result.refused)


CASES = """
    import os, unittest
    UNDER = "FAKE_VRAMSPAN" in os.environ
    {module}
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
    class Whole(unittest.TestCase):
        @classmethod
        def setUpClass(cls): {before}
        @classmethod
        def tearDownClass(cls): {after}
        def test_in_it(self): pass
"""
VRAMSPAN = """\
    #!/usr/bin/env -S python3 -I -S
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
        self.write("numba/cuda/tests/nocuda/test_no.py", CASES.format(under="pass", module="", before="pass", after="pass"))
        # A python that sees nothing of what is installed: numba-cuda would take numba's place. This is what a venv is.
        base = pathlib.Path(sys._base_executable).resolve()
        self.write("bare/pyvenv.cfg", f"home = {base.parent}\ninclude-system-site-packages = false\n")
        (self.folder / "bare/bin").mkdir()
        self.python = self.folder / "bare/bin/python3"
        self.python.symlink_to(base)
        self.vramspan = self.write("vramspan", VRAMSPAN, 0o755)

    def cases(self, under="pass", module="", before="pass", after="pass"):
        self.write("numba/cuda/tests/part/test_it.py",
                   CASES.format(under=under, module=module, before=before, after=after))

    def run_py(self, under, *options, **environment):
        if under is not None:
            self.cases(under)
        words = [self.python, SUITES / "run.py", "--vramspan", self.vramspan, "--ballast", "0", "--only", "numba",
                 "--format", "json", *options]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        self.data = json.loads(done.stdout)["suites"][0] if done.returncode < 2 else {}
        return done

    def test_what_passes_both_ways_is_no_fault(self):
        done = self.run_py("pass", "--out", str(self.folder / "out"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counts = {word: count for word, count in self.data["counts"].items() if count}
        self.assertEqual(counts, {"both pass": 4, "both fail": 3, "skipped": 1})
        self.assertEqual((self.data["units"], self.data["moved_bytes"], self.data["regressions"]), (1, 2 << 30, {}))
        passed = (self.folder / "out/numba.vramspan.passed").read_text()
        self.assertEqual([line.rpartition(".")[2] for line in passed.splitlines()],
                         ["test_expected", "test_passes", "test_under", "test_in_it"])
        self.assertEqual(passed, (self.folder / "out/numba.plain.passed").read_text())
        self.assertIn("both pass", (self.folder / "out/suites.txt").read_text())
        self.assertEqual(json.loads((self.folder / "out/suites.json").read_text())["suites"][0], self.data)

    def test_numba_sees_no_coverage_that_it_cannot_do_with(self):
        for types, seen in [("", "self.assertIsNone(coverage)"), ("types = 1", "self.assertIsNotNone(coverage)")]:
            self.write("coverage.py", types)
            self.cases(seen, "try: import coverage\n    except ImportError: coverage = None")
            self.run_py(None)
            self.assertEqual(self.data["counts"]["both pass"], 4)

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
                         ["failed: the process ended with -6 (1 of 1 times under vramspan)"])

    def test_what_crashes_once_is_a_fault(self):
        mark = self.folder / "mark"
        done = self.run_py(f"(UNDER and not os.path.exists({str(mark)!r})) and (open({str(mark)!r}, 'w'), os.abort())",
                           "--again", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(self.data["regressions"].values()),
                         ["failed: the process ended with -6 (1 of 2 times under vramspan)"])

    def test_what_does_not_come_to_run_under_vramspan_is_a_fault(self):
        wrong = "UNDER and cls.fail('no memory')"
        for case, names in [
                ({"module": "if UNDER: import no_such_module"},
                 ["_FailedTest.test_it", "test_expected", "test_in_it", "test_passes", "test_under"]),
                ({"module": "if UNDER: raise unittest.SkipTest('no memory')"},
                 ["test_expected", "test_in_it", "test_passes", "test_under"]),
                ({"before": wrong}, ["setUpClass", "test_in_it"]), ({"after": wrong}, ["tearDownClass"])]:
            with self.subTest(case=case):
                self.cases(**case)
                done = self.run_py(None, "--again", "0")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(len(self.data["regressions"]), len(names), self.data["regressions"])
                for name in names:
                    self.assertIn(name, " ".join(self.data["regressions"]))

    def test_without_a_vramspan_nothing_is_run(self):
        self.vramspan = self.folder / "none"
        done = self.run_py("pass")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none does not run: ", done.stderr)

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

    def signalled(self, number):
        """run.py gets a signal of a test that then hangs. A pipe tells the test's process, and when that has ended."""
        self.write("numba/cuda/tests/part/test_hangs.py", f"""
            import os, time, unittest
            class Hangs(unittest.TestCase):
                def test_hangs(self):
                    with open({str(self.folder / "pipe")!r}, "w") as pipe:
                        print(os.getpid(), file=pipe, flush=True)
                        os.kill(int(os.environ["RUN_PY"]), {int(number)})
                        time.sleep(600)
        """)
        wrapper = self.write("run_it.sh", "#!/bin/bash\nexport RUN_PY=$$\nexec \"$@\"\n", 0o755)
        words = [wrapper, self.python, SUITES / "run.py", "--vramspan", self.vramspan, "--ballast", "0", "--only", "numba"]
        return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(self.folder)}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_a_signal_ends_what_runs_and_what_was_done_is_told(self):
        (self.folder / "pipe").touch()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number), self.signalled(number) as process:
                out, errors = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 1, errors)
                self.assertIn("numba: no time for 1 units: numba/part/test_hangs", out)

    def test_what_runs_ends_with_a_run_py_that_is_killed(self):
        os.mkfifo(self.folder / "pipe")
        with self.signalled(signal.SIGKILL) as process, open(self.folder / "pipe") as pipe:
            hung = int(pipe.readline())
            ended = select.select([pipe], [], [], 60)[0]
            if not ended:
                os.kill(hung, signal.SIGKILL)
            self.assertTrue(ended)
            process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_a_unit_that_cannot_be_run_costs_the_others_nothing(self):
        # A folder where the log should be.
        (self.folder / "out/logs/numba.part.test_it.plain.0.log").mkdir(parents=True)
        self.write("numba/cuda/tests/part/test_more.py",
                   "import unittest\nclass More(unittest.TestCase):\n    def test_more(self): pass\n")
        done = self.run_py("pass", "--out", str(self.folder / "out"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("IsADirectoryError", self.data["broken"]["numba/part/test_it"])
        self.assertEqual((self.data["counts"]["both pass"], self.data["units"]), (1, 1))

    def test_what_was_done_is_written_after_each_unit(self):
        kept = self.folder / "out/suites.json"
        self.write("numba/cuda/tests/part/test_later.py", f"""
            import json, unittest
            class Later(unittest.TestCase):
                def test_later(self): self.assertEqual(json.load(open({str(kept)!r}))["suites"][0]["units"], 1)
        """)
        done = self.run_py("pass", "--out", str(self.folder / "out"))
        self.assertEqual((done.returncode, self.data["counts"]["both pass"]), (0, 5), done.stderr)

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
            import sys
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
            if sys.argv[1] != "none":
                plugin.pytest_sessionfinish(None, int(sys.argv[1]))
            plugin.pytest_unconfigure(None)
        """)
        environment = {**os.environ, "PYTHONPATH": str(INSIDE), "SUITES_RECORD": str(self.folder / "record"),
                       "SUITES_DONE": str(self.folder / "done"), "SUITES_BALLAST": "0"}
        def rows_of(code):
            (self.folder / "record").unlink(missing_ok=True)
            subprocess.run([sys.executable, "-S", self.folder / "plugin.py", code], env=environment, check=True)
            return [json.loads(line) for line in (self.folder / "record").read_text().splitlines()]
        rows = rows_of("1")
        self.assertEqual({r["end"]: r["outcome"] for r in rows if "end" in r and r["end"][0] != "("},
                         {"a": "passed", "b": "failed", "c": "skipped", "d": "passed"})
        # With what code pytest must have ended so that all was run. Without one it never began.
        for code in ("0", "1", "2", "3", "4", "5", "none"):
            with self.subTest(code=code):
                self.assertEqual(rows_of(code)[-1].get("complete", False), code in "015")


if __name__ == "__main__":
    SIMULATED = sys.argv.pop(1)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # Under nohup the tests would ignore it too.
    unittest.main()
