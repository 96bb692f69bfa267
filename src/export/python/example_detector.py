"""Draws a signal for each event of a CSV file, in 50 steps of DDIM, as CSV: python example.py FILE"""

import csv
import sys

import torch

from model import STEPS, VALUES, load
from prepare import SPEC, finish, prepare, read

if len(sys.argv) != 2:
    sys.exit(__doc__)
first, last = SPEC["betas"]
abar = torch.cumprod(1 - torch.linspace(first, last, STEPS, dtype=torch.float64), 0).float()
model, phi = load(), torch.cat([prepare(rows) for _, rows in read(sys.argv[1])])
times = torch.linspace(STEPS - 1, 0, min(50, STEPS)).long()
torch.manual_seed(0)
x = torch.randn(len(phi), VALUES)
with torch.inference_mode():
    for at, t in enumerate(times):
        noise = model(x, t.expand(len(phi)), phi)
        clean = (x - (1 - abar[t]).sqrt() * noise) / abar[t].sqrt()
        after = abar[times[at + 1]] if at + 1 < len(times) else torch.tensor(1.0)
        x = after.sqrt() * clean + (1 - after).sqrt() * noise
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["event", *(f"value_{place}" for place in range(VALUES))])
for event, values in enumerate(finish(x).tolist()):
    out.writerow([event, *(f"{value:.6g}" for value in values)])
