#!/usr/bin/env python3
"""How much of a program's GPU time the trusted kernels take: coverage.py STATS PROFILE.

STATS is what `vramspan run --stats` wrote of a run, and PROFILE what bench/programs/others.py wrote of another, with COVERAGE.
Prints the share of each level, and the kernels that take most of the time without a proof.
"""
import collections
import json
import subprocess
import sys


def plain(name):
    """Demanglers differ in how they write spaces."""
    return name.replace(" ", "")


def main():
    with open(sys.argv[1]) as file:
        kernels = json.loads(file.read().splitlines()[-1])["kernels"]
    with open(sys.argv[2]) as file:
        times = {plain(name): time for name, time in json.load(file).items() if not name.startswith(("Memcpy", "Memset"))}
    names = subprocess.run(["c++filt"], input="\n".join(k["name"] for k in kernels), text=True, capture_output=True, check=True)
    # Of codes of one name the least level counts.
    order = ["untried", "plausible", "proven", "arrays", "declared"]
    levels = {}
    for kernel, name in zip(kernels, names.stdout.splitlines()):
        level = min(kernel["trust"], levels.get(plain(name), "declared"), key=order.index)
        levels[plain(name)] = level
    shares, rest = collections.Counter(), []
    for name, time in times.items():
        level = levels.get(name, "not found")
        shares[level] += time
        if level not in ("proven", "arrays"):
            rest.append((time, level, name))
    total = sum(times.values()) or 1
    print(json.dumps({level: round(time / total, 4) for level, time in shares.most_common()}))
    for time, level, name in sorted(rest, reverse=True)[:8]:
        print(f"  {100 * time / total:5.1f} %  {level:10} {name[:100]}")


if __name__ == "__main__":
    main()
