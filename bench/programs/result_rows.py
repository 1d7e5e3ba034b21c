#!/usr/bin/env python3
"""Rows of bench/results, from programs that measure.

    bench/programs/result_rows.py RAW
        adds the lines that a program of bench/micro wrote with --results RAW, and prints where
    bench/programs/result_rows.py RAW --command "traced_bench --format json"
        adds rows of what a program of bench/workloads printed with --format json

A Python program calls append(rows), with rows made by row(). Commit, device, driver, date, target and the rest of the form
(bench/results/README.md) are filled in here. VRAMSPAN_RESULTS names another folder than bench/results.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
Row = dict[str, Any]


def row(id: str, value: float, unit: str, spread: tuple[float, float] | None = None, n: int | None = None,
        command: str | None = None) -> Row:
    """A figure; `spread` has the least and the most of `n` values. Without a command it is this program's."""
    value = float(f"{value:.6g}")
    return {"id": id, "value": value, "unit": unit, "spread": list(spread) if spread else None, "n": n,
            "command": command or shlex.join(sys.argv)}


def part(name: str) -> str:
    """A name as a part of an id: "chain, 64 rows" is "chain_64_rows"."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def said(*command: str) -> str | None:
    """What a command prints, or None where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit() -> tuple[str | None, bool | None]:
    """The commit of this tree, and whether anything but results differs from it. Copies without git know neither."""
    found = said("git", "rev-parse", "--short=7", "HEAD")
    if not found:
        return None, None
    changed = said("git", "status", "--porcelain", "--", ".", ":!bench/results", ":!docs/measurements.md")
    return found, changed != ""


def processor() -> str:
    try:
        models = re.findall(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        models = []
    name = next((word for word in ("EPYC", "Xeon", "Ryzen", "Core") if models and word in models[0]), "unknown")
    return f"{os.cpu_count()} {name} cores, no GPU"


def device() -> tuple[str, str | None]:
    """The first GPU and its driver; else the processor, and the simulated driver where it is used."""
    found = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0")
    if found:
        name, driver = found.splitlines()[0].rsplit(",", 1)
        return name.strip(), driver.strip()
    return processor(), "simulated" if "simcuda" in os.environ.get("VRAMSPAN_DRIVER", "") else None


def load() -> str | None:
    """What else the processors do, where that is more than they can: figures beside it are worse than the machine's."""
    busy, processors = os.getloadavg()[0], os.cpu_count() or 1
    return f"load {busy:.1f} on {processors} cores" if busy > 1.5 * processors else None


def machine(gpu: str) -> str:
    """A word for the file's name."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower().replace("nvidia ", "").replace(" cores, no gpu", "")).strip("-")


def new_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Results are never written over: a second run of a day, commit and machine has a file of its own."""
    for number in range(1, 1000):
        file = folder / (f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl")
        if not file.exists():
            return file
    raise SystemExit(f"{folder}: a thousand files begin with {name}")


def append(rows: list[Row], folder: pathlib.Path | None = None) -> pathlib.Path:
    """Writes rows into a new file of the results, and returns it."""
    folder = folder or pathlib.Path(os.environ.get("VRAMSPAN_RESULTS", ROOT / "bench/results"))
    targets = {t["id"]: t["target"] for t in json.loads((ROOT / "bench/targets.json").read_text(encoding="utf-8"))}
    (short, dirty), (gpu, driver), note = commit(), device(), load()
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    folder.mkdir(parents=True, exist_ok=True)
    file = new_file(folder, f"{now[:10]}-{short or 'unknown'}-{machine(gpu)}")
    with file.open("x", encoding="utf-8") as out:
        for r in rows:
            whole = {"id": r["id"], "value": r["value"], "unit": r["unit"], "spread": r["spread"], "n": r["n"],
                     "target": targets.get(r["id"]), "commit": short, "dirty": dirty, "date": now, "gpu": gpu,
                     "driver": "simulated" if "simcuda" in r["command"] else driver, "command": r["command"]}
            if note:
                whole["note"] = note
            out.write(json.dumps(whole, allow_nan=False) + "\n")
    return file


def read(raw: pathlib.Path, command: str | None) -> list[Row]:
    text = raw.read_text(encoding="utf-8")
    if command is None:
        return [json.loads(line) for line in text.splitlines()]
    import workload_rows
    return workload_rows.rows_of(json.loads(text), command)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=pathlib.Path, metavar="RAW")
    parser.add_argument("--command", help="what printed RAW, where that is JSON of a workload")
    options = parser.parse_args()
    try:
        rows = read(options.raw, options.command)
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{options.raw}: cannot be made into rows: {error!r}")
    if not rows:
        sys.exit(f"{options.raw}: no rows")
    print(append(rows))


if __name__ == "__main__":
    main()
