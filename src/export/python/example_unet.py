"""Draws an image of every class in 50 steps of DDIM, into sample-CLASS.png: python example.py"""

import json
import math
from pathlib import Path

import torch
from PIL import Image

from model import CHANNELS, CLASSES, STEPS, load

SPEC = json.loads(Path(__file__).with_name("preparation.json").read_text(encoding="utf-8"))
# ᾱ of the cosine schedule of Nichol & Dhariwal (2021).
time = torch.arange(STEPS + 1, dtype=torch.float64)
f = torch.cos((time / STEPS + 0.008) / 1.008 * math.pi / 2) ** 2
abar = torch.cumprod(1 - (1 - f[1:] / f[:-1]).clamp(1e-4, 0.9999), 0).float()

model, label = load(), torch.arange(CLASSES)
torch.manual_seed(0)
x = torch.randn(CLASSES, CHANNELS, SPEC["height"], SPEC["width"])
times = torch.linspace(STEPS - 1, 0, min(50, STEPS)).long()
with torch.inference_mode():
    for at, t in enumerate(times):
        noise = model(x, t.expand(CLASSES), label)
        clean = ((x - (1 - abar[t]).sqrt() * noise) / abar[t].sqrt()).clamp(-1, 1)
        noise = (x - abar[t].sqrt() * clean) / (1 - abar[t]).sqrt()
        after = abar[times[at + 1]] if at + 1 < len(times) else torch.tensor(1.0)
        x = after.sqrt() * clean + (1 - after).sqrt() * noise
for name, image in zip(SPEC["class_names"], x):
    pixels = ((image + 1) * 127.5).round().clamp(0, 255).byte().permute(1, 2, 0).squeeze(-1)
    Image.fromarray(pixels.numpy()).save(f"sample-{name}.png")
