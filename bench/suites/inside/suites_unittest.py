"""Runs the tests of one module by unittest: suites_unittest.py MODULE."""
import sys
import unittest

from suites_record import Record


def flat(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from flat(part)
        else:
            yield part


class Result(unittest.TestResult):
    """What became of each test goes to the record as it ends."""

    def __init__(self, record):
        super().__init__()
        self.record, self.outcome = record, ("passed", "")

    def startTest(self, test):
        super().startTest(test)
        self.outcome = ("passed", "")
        self.record.begin(test.id())

    def stopTest(self, test):
        super().stopTest(test)
        self.record.end(test.id(), *self.outcome)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(test, f"{subtest}: {err[1]}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._failed(test, "it passed, and should not")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if self.outcome[0] != "failed":
            self.outcome = ("skipped", reason)
        if not isinstance(test, unittest.TestCase):  # A whole class, which begins no test.
            self.record.end(test.id(), "skipped", reason)

    def _failed(self, test, why):
        print(f"{test.id()} failed\n{why}", flush=True)
        self.outcome = ("failed", why)
        if not isinstance(test, unittest.TestCase):
            self.record.end(test.id(), "failed", why)


def hide_strange_coverage():
    """numba takes coverage.types as it is imported, which not every version has, and does without coverage."""
    try:
        import coverage
        getattr(coverage, "types")
    except (ImportError, AttributeError):
        sys.modules["coverage"] = None


def name_rows_as_before():
    """numba-cuda takes numpy.row_stack as it is imported, which newer ones call vstack alone."""
    try:
        import numpy
    except ImportError:
        return
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack


def main():
    module = sys.argv.pop(1)
    hide_strange_coverage()
    name_rows_as_before()
    record = Record()
    try:
        tests = list(flat(unittest.defaultTestLoader.loadTestsFromName(module)))
    except unittest.SkipTest as error:  # The whole module.
        record.end(module, "skipped", str(error))
        tests = []
    unittest.TestSuite(test for test in tests if test.id() not in record.done).run(Result(record))
    record.close()


if __name__ == "__main__":
    main()
