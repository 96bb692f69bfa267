"""Continues a text, one token after another: python example.py "Once" [TOKENS] [TEMPERATURE] [SEED]"""

import sys

import torch

from model import load
from prepare import SPEC, finish, prepare

if len(sys.argv) < 2 or not sys.argv[1]:
    sys.exit(__doc__)
tokens, temperature, seed = (*sys.argv[2:], *("200", "1", "0")[len(sys.argv) - 2 :])[:3]
model, numbers = load(), prepare(sys.argv[1]).tolist()
torch.manual_seed(int(seed))
with torch.inference_mode():
    for _ in range(int(tokens)):
        logits = model(torch.tensor([numbers[-SPEC["length"] :]]))[0, -1] / float(temperature)
        # "Unknown" is no token that can be written.
        numbers.append(int(logits[: len(SPEC["vocabulary"])].softmax(-1).multinomial(1)))
print(finish(numbers))
