#!/usr/bin/env python3
"""What `vramspan replay` foretells of a round at less memory, beside what a run there takes.

    bench/programs/predict.py --vramspan build/release/bin/vramspan [--budgets 75,50,25] [--overlap safe] [--turns 1]
        [--tuned] [--recordings FOLDER] [--html predicted.html] [--json predicted.json] [CASE...]
    bench/programs/predict.py --page predicted.json --html predicted.html

Each case is recorded with all its memory there and replayed at each budget, which finds its rounds by itself and says
what the median one takes, of several phases where the program has them. Then it is run with that budget, and says itself
what a round takes, in the median. Of the plain run, too. A budget is a share of what the program needs. --tuned runs it at
each budget once more, with the profile that `vramspan tune` makes of the recording for that, where that is not the
default. With --turns each run, and the recording, is made so often, one after the other, and the median counts: what the
program's own thread binds differs by a half from one run to the next on some machines. What things cost is measured first,
unless `vramspan info` has kept it or --prices names such a file. It needs a GPU to itself.
"""
import argparse
import functools
import html
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# name: program and arguments, with {} for the rounds; how many; the times of its report that are a round, summed
CASES = {
    "chain": ("chain.py 4096 {}", 16, ["round"]),
    "chain, 64 rows": ("chain.py 64 {}", 80, ["round"]),
    "sweep": ("sweep.py {}", 12, ["round"]),
    "train": ("train.py 8 1024 {}", 40, ["step"]),
    "llama, decode": ("llama.py --steps 6 --decode {}", 24, ["decode"]),
    "llama, prefill": ("llama.py --steps {} --decode 24", 6, ["prefill_1x2048", "prefill_4x4096"]),
}
PHASES = {"llama, prefill": 2}  # So many phases of its recording, the last, are what is compared.


@functools.cache
def output(*command, turn=0):
    """What a command printed. Cases that share a program share its runs and recordings: the same one runs once a turn."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def run(program, before=(), turn=0):
    """What the program reported."""
    return json.loads(output(*before, sys.executable, *program.split(), turn=turn).strip().splitlines()[-1])


def replayed(options, trace, budgets_mib):
    """Milliseconds of a round and of one of each phase, with all its memory and at each budget; and what is said of the trace."""
    command = [options.vramspan, "replay", str(trace), "--policy", "cost", "--overlap", options.overlap, "--format", "json",
               "--device-memory", ",".join(f"{b}MiB" for b in budgets_mib)]
    found = json.loads(output(*command, *(["--prices", options.prices] if options.prices else [])))
    at = {r["device_memory_bytes"] >> 20: r for r in found["runs"]}
    first = found["runs"][0]
    times = [(first["resident_round_ms"], [p["resident_round_ms"] for p in first["phases"]])]
    return times + [(at[b]["round_ms"], [p["round_ms"] for p in at[b]["phases"]]) for b in budgets_mib], found["trace"]


def predicted(name, options, trace, budgets_mib):
    """Milliseconds of one of the program's rounds: with all its memory, and at each budget."""
    times, said = replayed(options, trace, budgets_mib)
    if name in PHASES:
        if len(said["phases"]) < PHASES[name]:
            sys.exit(f"{name}: its recording has phases {said['phases']}, and {PHASES[name]} are compared")
        return [sum(of_phases[-PHASES[name]:]) for _, of_phases in times]
    if not said["rounds"]:
        sys.exit(f"{name}: nothing in its recording repeats, so there is no round to compare")
    # Where memory comes by turns, two of the program's rounds are one that repeats.
    each = max(1, round(said["round_works"] * CASES[name][1] / said["works"]))
    return [of_round / each for of_round, _ in times]


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


def record(name, options, folder):
    """What the plain runs reported, and the recording whose round is the median, with what is foretold of it."""
    program, rounds, keys = CASES[name]
    plain, recordings, budgets = [], [], []
    for turn in range(options.turns):
        plain.append(run(program.format(rounds), turn=turn))
        if any(k not in plain[0]["ms"] for k in keys):
            sys.exit(f"{name}: its report has no {keys}: {plain[0]['ms']}")
        budgets = [plain[0]["peak_mib"] * share // 100 for share in options.budgets]
        trace = folder / f"{program.format(rounds).replace(' ', '_')}.{turn}.vramspan"
        run(program.format(rounds), [options.vramspan, "run", "--quiet", "--record", str(trace), "--force", "--"])
        recordings.append((predicted(name, options, trace, budgets), trace))
    return plain, budgets, *sorted(recordings)[(len(recordings) - 1) // 2]


def measure(name, options, folder):
    """The case's rows, each as it is known."""
    program, rounds, keys = CASES[name]
    takes = lambda reports: statistics.median(sum(r["ms"][k] for k in keys) for r in reports)
    plain, budgets, foretold, trace = record(name, options, folder)
    yield {"case": name, "share": 100, "measured_ms": takes(plain), "predicted_ms": foretold[0]}
    for share, budget, ms in zip(options.budgets, budgets, foretold[1:]):
        before = [options.vramspan, "run", "--quiet", "--device-memory", f"{budget}MiB", "--overlap", options.overlap]
        profile, what = tuned(options, trace, budget) if options.tuned else ([], "")
        default, with_profile = [], []
        for turn in range(options.turns):
            default.append(run(program.format(rounds), [*before, "--"], turn))
            if profile:
                with_profile.append(run(program.format(rounds), [*before, *profile, "--"], turn))
        row = {"case": name, "share": share, "measured_ms": takes(default), "predicted_ms": ms,
               "same": all(r["result"] == plain[0]["result"] for r in default + with_profile)}
        if options.tuned:
            row["profile"] = what
        if profile:
            row["tuned_ms"] = takes(with_profile)
        yield row


def off(row):
    return (row["predicted_ms"] / row["measured_ms"] - 1) * 100


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
    if not options.prices:
        output(options.vramspan, "info")  # A replay takes what that has measured.
    rows = []
    print(f"{'case':16} {'memory':>6} {'measured':>10} {'predicted':>10} {'off by':>7}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.recordings or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for row in (row for name in options.cases or CASES for row in measure(name, options, folder)):
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


main()
