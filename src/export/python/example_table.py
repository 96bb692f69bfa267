"""Predicts for the rows of a CSV file, as CSV: python example.py FILE"""

import csv
import sys

import torch

from model import load
from prepare import SPEC, finish, prepare, read

rows = read(sys.argv[1])
with torch.inference_mode():
    found = finish(load()(prepare(rows))).tolist()
names = SPEC["class_names"]
out = csv.writer(sys.stdout)
out.writerow(["row", *(["prediction", *(f"p_{name}" for name in names)] if names else SPEC["columns_out"])])
for row, values in enumerate(found):
    out.writerow([row, names[values.index(max(values))], *values] if names else [row, *values])
