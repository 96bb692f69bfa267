"""Whole epochs of small models: batches cut by hand from tensors in memory, or served by a DataLoader."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from equilibrium import digits
from mlp import Mlp, linear_rows, normalise

BATCHING = ("manual", "loader")


def bench_epochs(workload: str, batching: str, epochs: int, compiled: bool) -> dict[str, Any]:
    """Median milliseconds of an epoch of `mlp` (10,000 rows, batch 256) or `digits` (1,437 rows, batch 32)."""
    if workload == "mlp":
        x, y = linear_rows(10_000)
        x, y, batch = normalise(x), normalise(y), 256
        model: nn.Module = Mlp()
        optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-6)
        loss = F.mse_loss
    else:
        rows = digits(1_437)
        x, y, batch = rows["x"], rows["label"], 32
        model = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 10))
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        loss = F.cross_entropy
    if compiled:
        model.compile()
    times = []
    for _ in range(epochs):
        start = time.perf_counter()
        for inputs, targets in batches(x, y, batch, batching):
            value = loss(model(inputs), targets)
            value.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        times.append(1e3 * (time.perf_counter() - start))
    # The first epoch has cold caches, or compiles.
    steps = -(-len(x) // batch)
    return {"workload": workload, "batching": batching, "epoch_ms": statistics.median(times[1:] or times), "steps": steps}


def batches(x: Tensor, y: Tensor, batch: int, batching: str) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of shuffled batches."""
    if batching == "loader":
        yield from DataLoader(TensorDataset(x, y), batch, shuffle=True)
        return
    for rows in torch.randperm(len(x)).split(batch):
        yield x[rows], y[rows]
