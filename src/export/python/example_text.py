"""Continues a text, one token after another: python example.py "Once" [TOKENS]"""

import sys

import torch

from model import load
from prepare import SPEC, finish, prepare

model = load()
numbers = prepare(sys.argv[1]).tolist()
torch.manual_seed(0)
with torch.inference_mode():
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 200):
        window = torch.tensor([numbers[-SPEC["length"] :]])
        probabilities = model(window)[0, -1].softmax(-1)
        numbers.append(int(probabilities.multinomial(1)))
print(finish(numbers))
