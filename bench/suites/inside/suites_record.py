"""What a process of a suite writes for run.py: a line of JSON as each test begins, and one as it ends.

SUITES_RECORD names the file, SUITES_DONE one with the names of tests that are left out because they ran, and
SUITES_BALLAST says how many bytes the process holds beside its tests.
"""
import json
import os

from suites_ballast import Ballast

POISONED = 75  # The exit code of a process whose context takes no more calls.
START, BALLAST = "(start)", "(ballast)"


class Record:
    def __init__(self):
        self.process = os.getpid()
        self.file = open(os.environ["SUITES_RECORD"], "a", encoding="utf-8")
        with open(os.environ["SUITES_DONE"], encoding="utf-8") as file:
            self.done = set(file.read().splitlines())
        self.ballast = Ballast(int(os.environ.get("SUITES_BALLAST", "0")))
        self.end(START, "passed")
        self._write({"refused": self._refused()})

    def begin(self, name):
        """The ballast is used first. If it cannot be, a new process goes on from here."""
        if os.getpid() != self.process:
            return
        try:
            self.ballast.touch()
        except RuntimeError as error:
            print(f"suites: before {name}: {error}", flush=True)
            self.file.flush()
            os._exit(POISONED)
        self._write({"begin": name})

    def end(self, name, outcome, why="", digest=None):
        """`outcome`: passed, failed or skipped."""
        if os.getpid() == self.process:
            self._write({"end": name, "outcome": outcome, "why": why[-400:], "digest": digest})

    def close(self):
        """Looks at the ballast. Then all that the process had to do is done."""
        if os.getpid() != self.process:
            return
        try:
            wrong = self.ballast.wrong_words()
            why = f"{wrong} words of the ballast are wrong" if wrong else ""
        except RuntimeError as error:
            why = f"the ballast cannot be read: {error}"
        self.end(BALLAST, "failed" if why else "passed", why)
        self._write({"complete": True, "touches": self.ballast.touches, "refused": self._refused()})

    def _refused(self):
        """Whether the driver takes no kernel, so that the ballast is set, which needs no device memory."""
        return bool(self.ballast.each) and self.ballast.kernel is None

    def _write(self, row):
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
