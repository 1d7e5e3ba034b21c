"""Rows of bench/results, of what the programs of bench/workloads print with --format json."""
import re
from typing import Any, Iterator

from result_rows import Row, part, row

Said = dict[str, Any]
WAYS = {"host": "host_memory", "split": "static_split"}


def moves(said: Said, command: str) -> Iterator[Row]:
    for chunk in said["chunks"]:
        for way in ("in", "out", "both"):
            yield row(f"moves.{way}.mib_{chunk['mib']}", chunk[way]["gb_per_s"], "GB/s", n=said["repetitions"], command=command)
    for way, rate in said["link_gb_per_s"].items():
        yield row(f"link.{way}", rate, "GB/s", n=said["repetitions"], command=command)


def hold(said: Said, command: str) -> Iterator[Row]:
    thread = said["thread_us"]
    yield row("hold.thread", thread["held"] - thread["plain"], "us", n=said["repetitions"], command=command)
    yield row("hold.device", said["flag_to_end_us"], "us", n=said["repetitions"], command=command)


def malloc(said: Said, command: str) -> Iterator[Row]:
    for r in said["rows"]:
        size = f"mib_{r['bytes'] >> 20}" if r["bytes"] >> 20 else f"bytes_{r['bytes']}"
        many = "one" if r["batch"] == 1 else "many"
        yield row(f"malloc.{size}.{many}", r["ratio"], "x the driver", n=said["repetitions"], command=command)


def traced_id(r: Said) -> str:
    """traced.chain_m4096.percent_150.safe of the chain "m=4096 150 %"; traced.hotcold.read_8.all of "read 8x"."""
    columns = re.search(r"m=(\d+)", r["case"])
    percent = re.search(r"(\d+) %", r["case"])
    read = re.search(r"read (\d+)x", r["case"])
    words = ["traced", r["workload"] + (f"_m{columns[1]}" if columns else "")]
    words += [f"percent_{percent[1]}"] if percent else ["fits"] if "fits" in r["case"] else []
    words += [f"read_{read[1]}"] if read else []
    return ".".join([*words, WAYS.get(r["way"], part(r["way"]))])


def traced(said: Said, command: str) -> Iterator[Row]:
    if not said["right"]:
        raise ValueError("its results are wrong: no figure of such a run counts")
    for r in said["rows"]:
        to = "resident" if r["workload"] in ("hotcold", "bfs") else "bound"
        if to in r["to"] and r["way"] != "resident":
            yield row(traced_id(r), r["to"][to], f"x {to}", n=r["passes"], command=command)


KINDS = {"vramspan.bench.moves": moves, "vramspan.bench.hold": hold, "vramspan.bench.malloc": malloc,
         "vramspan.bench.traced": traced}


def rows_of(said: Said, command: str) -> list[Row]:
    if said["schema"] not in KINDS:
        raise ValueError(f"no rows are made of {said['schema']}, only of {', '.join(KINDS)}")
    return list(KINDS[said["schema"]](said, command))
