#!/usr/bin/env python3
"""What vramspan costs a program that fits: without it, and with it in several ways, by turns.

    bench/programs/fits.py --vramspan build/release/bin/vramspan [--turns 5] [--seconds S] [--ways off,run,record] [--json fits.json] [--results] [CASE...]

`run` is `vramspan run` with its defaults and no budget, `record` writes a trace as well, `no-times` one without times, `off`
loads the library and passes everything through, and `again` is without it once more, which says how machine and process
scatter. Machines drift, and one process is faster than the next, so a turn of

  train, chain, llama  starts the program once in each way, all at the same time, and lets them run a few steps one after
                       the other, many times; each time's ratio is to the plain steps beside it, the turn's their median;
  start, buffers       runs the program once in each way, beginning with another one each time.

One line a case and time that the program reports: the plain median and its range over the turns, then for each way the
median and range of the turns' ratios; --results adds these to bench/results. Where the ratios scatter by more than a target allows, only more turns tell. It needs
a GPU to itself, and memory for all ways at once.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import result_rows
from together import Programs

HERE = pathlib.Path(__file__).resolve().parent
START = "import torch; torch.ones(1, device='cuda').add_(1); torch.cuda.synchronize()"
# name: the program and its arguments. Of `start` the whole process is timed, the others say themselves what they took.
CASES = {
    "train": ["train.py", "8", "1024"],
    "train, wide": ["train.py", "8", "2048"],
    "chain, 64 rows": ["chain.py", "64"],
    "llama": ["llama.py", "--no-cudnn"],
    "start": ["-c", START],
    "buffers": ["./buffers", "16", "256", "100000"],
}
# Cases whose processes take turns: their phases, and how many steps a burst of each has.
BURSTS = {
    "train": {"step": 5},
    "train, wide": {"step": 5},
    "chain, 64 rows": {"round": 20},
    "llama": {"decode": 5, "prefill_1x2048": 5, "prefill_4x4096": 2},
}
WAYS = {"plain": None, "again": None, "off": ["--off"], "run": [], "record": ["--force", "--record"],
        "no-times": ["--force", "--record-times", "none", "--record"]}


def command_of(name, way, folder, options):
    program = CASES[name]
    command = [str(options.binaries / program[0]), *program[1:]] if program[0].startswith("./") else [sys.executable, *program]
    if WAYS[way] is None:
        return command
    extra = [*WAYS[way], f"{folder}/t.vramspan"] if way in ("record", "no-times") else WAYS[way]
    return [options.vramspan, "run", "--quiet", *extra, "--", *command]


def times_of(name, way, options):
    """What the case reports, in milliseconds by name, and its result; None where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(name, way, folder, options)
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
        whole = (time.perf_counter() - start) * 1e3
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    if name == "start":
        return {"process": whole}, None
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return said["ms"], said["result"]


def together(name, ways, options):
    """Milliseconds by phase and way, a list with one for each burst, and the results by way."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs({way: command_of(name, way, folder, options) for way in ways}, HERE)
        ms = {phase: programs.bursts(options.bursts, steps, 3 * steps, f"{name}, {phase}")
              for phase, steps in BURSTS[name].items()}
        results = {way: report["result"] for way, report in programs.reports().items()}
    return {phase: {way: [statistics.median(burst) for burst in bursts] for way, bursts in of_phase.items()}
            for phase, of_phase in ms.items()}, results


def by_turns(name, options):
    """Times by what is timed and way, a turn each; says where a result is another."""
    ways = ["plain", *options.ways]
    seen, results = {}, {}
    until = time.monotonic() + options.seconds
    for turn in range(options.turns):
        if turn != 0 and time.monotonic() > until:
            break
        if name in BURSTS:
            ms, said = together(name, ways, options)
            results.update({result: way for way, result in said.items()})
            for phase, of_phase in ms.items():
                found = seen.setdefault(phase, {w: [] for w in ways})
                found["plain"].append(statistics.median(of_phase["plain"]))
                for way in options.ways:
                    ratio = statistics.median(a / b for a, b in zip(of_phase[way], of_phase["plain"]))
                    found[way].append(ratio * found["plain"][-1])
            continue
        for k in range(len(ways)):
            way = ways[(turn + k) % len(ways)]
            if sys.stderr.isatty():
                print(f"\r\033[K{name}: turn {turn + 1} of {options.turns}, {way}", end="\r", file=sys.stderr, flush=True)
            ms, result = times_of(name, way, options)
            results.setdefault(result, way)
            for what, value in ms.items():
                seen.setdefault(what, {w: [] for w in ways})[way].append(value)
    if len(results) > 1:
        print(f"{name}: the results differ: {results}", file=sys.stderr)
    return seen, len(results) == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vramspan", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--bursts", type=int, default=60, help="of steps, in each turn of a case whose ways take turns")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no more turns of a case after so long")
    parser.add_argument("--ways", default="off,run,record", type=lambda t: t.split(","))
    parser.add_argument("--binaries", type=lambda p: pathlib.Path(p).resolve(), default=HERE, help="where `buffers` is")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", action="store_true", help="add a row for each case and way to bench/results")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(map(repr, CASES)))
    options = parser.parse_args()
    for kind, names, known in (("case", options.cases, CASES), ("way", options.ways, WAYS)):
        unknown = [n for n in names if n not in known or n == "plain"]
        if unknown:
            parser.error(f"no {kind} {unknown[0]!r}; there are {', '.join(map(repr, (k for k in known if k != 'plain')))}")
    for name in ("turns", "bursts"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} takes a number of 1 or more")
    found, same, rows = [], True, []
    print(f"{'case':28} {'plain ms (range)':>26} " + " ".join(f"{w + ', x plain':>22}" for w in options.ways))
    for name in options.cases or CASES:
        seen, agree = by_turns(name, options)
        same &= agree
        for what, ways in seen.items():
            plain = ways["plain"]
            cells = []
            for way in options.ways:
                ratios = [ms / p for ms, p in zip(ways[way], plain)]
                cells.append(f"{statistics.median(ratios):.3f} ({min(ratios):.2f}-{max(ratios):.2f})")
                rows.append(result_rows.row(f"fits.{result_rows.part(name)}.{result_rows.part(what)}.{result_rows.part(way)}",
                                            round(statistics.median(ratios), 4), "x plain",
                                            (round(min(ratios), 4), round(max(ratios), 4)), len(ratios)))
            print(f"{name + ': ' + what:28} {f'{statistics.median(plain):.2f} ({min(plain):.1f}-{max(plain):.1f})':>26} "
                  + " ".join(f"{c:>22}" for c in cells), flush=True)
            found.append({"case": name, "what": what, "ms": ways})
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    if options.results:
        print(f"results: {result_rows.append(rows)}")
    return 0 if same else 1


sys.exit(main())
