"""Reads bench/results/*.jsonl and bench/targets.json, and refuses what is not well-formed: Wrong has file and line."""
import datetime
import json
import math
import pathlib
import re
from typing import Any, Callable

Row = dict[str, Any]
ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
FILE = re.compile(r"(\d{4}-\d\d-\d\d)-([0-9a-f]{7,40}|unknown)-[a-z0-9-]+\.jsonl")
DIRECTIONS = ("at most", "at least", "within")


class Wrong(Exception):
    """A file that cannot be used; the text says where and why."""


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value)


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != "" and value.isprintable()


def is_id(value: Any) -> bool:
    return isinstance(value, str) and ID.fullmatch(value) is not None


def is_spread(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] <= value[1]


def is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.datetime.fromisoformat(value).year >= 2000
    except ValueError:
        return False


def is_commit(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{7,40}", value) is not None


def or_null(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


ROW = {"id": is_id, "value": is_number, "unit": is_text, "spread": or_null(is_spread),
       "n": or_null(lambda v: type(v) is int and v > 0), "target": or_null(is_number), "commit": or_null(is_commit),
       "dirty": or_null(lambda v: isinstance(v, bool)), "date": is_date, "gpu": or_null(is_text),
       "driver": or_null(is_text), "command": or_null(is_text)}
OPTIONAL = {"source": is_text, "note": is_text}
TARGET = {"id": is_id, "target": or_null(is_number), "direction": or_null(lambda v: v in DIRECTIONS), "unit": is_text,
          "sentence": is_text}


def pairs_once(pairs: list[tuple[str, Any]]) -> Row:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def parse(line: str, fields: dict[str, Callable[[Any], bool]], where: str, optional: dict[str, Callable[[Any], bool]] = {}) -> Row:
    """The object that a line holds, with these fields and no other."""
    try:
        row = json.loads(line, object_pairs_hook=pairs_once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"{where}: the line is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise Wrong(f"{where}: the line is not an object")
    for name, check in fields.items():
        if name not in row:
            raise Wrong(f"{where}: the field {name!r} is missing")
        if not check(row[name]):
            raise Wrong(f"{where}: the field {name!r} must not be {json.dumps(row[name])[:80]}")
    for name, value in row.items():
        if name not in fields and name not in optional:
            raise Wrong(f"{where}: there is no field {name[:80]!r}")
        if name in optional and not optional[name](value):
            raise Wrong(f"{where}: the field {name!r} must not be {json.dumps(value)[:80]}")
    return row


def lines_of(file: pathlib.Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"{file}:1: the file cannot be read: {error}") from None


def once(rows: list[tuple[str, Row]]) -> None:
    seen: dict[str, str] = {}
    for where, row in rows:
        if row["id"] in seen:
            raise Wrong(f"{where}: the id {row['id']} stands in {seen[row['id']]} already")
        seen[row["id"]] = where


def read_targets(file: pathlib.Path) -> dict[str, Row]:
    """An array with one object a line, so that each has a line of its own."""
    lines = lines_of(file)
    if len(lines) < 2 or lines[0] != "[" or lines[-1] != "]":
        raise Wrong(f"{file}:1: the file must be '[', an object a line, and ']'")
    found = []
    for number, line in enumerate(lines[1:-1], 2):
        where, last = f"{file}:{number}", number == len(lines) - 1
        if line.endswith(",") == last:
            raise Wrong(f"{where}: every object but the last has a comma behind it")
        target = parse(line.rstrip(","), TARGET, where)
        if (target["target"] is None) != (target["direction"] is None):
            raise Wrong(f"{where}: a target needs a direction, and a direction a target")
        found.append((where, target))
    once(found)
    return {target["id"]: target for _, target in found}


def read_results(folder: pathlib.Path, targets: dict[str, Row]) -> dict[str, list[Row]]:
    """Rows by id, the oldest first."""
    rows: dict[str, list[Row]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        name = FILE.fullmatch(file.name)
        if name is None:
            raise Wrong(f"{file}:1: the name must be DATE-COMMIT-MACHINE.jsonl")
        of_file = [(f"{file}:{n}", parse(line, ROW, f"{file}:{n}", OPTIONAL)) for n, line in enumerate(lines_of(file), 1)]
        once(of_file)
        for where, row in of_file:
            if (row["date"][:10], row["commit"] or "unknown") != name.groups():
                raise Wrong(f"{where}: the date or commit differs from that in the file's name")
            if row["id"] in targets and row["unit"] != targets[row["id"]]["unit"]:
                raise Wrong(f"{where}: {row['id']} is in {targets[row['id']]['unit']}, not in {row['unit']}")
            of_id = rows.setdefault(row["id"], [])
            if of_id and of_id[0]["unit"] != row["unit"]:
                raise Wrong(f"{where}: other rows of {row['id']} are in {of_id[0]['unit']}, not in {row['unit']}")
            of_id.append(row)
    for of_id in rows.values():
        of_id.sort(key=lambda row: row["date"])
    return rows
