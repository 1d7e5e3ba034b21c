#!/usr/bin/env python3
"""Two ways of running programs, by turns.

    bench/programs/turns.py [--first WORDS] [--second WORDS] [--turns N] [--results ID] CASE...

A way is what `vramspan run` is given: options, and variables as NAME=VALUE. VRAMSPAN=FILE names another vramspan, the one
of an older build, say. The words "--off" run the program without it. A CASE is one word, with the program of this folder
or another, and what the program is given. A word with a % or a unit before it is its device memory:

    turns.py --second VRAMSPAN_BLOCKS=off "6GiB models.py gnn --gib 8 --laps 10" "50% train.py 8 1024"
    turns.py --second VRAMSPAN=/opt/old/bin/vramspan --turns 3 "6GiB models.py dlrm --gib 8 --laps 10"

Each case runs once each way, which is not counted: code is read and prices are measured by then. Then come N turns of
both. A program prints what common.report does; the first of its times counts, unless --time names another.
Prints for each case the median of both ways, their ratio, what was fetched, and whether the results are the same.
--results ID adds two rows a case to bench/results: loads.CASE.ID.first and .second.
Exits with 1 where a program failed, or its results differ.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import result_rows
from common import median

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY = re.compile(r"\d+(\.\d+)?(%|[KMGT]i?B)")


def parse_way(words, vramspan):
    """The program to run by, its options, and the environment."""
    options, environment = [], {}
    for word in shlex.split(words):
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            options.append(word)
        elif name == "VRAMSPAN":
            vramspan = value
        else:
            environment[name] = value
    return vramspan, options, environment


def parse_case(text):
    """Its name, its device memory or None, and its command."""
    words = shlex.split(text)
    memory = words.pop(0) if words and MEMORY.fullmatch(words[0]) else None
    if not words:
        sys.exit(f"turns: {text!r} names no program")
    own = os.path.join(HERE, words[0])
    program = own if os.path.exists(own) else words[0]
    command = [sys.executable, program] if program.endswith(".py") else [program]
    known = [w for w in words[1:] if re.fullmatch(r"[a-z][a-z_]*", w)]
    return "_".join([os.path.splitext(os.path.basename(words[0]))[0], *known]), memory, command + words[1:]


def run(way, memory, command, folder, time):
    """The time in ms, the result, and how many bytes were fetched."""
    vramspan, options, environment = way
    stats = os.path.join(folder, "stats.json")
    if os.path.exists(stats):
        os.remove(stats)
    limit = ["--device-memory", memory] if memory else []
    whole = [vramspan, "run", *limit, *options, f"--stats={stats}", "--", *command]
    done = subprocess.run(whole, text=True, capture_output=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": folder, **environment})
    reports = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not reports:
        raise RuntimeError(f"exit code {done.returncode} of {shlex.join(whole)}\n{done.stderr[-2000:]}")
    report = json.loads(reports[-1])
    times = report["ms"]
    if time is not None and time not in times:
        raise RuntimeError(f"{shlex.join(command)} tells no time {time!r}, but {', '.join(times)}")
    fetched = 0
    if os.path.exists(stats):
        with open(stats, encoding="utf-8") as written:
            fetched = json.loads(written.readlines()[-1]).get("bytes_in", 0)
    return times[time or next(iter(times))], report["result"], fetched


def compare(case, ways, args, folder):
    """What a line of the table says, and the times of both ways."""
    name, memory, command = case
    all_times, results, fetched = ([], []), set(), [0, 0]
    for turn in range(args.turns + 1):
        for i, way in enumerate(ways):
            print(f"{name}: turn {turn} of {args.turns}, {'second' if i else 'first'}", file=sys.stderr, flush=True)
            ms, result, fetched[i] = run(way, memory, command, os.path.join(folder, str(i)), args.time)
            results.add(result)
            if turn != 0:
                all_times[i].append(ms)
    return all_times, fetched, len(results) == 1


def rows_of(name, part, times, command):
    ways = ("first", "second")
    return [result_rows.row(f"loads.{name}.{part}.{way}", median(ms), "ms", (min(ms), max(ms)), len(ms), command)
            for way, ms in zip(ways, times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vramspan", default="vramspan")
    parser.add_argument("--first", default="", metavar="WORDS")
    parser.add_argument("--second", default="", metavar="WORDS")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--time", metavar="NAME")
    parser.add_argument("--results", metavar="ID")
    parser.add_argument("cases", nargs="+", metavar="CASE")
    args = parser.parse_args()
    if args.turns < 1:
        parser.error("--turns takes a number of 1 or more")
    ways = [parse_way(words, args.vramspan) for words in (args.first, args.second)]
    rows, failed = [], False
    print(f"{'case':<28} {'first':>10} {'second':>10} {'ratio':>6} {'fetched':>9} {'':>9}  results")
    with tempfile.TemporaryDirectory() as folder:
        for i in range(2):
            os.mkdir(os.path.join(folder, str(i)))
        for case in map(parse_case, args.cases):
            try:
                times, fetched, same = compare(case, ways, args, folder)
            except (RuntimeError, ValueError, KeyError, OSError) as error:
                print(f"{case[0]:<28} failed: {error}", flush=True)
                failed = True
                continue
            first, second = map(median, times)
            gib = [f"{b / 2**30:.1f} GiB" for b in fetched]
            print(f"{case[0]:<28} {first:>7.1f} ms {second:>7.1f} ms {second / first:>6.2f} {gib[0]:>9} {gib[1]:>9}  "
                  f"{'the same' if same else 'DIFFERENT'}", flush=True)
            failed |= not same
            if args.results:
                rows += rows_of(case[0], args.results, times, shlex.join(sys.argv))
    if rows:
        print(result_rows.append(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
