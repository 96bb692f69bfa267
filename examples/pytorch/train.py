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


class Attention(nn.Module):
    """Causal self-attention; (B, T, F) -> (B, T, F). Parameters are named as those of `{ attention = HEADS }`."""

    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.proj = nn.Linear(features, features)

    def forward(self, x):
        b, t, f = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, f // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, f))


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Positions(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, features))

    def forward(self, x):
        return x + self.weight


def network(name, inputs, classes):
    """The layers of the manifest, with nn.Sequential's names."""
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                             nn.Linear(256, classes))
    if name == "cnn":
        return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(32 * inputs // 48, classes))
    f = 64
    blocks = [nn.Sequential(Residual(nn.LayerNorm(f), Attention(f, 4)),
                            Residual(nn.LayerNorm(f), nn.Linear(f, 4 * f), nn.GELU(), nn.Linear(4 * f, f)))
              for _ in range(2)]
    return nn.Sequential(nn.Embedding(classes, f), Positions(inputs, f), *blocks, nn.LayerNorm(f),
                         nn.Linear(f, classes))


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
    """(N, T) characters and those after each, of the first 80 % of a text; the vocabulary is theirs, sorted."""
    text = Path(path).read_text(encoding="utf-8")
    text = text[: len(text) - 2 * int(0.1 * len(text))]
    vocabulary = {letter: index for index, letter in enumerate(sorted(set(text)))}
    ids = torch.tensor([vocabulary[letter] for letter in text])
    count = (len(ids) - 1) // length
    return ids[: count * length].view(count, length), ids[1: count * length + 1].view(count, length), len(vocabulary)


def initial(model, path):
    """Copies the weights of a safetensors file, by their place: names differ, order and shapes do not."""
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = {name: entry for name, entry in json.loads(data[8: 8 + size]).items() if name != "__metadata__"}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            start, end = header[f"layers.{name}"]["data_offsets"]
            raw = bytearray(data[8 + size + start: 8 + size + end])
            parameter.copy_(torch.frombuffer(raw, dtype=torch.float32).view(parameter.shape))


def main():
    run = fieldtrial.order(network="mlp", length=64, epochs=2, batch=32, lr=1e-3)
    torch.set_num_threads(run.threads)
    torch.manual_seed(run.seed)
    if run.network == "gpt":
        x, y, classes = windows(run.dataset["path"], run.length)
        model = network("gpt", run.length, classes + 1)      # one more, for characters that only other parts have
    else:
        x, y = images(run.dataset["path"])
        model = network(run.network, x[0].numel(), int(y.max()) + 1)
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
        fieldtrial.epoch(epoch, train_loss=statistics.fmean(losses))
    fieldtrial.finished(step_ms=statistics.median(step_ms[3:]), steps=run.epochs * batches,
                        samples=run.epochs * batches * run.batch)


if __name__ == "__main__":
    main()
