"""A plugin of pytest (-p suites_pytest) that records what becomes of each test, and leaves out what ran."""
from suites_record import Record

record = None
finished = False
FINISHED = (0, 1, 5)  # pytest's exit codes when all ran: all passed, some failed, there were none.
outcomes = {}


def pytest_configure(config):
    global record
    record = Record()


def pytest_collection_modifyitems(config, items):
    out = [item for item in items if item.nodeid in record.done]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item.nodeid not in record.done]


def pytest_collectreport(report):
    if report.failed:
        record.end(report.nodeid, "failed", str(report.longrepr))


def pytest_runtest_logstart(nodeid, location):
    outcomes[nodeid] = ("passed", "")
    record.begin(nodeid)


def pytest_runtest_logreport(report):
    if report.failed:
        outcomes[report.nodeid] = ("failed", str(report.longrepr))
    elif report.skipped and not hasattr(report, "wasxfail") and outcomes[report.nodeid][0] == "passed":
        outcomes[report.nodeid] = ("skipped", str(report.longrepr))


def pytest_runtest_logfinish(nodeid, location):
    record.end(nodeid, *outcomes.pop(nodeid))


def pytest_sessionfinish(session, exitstatus):
    global finished
    finished = exitstatus in FINISHED


def pytest_unconfigure(config):
    if finished:
        record.close()
