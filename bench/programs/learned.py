#!/usr/bin/env python3
"""How the first rounds of a program compare with its later ones, with and without what earlier runs have learned.

    bench/programs/learned.py [--vramspan BINARY] [--device-memory 50%] [--rounds N] [--overlap HOW] PROGRAM [ARGUMENTS]

PROGRAM is one that runs its rounds through common.repeated, as train.py. Prints one table: a run without vramspan, one
with --learned off, then three with --learned on that begin with nothing, in a cache of their own. `settled` is the median of the later half of the rounds.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from common import median

HERE = os.path.dirname(os.path.abspath(__file__))


def run(vramspan, options, program, rounds, cache, learned):
    """Milliseconds of each round, what the program reports, and vramspan's statistics."""
    stats = os.path.join(cache, "stats.json")
    if os.path.exists(stats):
        os.remove(stats)
    how = ["--off"] if learned is None else [*options, "--learned", learned]
    command = [vramspan, "run", *how, f"--stats={stats}", "--", sys.executable, *program]
    done = subprocess.run(command, input=f"{rounds}\n0\n", text=True, capture_output=True, check=False,
                          env={**os.environ, "BENCH_BURSTS": "1", "XDG_CACHE_HOME": cache})
    lines = [line for line in done.stdout.splitlines() if line[:1] in "[{"]
    if done.returncode != 0 or len(lines) < 2:
        sys.exit(f"exit code {done.returncode}\n{done.stderr[-2000:]}")
    statistics = {}
    if learned is not None:
        with open(stats, encoding="utf-8") as written:
            statistics = json.loads(written.readlines()[-1])
    return json.loads(lines[0]), json.loads(lines[-1]), statistics


def prepare(cache, vramspan):
    """The prices that `vramspan info` measured, as the user's own cache has them."""
    subprocess.run([vramspan, "info"], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": cache})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vramspan", default="vramspan")
    parser.add_argument("--device-memory", default="50%")
    parser.add_argument("--overlap")
    parser.add_argument("--trust")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    program = [os.path.join(HERE, args.program[0]) if not os.path.exists(args.program[0]) else args.program[0],
               *args.program[1:]]
    options = ["--device-memory", args.device_memory]
    for name in ("overlap", "trust"):
        if getattr(args, name):
            options += [f"--{name}", getattr(args, name)]
    cache = tempfile.mkdtemp(prefix="learned-")
    try:
        prepare(cache, args.vramspan)
        print(f"{'run':<10} {'first':>9} {'second':>9} {'settled':>9} {'first/settled':>13} {'trials':>7} {'GiB in':>7}  result")
        results = set()
        for name, learned in (("alone", None), ("off", "off"), ("on, 1st", "on"), ("on, 2nd", "on"), ("on, 3rd", "on")):
            ms, report, s = run(args.vramspan, options, program, args.rounds, cache, learned)
            settled = median(ms[len(ms) // 2:])
            results.add(report["result"])
            print(f"{name:<10} {ms[0]:9.1f} {ms[1]:9.1f} {settled:9.1f} {ms[0] / settled:13.2f} {s.get('trials', 0):7} "
                  f"{s.get('bytes_in', 0) / 2**30:7.1f}  {report['result']}", flush=True)
        if len(results) != 1:
            sys.exit("the results differ")
    finally:
        shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    main()
