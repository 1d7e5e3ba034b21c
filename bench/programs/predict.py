#!/usr/bin/env python3
"""What `vramspan replay` foretells of a round at less memory, beside what a run there takes.

    bench/programs/predict.py --vramspan build/release/bin/vramspan [--budgets 75,50,25] [--overlap safe] [--turns 1]
        [--tuned] [--recordings FOLDER] [--html predicted.html] [--json predicted.json] [--results] [CASE...]
    bench/programs/predict.py --page predicted.json --html predicted.html

A turn starts each program several times at once: without vramspan, recorded with all its memory there, and at each budget,
a share of what the program needs. All run the same rounds by turns, some at a time (together.py), for machines drift: what
the program's own thread binds differs by a half from one run to the next on some. Then the recording is replayed at each
budget, which finds its rounds by itself and says what the median one takes, of several phases where the program has them.
What was measured is the median of its rounds; with more turns, of the turns' medians, and so is what was foretold.
--tuned runs the program at each budget once more, beside one without, with the profile that `vramspan tune` makes of the
recording for that, where that is not the default. What things cost is measured first, unless `vramspan info` has kept it or
--prices names such a file. It needs a GPU to itself, with memory for all that runs at once.
"""
import argparse
import html
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import result_rows
from together import Programs

HERE = pathlib.Path(__file__).resolve().parent
# program: its phases in order, each with how many bursts of how many rounds it runs; the cases, and which phases are theirs.
# A burst is long, for the recording has the pause between two in one of its rounds, and its median should not be told by those.
PROGRAMS = {
    "chain.py 4096": ([("round", 4, 8)], {"chain": ["round"]}),
    "chain.py 64": ([("round", 6, 25)], {"chain, 64 rows": ["round"]}),
    "sweep.py": ([("round", 5, 8)], {"sweep": ["round"]}),
    "train.py 8 1024": ([("step", 6, 10)], {"train": ["step"]}),
    # Without cuDNN, which makes a plan for each new length: of a token's time that is half, and two processes differ in it by a third.
    "llama.py --no-cudnn": ([("decode", 5, 8), ("prefill_1x2048", 3, 4), ("prefill_4x4096", 3, 4)],
                 {"llama, decode": ["decode"], "llama, prefill": ["prefill_1x2048", "prefill_4x4096"]}),
}
CASES = {case: program for program, (_, cases) in PROGRAMS.items() for case in cases}
WARM_UP = 3  # Rounds in front of each phase.


def output(*command):
    """What a command printed."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def run(program, ways):
    """Milliseconds of the rounds by way and phase, and what each way reported; `ways` has what is in front of the program."""
    programs = Programs({name: [*before, sys.executable, *program.split()] for name, before in ways.items()}, HERE)
    ms = {name: {} for name in ways}
    for phase, bursts, rounds in PROGRAMS[program][0]:
        for name, all in programs.bursts(bursts, rounds, WARM_UP, f"{program}, {phase}").items():
            ms[name][phase] = [of_round for burst in all for of_round in burst]
    return ms, programs.reports()


def took(ms, phases):
    return sum(statistics.median(ms[phase]) for phase in phases)


def replayed(options, trace, budgets_mib):
    """Milliseconds of a round and of one of each phase, with all its memory and at each budget; and what is said of the trace."""
    command = [options.vramspan, "replay", str(trace), "--policy", "cost", "--overlap", options.overlap, "--format", "json",
               "--device-memory", ",".join(f"{b}MiB" for b in budgets_mib)]
    found = json.loads(output(*command, *(["--prices", options.prices] if options.prices else [])))
    at = {r["device_memory_bytes"] >> 20: r for r in found["runs"]}
    first = found["runs"][0]
    times = [(first["resident_round_ms"], [p["resident_round_ms"] for p in first["phases"]])]
    return times + [(at[b]["round_ms"], [p["round_ms"] for p in at[b]["phases"]]) for b in budgets_mib], found["trace"]


def predicted(program, phases, options, trace, budgets_mib):
    """Milliseconds of one of the program's rounds in these phases: with all its memory, and at each budget."""
    times, said = replayed(options, trace, budgets_mib)
    every = PROGRAMS[program][0]
    if len(every) == 1:
        if not said["rounds"]:
            sys.exit(f"{program}: nothing in its recording repeats, so there is no round to compare")
        # Where memory comes by turns, two of the program's rounds are one that repeats.
        _, bursts, rounds = every[0]
        each = max(1, round(said["round_works"] * (WARM_UP + bursts * (rounds + 1)) / said["works"]))
        return [of_round / each for of_round, _ in times]
    if len(said["phases"]) < len(every):
        sys.exit(f"{program}: its recording has phases {said['phases']}, and {len(every)} are compared")
    chosen = [k - len(every) for k, (phase, _, _) in enumerate(every) if phase in phases]
    return [sum(of_phases[k] for k in chosen) for _, of_phases in times]


def tuned(options, trace, budget):
    """The options of a run with the profile for that much memory, none where it is the default, and what is in it."""
    profile = trace.with_suffix(f".{budget}.profile")
    prices = ["--prices", options.prices] if options.prices else []
    output(options.vramspan, "tune", str(trace), "--device-memory", f"{budget}MiB", "--overlap", options.overlap, "-o",
           str(profile), "--force", *prices)
    keys = dict(line.split("=", 1) for line in profile.read_text().splitlines() if "=" in line)
    kept = sum(line.startswith("keep=") for line in profile.read_text().splitlines())
    if (keys.get("policy"), keys.get("chunk"), kept) == ("cost", "auto", 0):
        return [], "the default"
    return ["--profile", str(profile)], f"{keys.get('policy')}, chunks {keys.get('chunk')}, {kept} kept"


def before(options, budget, *more):
    return [options.vramspan, "run", "--quiet", "--device-memory", f"{budget}MiB", "--overlap", options.overlap, *more, "--"]


def peak_mib(program):
    """What the program needs of the device."""
    programs = Programs({"plain": [sys.executable, *program.split()]}, HERE)
    for phase, _, _ in PROGRAMS[program][0]:
        programs.bursts(1, 1, 1, f"{program}, {phase}")
    return programs.reports()["plain"]["peak_mib"]


def measure(program, options, folder):
    """The rows of the program's cases."""
    peak = peak_mib(program)
    budgets = {share: peak * share // 100 for share in options.budgets}
    cases = {case: phases for case, phases in PROGRAMS[program][1].items() if case in options.cases}
    measured = {case: {share: [] for share in (100, *budgets)} for case in cases}
    foretold, recorded = {case: [] for case in cases}, {case: [] for case in cases}
    with_profile = {case: {share: [] for share in budgets} for case in cases}
    profiles, same = {}, {share: True for share in budgets}
    for turn in range(options.turns):
        trace = folder / f"{program.replace(' ', '_')}.{turn}.vramspan"
        ways = {100: [], "recorded": [options.vramspan, "run", "--quiet", "--record", str(trace), "--force", "--"]}
        ms, reports = run(program, ways | {share: before(options, budget) for share, budget in budgets.items()})
        for case, phases in cases.items():
            for share, found in measured[case].items():
                found.append(took(ms[share], phases))
            recorded[case].append(took(ms["recorded"], phases))
            foretold[case].append(predicted(program, phases, options, trace, list(budgets.values())))
        result = reports[100]["result"]
        if reports["recorded"]["result"] != result:
            print(f"{program}: the recorded run has another result", file=sys.stderr)
        for share in budgets:
            same[share] &= reports[share]["result"] == result
        if not options.tuned:
            continue
        if turn == 0:
            profiles = {share: tuned(options, trace, budget) for share, budget in budgets.items()}
        ways = {}
        for share, (profile, _) in profiles.items():
            if profile:
                ways |= {share: before(options, budgets[share]), (share, "tuned"): before(options, budgets[share], *profile)}
        if not ways:
            continue
        ms, reports = run(program, ways)
        for share in (share for share, (profile, _) in profiles.items() if profile):
            same[share] &= reports[share, "tuned"]["result"] == reports[share]["result"] == result
            for case, phases in cases.items():
                with_profile[case][share].append(took(ms[share, "tuned"], phases) / took(ms[share], phases))
    for case in cases:
        times = [statistics.median(of_turns) for of_turns in zip(*foretold[case])]
        for (share, found), ms in zip(measured[case].items(), times):
            row = {"case": case, "share": share, "measured_ms": statistics.median(found), "predicted_ms": ms,
                   "recorded_ms": statistics.median(recorded[case])}
            if share != 100:
                row["same"] = same[share]
                if options.tuned:
                    row["profile"] = profiles[share][1]
                if with_profile[case][share]:
                    row["tuned_ms"] = statistics.median(with_profile[case][share]) * row["measured_ms"]
            row["turns"] = [[m, f[list(measured[case]).index(share)]] for m, f in zip(found, foretold[case])]
            yield row


def off(row):
    return (row["predicted_ms"] / row["measured_ms"] - 1) * 100


def figures(rows):
    """Rows of bench/results: what was measured and predicted of each case and budget, by how much that is off, and what a
    profile makes of it."""
    for r in rows:
        of = f"{result_rows.part(r['case'])}.percent_{r['share']}"
        turns = r["turns"]
        for kind, ms, at in (("measured", r["measured_ms"], 0), ("predicted", r["predicted_ms"], 1)):
            spread = (round(min(t[at] for t in turns), 3), round(max(t[at] for t in turns), 3))
            yield result_rows.row(f"{kind}.{of}", round(ms, 3), "ms", spread, len(turns))
        yield result_rows.row(f"predict.{of}", round(off(r), 1), "%", n=len(turns))
        if "tuned_ms" in r:
            yield result_rows.row(f"tune.{of}", round(r["tuned_ms"] / r["measured_ms"], 3), "x default", n=len(turns))


def ticks(most):
    """0 and up, in steps of 1, 2 or 5 times a power of ten: four to nine of them."""
    step = 10 ** math.floor(math.log10(most / 4))
    step *= max(m for m in (1, 2, 5) if 4 * m * step <= most)
    return [step * i for i in range(math.ceil(most / step) + 1)]


def chart(name, rows):
    """Lines for what was predicted, dots for what was measured."""
    marks = ticks(max(max(r["measured_ms"], r["predicted_ms"]) for r in rows))
    left = min(20, *(r["share"] for r in rows))
    x = lambda share: 50 + (share - left) / (100 - left) * 300
    y = lambda ms: 210 - ms / marks[-1] * 180
    grid = "".join(f'<line class="g" x1="50" x2="350" y1="{y(m):.1f}" y2="{y(m):.1f}"/>'
                   f'<text x="46" y="{y(m) + 4:.1f}" text-anchor="end">{m:g}</text>' for m in marks)
    axis = "".join(f'<text x="{x(r["share"]):.1f}" y="226" text-anchor="middle">{r["share"]} %</text>' for r in rows)
    line = " ".join(f'{x(r["share"]):.1f},{y(r["predicted_ms"]):.1f}' for r in rows)
    dots = "".join(f'<circle cx="{x(r["share"]):.1f}" cy="{y(r["measured_ms"]):.1f}" r="4"><title>{r["share"]} %: measured '
                   f'{r["measured_ms"]:.1f} ms, predicted {r["predicted_ms"]:.1f} ms</title></circle>' for r in rows)
    return (f'<figure><figcaption>{html.escape(name)}, ms a round by memory</figcaption><svg viewBox="0 0 370 235">{grid}{axis}'
            f'<polyline points="{line}"/>{dots}</svg></figure>')


def page(rows, options):
    names = list(dict.fromkeys(r["case"] for r in rows))
    tuned = any("profile" in r or "tuned_ms" in r for r in rows)
    with_profile = lambda r: (f'<td>{r["tuned_ms"]:.1f}<td>{r["tuned_ms"] / r["measured_ms"]:.2f}' if "tuned_ms" in r else
                              f'<td>{r.get("profile", "")}<td>' if tuned else "")
    cells = "".join(f'<tr><td>{html.escape(r["case"])}<td>{r["share"]} %<td>{r["measured_ms"]:.1f}<td>{r["predicted_ms"]:.1f}'
                    f'<td>{round(off(r)) or 0:+d} %{with_profile(r)}' for r in rows)
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Predicted and measured</title><style>
:root {{ color-scheme: light dark; --line: light-dark(#2563eb, #7aa2ff); --dot: light-dark(#c2410c, #fb923c) }}
body {{ font: 15px system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }}
figure {{ display: inline-block; width: 24rem; max-width: 100%; margin: 0 1rem 1rem 0 }}
text {{ font-size: 11px; fill: currentColor }} .g {{ stroke: currentColor; opacity: .15 }}
polyline {{ fill: none; stroke: var(--line); stroke-width: 2 }} circle {{ fill: var(--dot) }}
td, th {{ padding: .1rem .8rem .1rem 0; text-align: right; white-space: nowrap }} th {{ white-space: normal }}
td:first-child, th:first-child {{ text-align: left }} div {{ overflow-x: auto }}
</style><h1>Predicted and measured</h1>
<p><span style="color: var(--line)">Line</span>: what the replay of a run with all its memory foretells, <code>--overlap
{html.escape(options.overlap)}</code>. <span style="color: var(--dot)">Dots</span>: runs with that much memory.</p>
{"".join(chart(n, [r for r in rows if r["case"] == n]) for n in names)}
<div><table><tr><th>case<th>memory<th>measured ms<th>predicted ms<th>off by{"<th>tuned ms<th>x default" if tuned else ""}{cells}</table></div>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vramspan", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--page", type=pathlib.Path, metavar="JSON", help="run nothing: make --html of what --json kept")
    parser.add_argument("--budgets", default="75,50,25", type=lambda t: [int(b) for b in t.split(",")])
    parser.add_argument("--overlap", default="safe", choices=["off", "safe", "all"])
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--prices")
    parser.add_argument("--recordings", type=lambda p: pathlib.Path(p).resolve(), help="a folder to keep recordings and profiles in")
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--results", action="store_true", help="add rows for what was measured and predicted to bench/results")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(map(repr, CASES)))
    options = parser.parse_args()
    if options.page:
        if not options.html:
            parser.error("--page needs --html: where the page goes")
        options.html.write_text(page(json.loads(options.page.read_text()), options))
        return
    if not options.vramspan:
        parser.error("--vramspan is needed: the program to record, replay and run with")
    if options.turns < 1:
        parser.error("--turns takes a number of 1 or more")
    unknown = [c for c in options.cases if c not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(map(repr, CASES))}")
    options.cases = options.cases or list(CASES)
    if not options.prices:
        output(options.vramspan, "info")  # A replay takes what that has measured.
    rows = []
    print(f"{'case':16} {'memory':>6} {'measured':>10} {'predicted':>10} {'off by':>7}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.recordings or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        programs = dict.fromkeys(CASES[case] for case in options.cases)
        for row in (row for program in programs for row in measure(program, options, folder)):
            rows.append(row)
            differs = "" if row.get("same", True) else "  the result differs"
            if "profile" in row:
                took = f"{row['tuned_ms']:.1f} ms ({row['profile']})" if "tuned_ms" in row else row["profile"]
                differs = f"  tuned: {took}{differs}"
            print(f"{row['case']:16} {row['share']:>4} % {row['measured_ms']:>7.1f} ms {row['predicted_ms']:>7.1f} ms "
                  f"{off(row):>+5.0f} %{differs}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
            if options.html:
                options.html.write_text(page(rows, options))
    if options.results and rows:
        print(f"results: {result_rows.append(list(figures(rows)))}")


main()
