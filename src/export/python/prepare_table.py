"""Rows of a CSV file as the model reads them, prepared as its training rows were; preparation.json has what was fitted to those."""

import csv
import json
import re
import sys
from datetime import datetime
from pathlib import Path

import torch

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))


def read(path):
    """The rows of a file, each a dict of texts by the name of the column."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, delimiter=SPEC["separator"])
        names = [name.strip() for name in rows.fieldnames or []]
        missing = [spec["name"] for spec in SPEC["columns"] if spec["name"] not in names]
        if missing:
            raise ValueError(f"{path} lacks the columns {missing}; it has {names}")
        return [{name.strip(): (value or "").strip() for name, value in row.items() if name} for row in rows]


def prepare(rows):
    """Features (B, F) of rows."""
    if not rows:
        raise ValueError("there are no rows")
    return torch.cat([column(rows, spec) for spec in SPEC["columns"]], dim=1)


def column(rows, spec):
    """The features that one column becomes, (B, n)."""
    texts = [row[spec["name"]] for row in rows]
    texts = ["" if text in SPEC["missing_values"] else text for text in texts]
    if spec.get("part"):
        form = next(other["date"] for other in SPEC["columns"] if other["name"] == spec["name"] and other.get("date"))
        texts = [part(datetime.strptime(text, form), spec["part"]) if text else "" for text in texts]
    if spec["kind"] == "category":
        # One feature per value; `known` are those of training rows. The features of all others are 0.
        kinds = list(zip(spec["kinds"], spec["known"]))
        new = sorted({text for text in texts if (text, True) not in kinds})
        if new:
            print(f"note: {spec['name']}: no training row had {new}", file=sys.stderr)
        return torch.tensor([[float(known and text == kind) for kind, known in kinds] for text in texts])
    values = []
    for at, text in enumerate(texts):
        try:
            values.append(number(text, spec))
        except ValueError as error:
            raise ValueError(f"row {at} (from 0 below the header), column {spec['name']}: {error}") from None
    scaled = (torch.tensor(values, dtype=torch.float32).double() - spec["mean"]) / spec["std"]
    features = [scaled.float()]
    if spec.get("has_flag"):
        features.append(torch.tensor([float(not text) for text in texts]))
    return torch.stack(features, dim=1)


def part(date, what):
    """A part of a date as a category."""
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    return {"month": str(date.month), "weekday": days[date.weekday()], "hour": str(date.hour)}[what]


def number(text, spec):
    """A number, days since 2000-01-01 of a date, or what stands for a missing value."""
    if not text:
        if spec.get("fill") is None:
            raise ValueError("a value is missing; no training row lacked one, so that nothing stands for it")
        return spec["fill"]
    if spec.get("date"):
        return (datetime.strptime(text, spec["date"]) - datetime(2000, 1, 1)).total_seconds() / 86400
    text = ungrouped(without_unit(text))
    return float(text.replace(",", ".", 1) if SPEC["decimal"] == "," else text)


def without_unit(text):
    """A number without the first of the units that is before or after it."""
    amount = text.removeprefix("-").strip()
    for unit in SPEC["units"]:
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
