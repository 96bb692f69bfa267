"""Rows of a CSV file as the model reads them, prepared as its training rows were; preparation.json has what was fitted to those."""

import csv
import gzip
import json
import re
import sys
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

import torch

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))
MISSING = {"", *SPEC["missing_values"]}
NO_RULE = "a value is missing, and the model has no rule for that"
NOTED = set()


def read(path, size=8192):
    """The rows of a file, which gzip may have compressed, in parts of `size`: their numbers from 0 below the header, and for each a dict
    of texts by the name of the column."""
    number, numbers, rows, left_out = None, [], [], 0
    with opened(path) as file:
        separator = separator_of(file.readline())
        file.seek(0)
        lines = (texts for texts in csv.reader(file, delimiter=separator) if texts)
        names = [name.strip() for name in next(lines, [])]
        lacking = [spec["name"] for spec in SPEC["columns"] if spec["name"] not in names]
        if lacking:
            raise ValueError(f"{path} lacks the columns {lacking}; it has {names}")
        needed = [spec["name"] for spec in SPEC["columns"] if spec.get("missing") == "leave-out"]
        for number, texts in enumerate(lines):
            if len(texts) != len(names):
                raise ValueError(f"row {number} (from 0 below the header): {len(texts)} columns where the header has {len(names)}")
            row = {name: text.strip() for name, text in zip(names, texts)}
            if any(row[name] in MISSING for name in needed):
                left_out += 1
                continue
            row[None] = number
            numbers.append(number)
            rows.append(row)
            if len(rows) == size:
                yield numbers, rows
                numbers, rows = [], []
    if number is None:
        raise ValueError(f"{path} has no rows")
    if rows:
        yield numbers, rows
    if left_out:
        note(f"{left_out} rows left out: a value is missing in one of the columns {needed}")


def opened(path):
    """The text of a file; a byte order mark is left out."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return (gzip.open if is_packed else open)(path, "rt", newline="", encoding="utf-8-sig")


def separator_of(header):
    """That of the training rows, or where it separates no column that the model reads, one that does."""
    known = {spec["name"] for spec in SPEC["columns"]}
    for separator in [SPEC["separator"], ",", ";", "\t", "|"]:
        if known & {name.strip() for name in next(csv.reader([header], delimiter=separator), [])}:
            return separator
    return SPEC["separator"]


def prepare(rows):
    """Features (B, F) of rows."""
    if not rows:
        raise ValueError("there are no rows")
    return torch.cat([column(rows, spec) for spec in SPEC["columns"]], dim=1)


def column(rows, spec):
    """The features that one column becomes, (B, n)."""
    texts = [row[spec["name"]] for row in rows]
    value, values = reader(spec), []
    try:
        for text in texts:
            values.append(value(text))
    except ValueError as error:
        raise ValueError(f"{place(rows, len(values))}, column {spec['name']}: {error}") from None
    if spec["kind"] == "category":
        # One feature per kind, 1 where the value is of it; all of them 0 where no training row had it.
        return (torch.tensor(values)[:, None] == torch.arange(len(spec["kinds"]))).float()
    numbers = torch.tensor(values, dtype=torch.float32)
    if not numbers.isfinite().all():
        at = numbers.isfinite().tolist().index(False)
        raise ValueError(f"{place(rows, at)}, column {spec['name']}: {texts[at]!r} is not a number")
    features = [((numbers.double() - spec["mean"]) / spec["std"]).float()]
    if spec.get("has_flag"):
        features.append(torch.tensor([float(text in MISSING) for text in texts]))
    return torch.stack(features, dim=1)


def place(rows, at):
    return f"row {rows[at].get(None, at)} (from 0 below the header)"


def reader(spec):
    """A function of the texts of a column: to the index of a category, -1 if no training row had it; or to a number."""
    if spec["kind"] == "category":
        return lru_cache(None)(lambda text: category(text, spec))
    if spec.get("date"):
        return lru_cache(None)(lambda text: filled(spec) if text in MISSING else days(text, spec["date"]))
    has_comma = SPEC["decimal"] == ","

    def number(text):
        if text in MISSING:
            return filled(spec)
        text = ungrouped(without_unit(text))
        if "_" in text or has_comma and "." in text:
            raise ValueError(f"{text!r} is not a number")
        return float(text.replace(",", ".", 1) if has_comma else text)

    return number


def category(text, spec):
    """Index of a category among those of the training rows, or -1."""
    text = "" if text in MISSING else text
    if spec.get("part"):
        form = next(other["date"] for other in SPEC["columns"] if other["name"] == spec["name"] and other.get("date"))
        text = part(datetime.strptime(text, form), spec["part"]) if text else ""
    elif not text and not spec.get("missing"):
        raise ValueError(NO_RULE)
    if text in spec["kinds"] and spec["known"][spec["kinds"].index(text)]:
        return spec["kinds"].index(text)
    note(f"{spec['name']}: no training row had {text!r}")
    return -1


def part(date, what):
    """A part of a date as a category."""
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    return {"month": str(date.month), "weekday": names[date.weekday()], "hour": str(date.hour)}[what]


def days(text, form):
    """Days since 2000-01-01 of a date, in UTC where it has an offset."""
    date = datetime.strptime(text, form)
    if date.tzinfo:
        date = date.astimezone(timezone.utc).replace(tzinfo=None)
    return (date - datetime(2000, 1, 1)).total_seconds() / 86400


def filled(spec):
    """What stands for a missing value."""
    if spec.get("fill") is None:
        raise ValueError(NO_RULE)
    return spec["fill"]


def note(text):
    """Says something once."""
    if text not in NOTED:
        NOTED.add(text)
        print(f"note: {text}", file=sys.stderr)


def without_unit(text):
    """A number without the longest of the units that is before or after it."""
    amount = text.removeprefix("-").strip()
    for unit in sorted(SPEC["units"], key=len, reverse=True):
        bare = amount.removeprefix(unit) if amount.startswith(unit) else amount.removesuffix(unit)
        if bare != amount:
            return ("-" if text.startswith("-") else "") + bare.strip()
    return text


def ungrouped(text):
    """A number without what separates its thousands, which are groups of three digits."""
    if not SPEC["thousands"]:
        return text
    marks = {" ": " \u00a0\u202f", "'": "'\u2019"}.get(SPEC["thousands"], SPEC["thousands"])
    grouped = re.match(rf"[-+]?[1-9]\d{{0,2}}([{marks}]\d{{3}})+(?!\d)", text)
    return re.sub(f"[{marks}]", "", grouped[0]) + text[grouped.end() :] if grouped else text
