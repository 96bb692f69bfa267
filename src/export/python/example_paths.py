"""Draws paths on [0, 1] as CSV: python example.py [HOW MANY]"""

import sys

import torch

from model import POINTS, example_inputs, load

if len(sys.argv) > 2:
    sys.exit(__doc__)
count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
torch.manual_seed(0)
with torch.inference_mode():
    found = load()(*example_inputs(count)).tolist()
print("sample,time,value")
for sample, values in enumerate(found):
    for at, value in enumerate([0.0, *values]):
        print(f"{sample},{at / (POINTS - 1):.8g},{value:.8g}")
