"""Predicts for the rows of a CSV file, as CSV: python example.py FILE"""

import csv
import sys

import torch

from model import load
from prepare import SPEC, finish, predicted, prepare, read

if len(sys.argv) != 2:
    sys.exit(__doc__)
model = load()
names = SPEC["class_names"] or SPEC["label_names"]
out = csv.writer(sys.stdout, lineterminator="\n")
try:
    for part, (numbers, rows) in enumerate(read(sys.argv[1])):
        with torch.inference_mode():
            found = finish(model(prepare(rows))).tolist()
        if part == 0:
            out.writerow(["row", *(["prediction", *(f"p_{name}" for name in names)] if names else SPEC["predicts"])])
        for row, values in zip(numbers, found):
            texts = [f"{value:.8g}" for value in values]
            out.writerow([row, predicted(values), *texts] if names else [row, *texts])
except (OSError, ValueError) as error:
    sys.exit(f"error: {error}")
