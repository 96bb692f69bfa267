"""Predicts for an image or all images of a folder, as CSV: python example.py PATH"""

import csv
import sys

import torch

from model import load
from prepare import SPEC, finish, prepare, read

model, files, names = load(), read(sys.argv[1]), SPEC["class_names"]
out = csv.writer(sys.stdout)
out.writerow(["file", *(["prediction", *(f"p_{name}" for name in names)] if names else SPEC["columns_out"])])
with torch.inference_mode():
    for start in range(0, len(files), 64):
        part = files[start : start + 64]
        for file, values in zip(part, finish(model(prepare(part))).tolist()):
            out.writerow([file, names[values.index(max(values))], *values] if names else [file, *values])
