"""Predicts for an image or all images of a folder, as CSV: python example.py PATH"""

import csv
import sys

import torch

from model import load
from prepare import SPEC, finish, image, predicted, read

if len(sys.argv) != 2:
    sys.exit(__doc__)
model, names, kept = load(), SPEC["class_names"] or SPEC["label_names"], []
for file in read(sys.argv[1]):
    try:
        kept.append((file, image(file)))
    except OSError as error:
        print(f"note: {file} is left out: {error}", file=sys.stderr)
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["file", *(["prediction", *(f"p_{name}" for name in names)] if names else SPEC["predicts"])])
with torch.inference_mode():
    for start in range(0, len(kept), 64):
        files, images = zip(*kept[start : start + 64])
        for file, values in zip(files, finish(model(torch.stack(images))).tolist()):
            texts = [f"{value:.8g}" for value in values]
            out.writerow([file, predicted(values), *texts] if names else [file, *texts])
