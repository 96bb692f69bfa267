"""The workloads of experiments/beside-pytorch.toml in PyTorch: an MLP, a small CNN and a small GPT on the data of the order.

Same samples in the same order, same initial weights (`init_from`), same optimizer as the models of that manifest.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
import fieldtrial


class Attention(nn.MultiheadAttention):
    """Causal self-attention; (B, T, F) -> (B, T, F)."""

    def __init__(self, features, heads):
        super().__init__(features, heads, batch_first=True)

    def forward(self, x):
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return super().forward(x, x, x, attn_mask=hidden, is_causal=True, need_weights=False)[0]


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class Positions(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, features).normal_())

    def forward(self, x):
        return x + self.weight


def network(name, classes):
    """The layers of the manifest; parameters have the same names there, after `layers.`."""
    if name == "mlp":
        return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(768, 128), nn.ReLU(), nn.Linear(128, 128),
                             nn.ReLU(), nn.Linear(128, classes))
    if name == "cnn":
        return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(2048, classes))
    blocks = [nn.Sequential(Residual(nn.LayerNorm(64), Attention(64, 4)),
                            Residual(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)))
              for _ in range(2)]
    return nn.Sequential(nn.Embedding(classes, 64), Positions(64, 64), nn.Sequential(*blocks), nn.LayerNorm(64),
                         nn.Linear(64, classes))


def images(folder):
    """(N, 3, H, W) in -1 … 1 and classes, in the order of an image folder: by class, then by name."""
    from PIL import Image
    import numpy

    features, labels = [], []
    for label, kind in enumerate(sorted(path for path in Path(folder).iterdir() if path.is_dir())):
        for path in sorted(kind.iterdir()):
            pixels = numpy.asarray(Image.open(path).convert("RGB"), dtype=numpy.float32)
            features.append(torch.from_numpy(pixels / 127.5 - 1).permute(2, 0, 1))
            labels.append(label)
    return torch.stack(features), torch.tensor(labels)


def windows(path, length):
    """(N, T) characters of a text and the one after each, as numbers in the order of the characters; how many there are."""
    text = Path(path).read_text(encoding="utf-8")
    vocabulary = {letter: index for index, letter in enumerate(sorted(set(text)))}
    ids = torch.tensor([vocabulary[letter] for letter in text])
    count = (len(ids) - 1) // length
    return ids[: count * length].view(count, length), ids[1: count * length + 1].view(count, length), len(vocabulary)


def initial(model, path):
    """Copies the weights of a safetensors file."""
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = {name: entry for name, entry in json.loads(data[8: 8 + size]).items() if name != "__metadata__"}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            start, end = header[f"layers.{name}"]["data_offsets"]
            raw = bytearray(data[8 + size + start: 8 + size + end])
            parameter.copy_(torch.frombuffer(raw, dtype=torch.float32).view(parameter.shape))


def main():
    run = fieldtrial.order(network="mlp", epochs=1, batch=32, lr=1e-3)
    torch.set_num_threads(run.threads)
    torch.manual_seed(run.seed)
    if run.network == "gpt":
        x, y, classes = windows(run.dataset["path"], 64)
    else:
        x, y = images(run.dataset["path"])
        classes = int(y.max()) + 1
    model = network(run.network, classes)
    if run.init_from:
        initial(model, run.init_from)
    optimizer = torch.optim.Adam(model.parameters(), run.lr)
    batches = len(x) // run.batch
    fieldtrial.started(epochs=run.epochs, steps_per_epoch=batches,
                       parameters=sum(p.numel() for p in model.parameters()))
    step_ms = []
    for epoch in range(run.epochs):
        losses = []
        for batch in range(batches):
            start = time.perf_counter()
            rows = slice(batch * run.batch, (batch + 1) * run.batch)
            output = model(x[rows])
            loss = F.cross_entropy(output.flatten(0, -2), y[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step_ms.append(1e3 * (time.perf_counter() - start))
            fieldtrial.progress(epoch, batch, losses[-1])
        fieldtrial.epoch(epoch, train_loss=statistics.fmean(losses), lr=run.lr)
    fieldtrial.finished(step_ms=statistics.median(step_ms[3:]), steps=run.epochs * batches,
                        samples=run.epochs * batches * run.batch)


if __name__ == "__main__":
    main()
