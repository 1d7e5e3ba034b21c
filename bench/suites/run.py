#!/usr/bin/env python3
"""Runs the tests of numba-cuda, CuPy and PyTorch without vramspan and under it, and compares what passed.

    bench/suites/run.py --vramspan build/release/bin/vramspan [--device-memory 2GiB] [--overlap auto] [--out FOLDER]
        [--only numba,cupy,torch] [--match PATTERN...] [--limit SECONDS] [--end SECONDS] [--jobs 4] [--format json]

README.md, beside this, says what is run of each. Exit code 1: there is a regression, or nothing was
compared; 2: nothing to run, or no vramspan.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import found
import one_unit
import results
import verdicts

HERE = pathlib.Path(__file__).resolve().parent


def size(text):
    """Bytes; of a share of the device nothing can be told here."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(|KiB|MiB|GiB)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is no size, as 2GiB")
    return int(float(match[1]) * {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[match[2]])


def names(text):
    wrong = set(text.split(",")) - set(found.SUITES)
    if wrong:
        raise argparse.ArgumentTypeError(f"there is no suite {', '.join(sorted(wrong))}; there are {', '.join(found.SUITES)}")
    return text.split(",")


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vramspan", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/vramspan")
    parser.add_argument("--device-memory", default="2GiB", metavar="SIZE")
    parser.add_argument("--ballast", type=size, metavar="SIZE",
                        help="what each process holds and uses beside its tests (default: a quarter more than --device-memory)")
    parser.add_argument("--overlap", help="as of `vramspan run`")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", help="for suites.json, suites.txt, what passed, and logs")
    parser.add_argument("--only", type=names, default=list(found.SUITES), metavar="SUITE[,SUITE]")
    parser.add_argument("--match", nargs="+", default=[], metavar="PATTERN", help="the units of a suite, as 'numba/cudadrv/*'")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of each process (default: 300)")
    parser.add_argument("--end", type=float, default=1e9, metavar="SECONDS", help="when all ends, done or not")
    parser.add_argument("--jobs", type=int, default=1, help="units at once")
    parser.add_argument("--again", type=int, default=2, help="how often a unit with a regression is run again (default: 2)")
    parser.add_argument("--torch-parts", type=int, default=16, metavar="N", help="processes for PyTorch's operators")
    parser.add_argument("--torch-types", default="float32,bfloat16,complex64,int64", metavar="TYPE[,TYPE]")
    parser.add_argument("--torch-samples", type=int, default=6, metavar="N", help="of each operator (default: 6)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--list", action="store_true", help="name the units")
    options = parser.parse_args(words)
    if options.ballast is None:
        try:
            options.ballast = size(options.device_memory) * 5 // 4
        except argparse.ArgumentTypeError as error:
            parser.error(f"--device-memory: {error}; name one, or a --ballast")
    return options


def ways(options):
    environment = {"SUITES_BALLAST": str(options.ballast)}
    prefix = [str(options.vramspan.resolve()), "run", "--quiet", "--device-memory", options.device_memory, "--stats={stats}"]
    prefix += ["--overlap", options.overlap] if options.overlap else []
    return (one_unit.Way("plain", (), environment), one_unit.Way("vramspan", (*prefix, "--"), environment))


class Progress:
    """Lines on stderr, from any thread."""

    def __init__(self, total):
        self.total, self.done, self.lock, self.start = total, 0, threading.Lock(), time.monotonic()

    def say(self, unit, text, done=False):
        with self.lock:
            self.done += done
            print(f"{time.monotonic() - self.start:6.0f} s  {self.done}/{self.total}  {unit.name}  {text}", file=sys.stderr,
                  flush=True)


def log(options, name):
    return open(options.out / "logs" / name, "w+b") if options.out else tempfile.TemporaryFile()


def one(unit, options, end, progress):
    """A unit's runs, plain ones and those under vramspan; None if no time was left to begin both."""
    plain, under = ways(options)
    runs = {plain.name: [], under.name: []}
    for again in range(options.again + 1):
        if time.monotonic() >= end or one_unit.PROCESSES.stopped:
            break
        for way in (plain, under):
            if one_unit.PROCESSES.stopped:
                break
            with log(options, f"{unit.name.replace('/', '.')}.{way.name}.{again}.log") as file:
                run = one_unit.run_unit(unit, way, options.limit, end, file)
            runs[way.name].append(run)
            tests = len(set(run.tests) - set(one_unit.ASIDE))
            progress.say(unit, f"{way.name}: {len(run.passed())} of {tests} passed, {run.seconds:.0f} s")
        if not runs["vramspan"]:
            break
        doubtful = verdicts.suspects(runs["plain"][0], runs["vramspan"][0])
        if not doubtful:
            break
        progress.say(unit, f"not as plain: {len(doubtful)}, as {doubtful[0]}")
    progress.say(unit, "done", done=True)
    return (runs["plain"], runs["vramspan"]) if runs["vramspan"] else None


def written(options, suites, text, data):
    """After each unit, so that what ends this loses nothing of the units before."""
    files = {"suites.json": json.dumps(data, indent=1) + "\n", "suites.txt": text + "\n"}
    for suite in suites.values():
        for way, passed in suite.passed.items():
            files[f"{suite.name}.{way}.passed"] = "".join(f"{name}\n" for name in sorted(passed))
    for name, content in files.items():
        (options.out / f".{name}").write_text(content)
        (options.out / f".{name}").replace(options.out / name)


def compared(options, units, suites, progress, tell):
    """Runs all units; `tell` is called after each."""
    end = time.monotonic() + options.end
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        asked = {pool.submit(one, unit, options, end, progress): unit for unit in units}
        for done in concurrent.futures.as_completed(asked):
            unit = asked[done]
            suite = suites[unit.suite]
            try:
                runs = done.result()
                if runs:
                    suite.add(unit, *runs)
                else:
                    suite.left_out.append(unit.name)
            except Exception as error:  # One unit's fault is not the others'.
                suite.broken[unit.name] = f"{type(error).__name__}: {error}"
            tell()


def stop_at_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # As nohup has it.
            signal.signal(number, lambda *_: one_unit.PROCESSES.stop())


def main(words=None):
    options = arguments(words)
    what, units = found.find(options)
    if options.list:
        print(*(unit.name for unit in units), sep="\n")
        return 0
    if not units:
        print("suites: nothing to run:", *(f"{name}: {said}" for name, said in what.items()), sep="\n  ", file=sys.stderr)
        return 2
    try:
        version = subprocess.run([options.vramspan, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"suites: {options.vramspan} does not run: {error}; --vramspan names another", file=sys.stderr)
        return 2
    if options.out:
        (options.out / "logs").mkdir(parents=True, exist_ok=True)
    stop_at_signals()
    suites = {name: results.Suite(name, said) for name, said in what.items() if any(u.suite == name for u in units)}

    def told():
        data, text = results.whole(suites, what, options, version), results.table(suites, what)
        if options.out:
            written(options, suites, text, data)
        return data, text

    compared(options, units, suites, Progress(len(units)), told)
    data, text = told()
    print(json.dumps(data, indent=1) if options.format == "json" else text)
    return 1 if any(suite.regressions() or suite.vain() or suite.broken for suite in suites.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
