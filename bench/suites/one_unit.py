"""Runs one unit to its end, in as many processes as that takes."""
import dataclasses
import functools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from found import INSIDE

POISONED = 75  # As in inside/suites_record.py.
MOST = 6  # Processes of one unit: it goes on after a test that crashed or hung.
REST = "(rest)"  # What did not come to run in all of them.
BALLAST = "(ballast)"  # As in inside/suites_record.py.
BETWEEN = "(between tests)"  # Where a process may end or hang as well.
ASIDE = ("(start)", BALLAST, BETWEEN, REST)  # What a process is asked beside its tests.


@dataclasses.dataclass
class Outcome:
    outcome: str  # passed, failed, skipped, timed out, not run, missing
    why: str = ""
    digest: str | None = None


NOT_RUN = Outcome("not run")  # No time was left, or its process ended before.
MISSING = Outcome("missing", "there was no such test, and all that was there ran")


@dataclasses.dataclass
class UnitRun:
    tests: dict[str, Outcome] = dataclasses.field(default_factory=dict)
    seconds: float = 0
    moved: int = 0  # Bytes, either way.
    in_place: int = 0  # Pieces of work that used host memory.
    off: str = ""  # Why vramspan did not work, if it did not.
    refused: bool = False  # The driver took no kernel for the ballast, so that its words were set and not counted up.
    complete: bool = False

    def outcome(self, name):
        return self.tests.get(name, MISSING if self.complete else NOT_RUN)

    def passed(self):
        return [name for name, o in self.tests.items() if o.outcome == "passed" and name not in ASIDE]


@dataclasses.dataclass
class Way:
    """How a unit is run: plain, or under vramspan."""
    name: str
    prefix: tuple[str, ...] = ()  # Before the command; {stats} stands for a file.
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


@functools.cache
def _with_this_one():
    """What goes before a command that is to end with this process, whatever ends that."""
    prefix = ("setpriv", "--pdeathsig", "KILL")
    try:
        return prefix if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0 else ()
    except OSError:
        return ()


class Processes:
    """Those that run now, each in a session of its own, so that nothing of theirs is left behind."""

    def __init__(self):
        # A signal may come while the thread that it stops holds the lock.
        self.lock, self.running, self.stopped = threading.RLock(), set(), False

    def run(self, command, limit, **options):
        """Its exit code, or None if it took too long."""
        _with_this_one()
        with self.lock:
            if self.stopped:
                return None
            process = subprocess.Popen([*_with_this_one(), *command], start_new_session=True, **options)
            self.running.add(process)
        try:
            return process.wait(max(limit, 0.1))
        except subprocess.TimeoutExpired:
            return None
        finally:
            with self.lock:
                self._kill(process)
                self.running.discard(process)
            process.wait()

    def stop(self):
        """Ends them all, and no other begins."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                self._kill(process)

    @staticmethod
    def _kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


PROCESSES = Processes()


def _process(unit, way, folder, log, limit):
    """One process; its exit code, or None if it took too long."""
    command = [word.replace("{stats}", str(folder / "stats.json")) for word in way.prefix] + list(unit.command)
    path = os.pathsep.join(filter(None, (str(INSIDE), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1", **way.environment,
                   "SUITES_RECORD": str(folder / "record"), "SUITES_DONE": str(folder / "done")}
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return PROCESSES.run(command, limit, cwd=unit.folder or work, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                         stderr=log)


def _rows(path):
    """The lines of a file as JSON. A process may have been killed within one."""
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _read(path, run):
    """Takes the ends of tests out of a record, and whether all was done; what had begun and not ended."""
    begun, run.complete = None, False
    for row in _rows(path):
        if "begin" in row:
            begun = row["begin"]
        elif "end" in row:
            run.tests[row["end"]] = Outcome(row["outcome"], row.get("why") or "", row.get("digest"))
            begun = None if begun == row["end"] else begun
        run.refused = run.refused or row.get("refused", False)
        run.complete = run.complete or "complete" in row
    return begun


def _last_line(log):
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - 2000))
    lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing")


def run_unit(unit, way, limit, end, log):
    """Every test's outcome. `log` can be read as well. What is not done by `end` (of time.monotonic) is not run."""
    run = UnitRun()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="suites-") as name:
        folder = pathlib.Path(name)
        for _ in range(MOST):
            if time.monotonic() >= end or PROCESSES.stopped:
                break
            before = len(set(run.tests) - {BETWEEN})
            (folder / "done").write_text("".join(f"{test}\n" for test in run.tests))
            (folder / "record").unlink(missing_ok=True)
            cut = end - time.monotonic() < limit
            code = _process(unit, way, folder, log, min(limit, end - time.monotonic()))
            begun = _read(folder / "record", run)
            if run.complete or (code is None and cut) or PROCESSES.stopped:
                break
            ended = Outcome("failed", f"the process ended with {code}")
            if code is None:
                ended = Outcome("timed out", f"after {limit:.0f} s")
            if begun is not None:
                run.tests[begun] = ended
            elif code != POISONED:
                ended.why += f", and said last: {_last_line(log)}"
                run.tests[BETWEEN] = ended
            if begun is None and len(set(run.tests) - {BETWEEN}) == before:
                run.tests[REST] = Outcome("failed", "the next process came no further")
                break
        else:
            run.tests[REST] = Outcome("failed", f"{MOST} processes did not suffice")
        for row in _rows(folder / "stats.json"):
            run.moved += row.get("bytes_in", 0) + row.get("bytes_out", 0)
            run.in_place += row.get("works_in_place", 0)
            run.off = str(row.get("off") or run.off)
    if run.complete:
        run.tests[REST] = Outcome("passed")
        run.tests.setdefault(BETWEEN, Outcome("passed"))
    run.seconds = time.monotonic() - start
    return run
