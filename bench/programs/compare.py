#!/usr/bin/env python3
"""Runs the programs of this folder without vramspan and with it at several budgets, and compares what comes out.

    bench/programs/compare.py --vramspan build/release/bin/vramspan [--budgets 100,75,50,25] [--overlap auto,off,safe,all]
        [--jobs 4] [CASE...]

A budget is a share of what the program needs: of what it reported as its peak without vramspan. One line a run, as it
ends: the case, the budget, whether the result is the same bit for bit, times and their ratio to the run without vramspan
(of use only with --jobs 1). --json FILE writes all of it, --list names the cases. Exit code 1: something differed.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TORCH = "PYTORCH_CUDA_ALLOC_CONF"
# name: (program and arguments, environment)
CASES = {
    "chain": (["chain.py"], {}),
    "train": (["train.py"], {}),
    "train-expandable": (["train.py"], {TORCH: "expandable_segments:True"}),
    "train-malloc-async": (["train.py"], {TORCH: "backend:cudaMallocAsync"}),
    "gpt2": (["gpt2.py"], {}),
    "convolutions": (["convolutions.py"], {}),
    "graphs": (["graphs.py"], {}),
    "graphs-malloc-async": (["graphs.py"], {TORCH: "backend:cudaMallocAsync"}),
    "compiled": (["compiled.py"], {}),
    "spike": (["spike.py"], {}),
    "spike-expandable": (["spike.py"], {TORCH: "expandable_segments:True"}),
    "streams": (["streams.py"], {}),
    "tables": (["tables.py"], {}),
    "buckets": (["buckets.py"], {}),
    "sweep": (["sweep.py"], {}),
    "profiled": (["profiled.py"], {}),
    "jax": (["jax_products.py"], {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".05"}),
    "jax-platform": (["jax_products.py"], {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}),
    "cupy": (["cupy_arrays.py"], {}),
    "static-cudart": (["./buffers"], {}),
    "stencil": (["./stencil", "--gib", "2"], {}),
    "lu": (["./lu", "--gib", "2"], {}),
    "align": (["./align", "--gib", "2"], {}),
    "sort": (["./sort", "--gib", "2"], {}),
    "bfs": (["./graph", "bfs", "--gib", "2"], {}),
    "pagerank": (["./graph", "pagerank", "--gib", "2"], {}),
    "pools": (["./pools", "--gib", "2"], {}),
    "quantised": (["./quantised", "--gib", "2"], {}),
    "quantised-graphs": (["./quantised", "graphs", "--gib", "2"], {}),
    "quantised-experts": (["./quantised", "moe", "--gib", "2"], {}),
    "quantised-experts-graphs": (["./quantised", "moe", "graphs", "--gib", "2"], {}),
    "rays": (["./rays", "--gib", "2"], {}),
    "lora": (["models.py", "lora", "--gib", "2"], {}),
    "unet": (["models.py", "unet", "--gib", "2"], {}),
    "vae": (["models.py", "vae", "--gib", "2"], {}),
    "gnn": (["models.py", "gnn", "--gib", "2"], {}),
    "dlrm": (["models.py", "dlrm", "--gib", "2"], {}),
    "fft": (["models.py", "fft", "--gib", "2"], {}),
    "llama-cpp": (["llama_cpp.py", "16"], {}),
    "llama-cpp-no-graphs": (["llama_cpp.py", "16"], {"GGML_CUDA_DISABLE_GRAPHS": "1"}),
    "two-at-once": (["two.py"], {}),
    "memory-info": (["memory_info.py"], {}),
    "data-parallel": (["data_parallel.py"], {}),
    "pipeline": (["pipeline.py"], {}),
}


def program_of(case, options):
    """Where the program of a case is."""
    name = CASES[case][0][0]
    return HERE / name if name.endswith(".py") or options.binaries is None else options.binaries / name


def run(case, budget_mib, overlap, options):
    """One run; what it printed last, its exit code, and seconds."""
    program, extra = CASES[case]
    command = [str(program_of(case, options))] + program[1:]
    if command[0].endswith(".py"):
        command.insert(0, sys.executable)
    if budget_mib is not None:
        mine = [str(options.vramspan), "run", "--quiet", "--device-memory", f"{budget_mib}MiB", "--overlap",
                overlap, "--tracer", options.tracer]
        if options.logs:
            name = f"{case}-{overlap}-{budget_mib}"
            mine += [f"--stats={options.logs / name}.stats"]
        command = mine + ["--"] + command
    environment = dict(os.environ, PYTHONPATH=str(HERE), **extra)
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            code = subprocess.run(command, env=environment, stdout=out, stderr=err, timeout=options.timeout).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
        out.seek(0)
        err.seek(0)
        lines, errors = out.read().strip().splitlines(), err.read()
    seconds = time.monotonic() - start
    try:
        last = json.loads(lines[-1])
    except (IndexError, ValueError):
        last = None
    return {"case": case, "budget_mib": budget_mib, "overlap": overlap, "code": code, "seconds": seconds, "printed": last,
            "errors": errors[-4000:] + ("" if last else "\n".join(lines[-5:]))}


def line(r, share, plain):
    p = r["printed"]
    if r["code"] != 0 or p is None:
        why = [x for x in r["errors"].strip().splitlines() if "Warn" not in x]
        verdict = f"FAILED ({r['code']}): {why[-1][:150] if why else ''}"
    elif plain is None:
        verdict = f"needs {p['peak_mib']} MiB, result {p['result']}"
    else:
        verdict = "same" if p["result"] == plain["result"] else f"DIFFERS: {p['result']} for {plain['result']}"
    times = "  ".join(f"{k} {v:.1f} ms" + (f" (x {v / plain['ms'][k]:.2f})" if plain else "")
                      for k, v in (p["ms"].items() if p else []))
    return f"{r['case']:22} {share:>10} {r['seconds']:6.1f} s  {verdict}  {times}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--vramspan", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/vramspan")
    parser.add_argument("--binaries", type=pathlib.Path, help="where the programs are that nvcc made")
    parser.add_argument("--budgets", default="100,75,50,25")
    parser.add_argument("--overlap", default="auto")
    parser.add_argument("--tracer", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--logs", type=pathlib.Path, help="a folder for what --stats says of each run")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(*CASES, sep="\n")
        return 0
    for case in options.cases:
        if case not in CASES:
            parser.error(f"there is no case {case}; --list names them")
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
    chosen = options.cases or list(CASES)
    if not options.cases and not os.environ.get("LLAMA_CPP"):
        print("llama-cpp* are left out: LLAMA_CPP names no build (llama_cpp.py)")
        chosen = [case for case in chosen if not case.startswith("llama-cpp")]
    missing = [case for case in chosen if not program_of(case, options).exists()]
    if missing and options.cases:
        parser.error(f"no program was made for {', '.join(missing)}; README.md says how, --binaries where it is")
    if missing:
        print(f"{', '.join(missing)} are left out: their programs were not made (README.md)")
        chosen = [case for case in chosen if case not in missing]
    shares = [int(s) for s in options.budgets.split(",")]
    results, wrong = [], 0

    def one(case):
        nonlocal wrong
        r = run(case, None, None, options)
        plain = r["printed"] if r["code"] == 0 else None
        results.append(r)
        print(line(r, "plain", None), flush=True)
        if plain is None:
            wrong += 1
            return
        for share, overlap in itertools.product(shares, options.overlap.split(",")):
            r = run(case, plain["peak_mib"] * share // 100, overlap, options)
            text = line(r, f"{share} % {overlap}", plain)
            wrong += "  same  " not in text
            results.append(r)
            print(text, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, chosen))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    print(f"{len(results)} runs, {wrong} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
