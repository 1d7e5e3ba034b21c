"""What became of each test, plain and under vramspan, in one word."""
import dataclasses

from one_unit import BALLAST

BOTH_PASS, BOTH_FAIL, SKIPPED = "both pass", "both fail", "skipped"
ONLY_PLAIN = "only plain passes"  # A regression.
ONLY_VRAMSPAN = "only vramspan passes"
DIFFERS = "other bits"  # A regression: the plain runs agree with each other, and not with vramspan.
VARIES = "bits vary"  # Plain runs differ among themselves, so nothing can be said.
TIMED_OUT = "timed out"  # Under vramspan alone it is a regression too.
FLAKY = "flaky"  # Ran again, and it failed without vramspan as well, or passed under it. No crash and no wrong word is.
NOT_RUN = "not run"  # In one of the two, or in both: no time was left, or its process ended before.
ALL = (BOTH_PASS, BOTH_FAIL, SKIPPED, ONLY_PLAIN, ONLY_VRAMSPAN, DIFFERS, VARIES, TIMED_OUT, FLAKY, NOT_RUN)
FINE = ("passed", "skipped")
CRASHED = "the process ended with -"


@dataclasses.dataclass
class Verdict:
    word: str
    why: str = ""
    regression: bool = False


def first(plain, under):
    """Of one run each."""
    if "not run" in (plain.outcome, under.outcome):
        return Verdict(NOT_RUN, under.why or plain.why)
    if "missing" in (plain.outcome, under.outcome):
        return _first_of_one(plain, under)
    if "timed out" in (plain.outcome, under.outcome):
        where = " and ".join(n for n, o in (("plain", plain), ("vramspan", under)) if o.outcome == "timed out")
        return Verdict(TIMED_OUT, f"{where}: {under.why or plain.why}", plain.outcome in FINE)
    if plain.outcome == "passed" == under.outcome:
        if plain.digest == under.digest:
            return Verdict(BOTH_PASS if plain.digest != "varies" else VARIES)
        return Verdict(VARIES) if plain.digest == "varies" else Verdict(
            DIFFERS, f"{plain.digest} plain, {under.digest} under vramspan", True)
    if plain.outcome in FINE and (under.outcome == "failed" or plain.outcome == "passed"):
        return Verdict(ONLY_PLAIN, f"{under.outcome}: {under.why}", True)
    if plain.outcome == "skipped":
        return Verdict(SKIPPED, plain.why)
    return Verdict(ONLY_VRAMSPAN if under.outcome in FINE else BOTH_FAIL, plain.why)


def _first_of_one(plain, under):
    """Of a name that one of the two runs lacks, though it is complete."""
    if plain.outcome == "passed" or under.outcome in ("failed", "timed out"):
        lacks = "; plain there was no such test" if plain.outcome == "missing" else ""
        return Verdict(ONLY_PLAIN, f"{under.outcome}: {under.why}{lacks}", True)
    if "skipped" in (plain.outcome, under.outcome):
        return Verdict(SKIPPED, plain.why)
    return Verdict(ONLY_VRAMSPAN if under.outcome == "passed" else NOT_RUN, plain.why)


def _grave(name, outcome):
    """What is a fault however seldom it comes: wrong words of the ballast, and crashes."""
    return outcome.outcome == "failed" and (name == BALLAST or outcome.why.startswith(CRASHED))


def _ran(outcomes):
    return [o for o in outcomes if o.outcome != "not run"]


def settled(plains, unders, name=""):
    """Of several runs each, the first ones first. Only a regression of the first two can become something else, but what is
    grave, or has other bits, counts in any run under vramspan, unless a plain one fails or varies."""
    verdict, of = first(plains[0], unders[0]), plains[0].outcome
    plains, unders = _ran(plains), _ran(unders)
    fine = (*FINE, "missing") if of == "missing" else FINE
    wrong_plain = any(o.outcome not in fine for o in plains)
    grave = [o.why for o in unders if _grave(name, o)]
    if grave and plains and not wrong_plain:
        return Verdict(ONLY_PLAIN, f"failed: {grave[0]} ({len(grave)} of {len(unders)} times under vramspan)", True)
    if verdict.word == BOTH_PASS:
        others = [later for o in unders if (later := first(plains[0], o)).word == DIFFERS]
        verdict = others[0] if others else verdict
    if not verdict.regression:
        return verdict
    if len(plains) == 1 or len(unders) == 1:
        verdict.why += " (not run again)"
        return verdict
    count = f"passed {sum(o.outcome in fine for o in plains)} of {len(plains)} times plain, " \
            f"{sum(o.outcome in fine for o in unders)} of {len(unders)} under vramspan"
    if verdict.word == DIFFERS:
        digests = {o.digest for o in plains}
        return Verdict(VARIES) if len(digests) > 1 or wrong_plain else verdict
    # What passes alone at times under vramspan is named with its count, for a person to look at.
    as_plain = ("passed",) if of == "passed" else fine
    if wrong_plain or any(o.outcome in as_plain for o in unders):
        return Verdict(FLAKY, f"{count}; {verdict.why}")
    verdict.why += f" ({count})"
    return verdict


def suspects(plain, under):
    """The names of tests that have to be run again."""
    return [name for name in {**plain.tests, **under.tests}
            if first(plain.outcome(name), under.outcome(name)).regression]


def unit_verdicts(plains, unders):
    """Every test of a unit, from its runs (UnitRun), the first ones first."""
    names = {**plains[0].tests, **unders[0].tests}
    return {name: settled([run.outcome(name) for run in plains], [run.outcome(name) for run in unders], name)
            for name in names}
