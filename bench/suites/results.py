"""What the units of a suite add up to: as data, and as a table."""
import collections

import one_unit
import verdicts


def aside(name):
    return name.endswith(one_unit.ASIDE)


class Suite:
    def __init__(self, name, version):
        self.name, self.version = name, version
        self.units = self.plain_seconds = self.vramspan_seconds = self.moved = self.in_place = 0
        self.off = set()  # Why vramspan did not work.
        self.refused = False  # The ballast was set and not counted up.
        self.left_out = []  # Units that no time was left for.
        self.broken = {}  # Unit: why run.py could not run it.
        self.tests = {}  # Name: Verdict
        self.passed = {"plain": [], "vramspan": []}

    def add(self, unit, plains, unders):
        """The runs of one unit."""
        self.units += 1
        self.plain_seconds += plains[0].seconds
        self.vramspan_seconds += unders[0].seconds
        self.moved += sum(run.moved for run in unders)
        self.in_place += sum(run.in_place for run in unders)
        self.off |= {run.off for run in unders if run.off}
        self.refused = self.refused or any(run.refused for run in unders)
        short = unit.name.removeprefix(f"{self.name}/")
        for test, verdict in verdicts.unit_verdicts(plains, unders).items():
            self.tests[f"{short}: {test}"] = verdict
        for way, run in (("plain", plains[0]), ("vramspan", unders[0])):
            self.passed[way] += [f"{short}: {test}" for test in run.passed()]

    def told(self):
        """What a process is asked beside its tests is told only if it came out badly."""
        return {name: v for name, v in sorted(self.tests.items())
                if not aside(name) or v.word not in (verdicts.BOTH_PASS, verdicts.NOT_RUN)}

    def counts(self):
        return collections.Counter(v.word for v in self.told().values())

    def regressions(self):
        return {name: verdict for name, verdict in sorted(self.tests.items()) if verdict.regression}

    def vain(self):
        """Why this says nothing of vramspan, if so."""
        if self.off:
            return f"vramspan did not work: {'; '.join(sorted(self.off))}"
        if not self.counts()[verdicts.BOTH_PASS]:
            return "nothing passed both ways"
        if self.refused:
            return "the driver took no kernel of the ballast, which was set instead and needs no device memory for that"
        return "" if self.moved or self.in_place else "memory was never short: nothing moved"

    def data(self):
        counts = self.counts()
        by_word = {word: {name: v.why for name, v in self.told().items() if v.word == word}
                   for word in verdicts.ALL if word != verdicts.BOTH_PASS}
        return {"suite": self.name, "version": self.version, "units": self.units, "left_out": sorted(self.left_out),
                "broken": self.broken, "plain_seconds": round(self.plain_seconds, 1), "vramspan_seconds": round(self.vramspan_seconds, 1),
                "moved_bytes": self.moved, "works_in_place": self.in_place,
                "counts": {word: counts[word] for word in verdicts.ALL},
                "vain": self.vain(), "regressions": {name: v.why for name, v in self.regressions().items()}, "tests": by_word}


def whole(suites, what, options, version):
    """All of it, as --format json prints it."""
    return {"schema": "vramspan.suites", "schema_version": 1, "vramspan": version, "device_memory": options.device_memory,
            "ballast": options.ballast, "overlap": options.overlap,
            "left_out": {name: said for name, said in what.items() if name not in suites},
            "suites": [suite.data() for suite in suites.values()]}


def table(suites, what):
    """For people: a column a suite, then each test that is not as without vramspan."""
    rows = [["", *suites], ["units", *(s.units for s in suites.values())]]
    rows += [[word, *(s.counts()[word] for s in suites.values())] for word in verdicts.ALL]
    rows += [["GiB moved", *(f"{s.moved / 2**30:.1f}" for s in suites.values())],
             ["work in place", *(s.in_place for s in suites.values())],
             ["seconds plain", *(f"{s.plain_seconds:.0f}" for s in suites.values())],
             ["seconds under vramspan", *(f"{s.vramspan_seconds:.0f}" for s in suites.values())]]
    lines = [f"{row[0]:24}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows]
    lines += [f"{name}: left out: {said}" for name, said in what.items() if name not in suites]
    for s in suites.values():
        lines.append(f"{s.name}: {s.version}")
        if s.left_out:
            lines.append(f"{s.name}: no time for {len(s.left_out)} units: {' '.join(sorted(s.left_out))}")
        lines += [f"{s.name}: could not be run: {name}: {why}" for name, why in s.broken.items()]
        if s.vain():
            lines.append(f"{s.name}: says nothing of vramspan: {s.vain()}")
        for word in (verdicts.ONLY_PLAIN, verdicts.DIFFERS, verdicts.TIMED_OUT, verdicts.FLAKY, verdicts.ONLY_VRAMSPAN):
            lines += [f"{s.name}: {word}: {name}: {' '.join(v.why.split())[-200:]}"
                      for name, v in sorted(s.tests.items()) if v.word == word]
        lines += [f"{s.name}: cut short either way: {name}: {' '.join(v.why.split())[-200:]}"
                  for name, v in sorted(s.tests.items()) if aside(name) and v.word == verdicts.BOTH_FAIL]
    return "\n".join(lines)
