"""Trains a small CNN to tell surfaces with a defect from surfaces without."""

import argparse
import functools
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader


def read(file):
    image = Image.open(file).convert("RGB").resize((32, 32), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float() / 255


class Images(torch.utils.data.Dataset):
    def __init__(self, files, keep):
        self.files, self.read = files, functools.cache(read) if keep else read

    def __len__(self):
        return len(self.files)

    def __getitem__(self, place):
        file, label = self.files[place]
        return self.read(file), label


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, required=True, help="folder with normal/*.png and abnormal/*.png")
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--workers", type=int, default=0, help="DataLoader workers")
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--keep", action="store_true", help="keep decoded images in memory")
parser.add_argument("--compile", action="store_true", help="torch.compile the model")
args = parser.parse_args()
torch.manual_seed(args.seed)
device = "cuda" if torch.cuda.is_available() else "cpu"
files = [(file, int(file.parent.name == "abnormal")) for file in sorted(args.data.glob("*/*.png"))]
random.Random(args.seed).shuffle(files)
held_out = len(files) // 5
load = {"batch_size": args.batch_size, "num_workers": args.workers, "persistent_workers": args.workers > 0}
train = DataLoader(Images(files[held_out:], args.keep), shuffle=True, drop_last=True, **load)
validation = DataLoader(Images(files[:held_out], args.keep), **load)
model = nn.Sequential(block(3, 16), block(16, 32), block(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 2)).to(device)
run = torch.compile(model) if args.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    model.train()
    losses = []
    for batch, labels in train:
        loss = F.cross_entropy(run(batch.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        right = sum((run(batch.to(device)).argmax(1).cpu() == labels).sum().item() for batch, labels in validation)
    print(f"epoch {epoch}: train_loss={sum(losses) / len(losses):.5f} val_accuracy={right / held_out:.5f}", flush=True)
