"""Predicts for the rows of an array, as CSV: python example.py FILE"""

import csv
import sys

import torch

from model import load
from prepare import SPEC, finish, predicted, prepare, read

if len(sys.argv) != 2:
    sys.exit(__doc__)
model, x, names = load(), read(sys.argv[1]), SPEC["class_names"]
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["row", *(["prediction", *(f"p_{name}" for name in names)] if names else SPEC["predicts"])])
with torch.inference_mode():
    for start in range(0, len(x), 256):
        for row, values in enumerate(finish(model(prepare(x[start : start + 256]))).tolist(), start):
            texts = [f"{value:.8g}" for value in values]
            out.writerow([row, predicted(values), *texts] if names else [row, *texts])
