"""Rows of a CSV file as the model reads them, prepared as its training rows were; preparation.json has what was fitted to those."""

import csv
import json
from datetime import datetime
from pathlib import Path

import torch

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))


def read(path):
    """The rows of a file, each a dict of texts by the name of the column."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file, delimiter=SPEC["separator"])
        return [{name.strip(): (value or "").strip() for name, value in row.items() if name} for row in rows]


def prepare(rows):
    """Features (B, F) of rows."""
    return torch.cat([column(rows, spec) for spec in SPEC["columns"]], dim=1)


def column(rows, spec):
    """The features that one column becomes, (B, n)."""
    texts = [row[spec["name"]] for row in rows]
    texts = ["" if text in SPEC["missing_values"] else text for text in texts]
    if spec["kind"] == "category":
        # A kind that no training row had is 0 in all features.
        kinds = list(zip(spec["kinds"], spec["known"]))
        return torch.tensor([[float(known and text == kind) for kind, known in kinds] for text in texts])
    values = [number(text, spec) for text in texts]
    scaled = (torch.tensor(values, dtype=torch.float32).double() - spec["mean"]) / spec["std"]
    features = [scaled.float()]
    if spec.get("has_flag"):
        features.append(torch.tensor([float(not text) for text in texts]))
    return torch.stack(features, dim=1)


def number(text, spec):
    """A number, days since 2000-01-01 of a date, or what stands for a missing value."""
    if not text:
        if spec.get("fill") is None:
            raise ValueError(f"column {spec['name']}: a value is missing, for which the model has no rule")
        return spec["fill"]
    if spec.get("date"):
        return (datetime.strptime(text, spec["date"]) - datetime(2000, 1, 1)).total_seconds() / 86400
    return float(text.replace(",", ".", 1) if SPEC["decimal"] == "," else text)


def finish(output):
    """Probabilities (B, classes), or numbers (B, columns) in the target's own units, from the model's output."""
    if SPEC["class_names"]:
        return output.softmax(-1)
    if SPEC["targets"]:
        scales = torch.tensor([[scale["std"], scale["mean"]] for scale in SPEC["targets"]], dtype=torch.float64)
        return output.double() * scales[:, 0] + scales[:, 1]
    return output
