"""Weight-tied equilibrium model on digits: block, damped solver, TEP step, BP step."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common import Task, Tensors

DIGITS = Path(__file__).parents[2] / "src" / "engine" / "datasets" / "data" / "digits.csv.gz"


# --- model: every state h and every embedded input x is (b, 1, d) ----------------------------------------------------


def attend(q: Tensor, k: Tensor, v: Tensor, heads: int, kind: str) -> Tensor:
    """Multi-head attention without projections: q (b, n, d), k and v (b, m, d) -> (b, n, d)."""
    b, n, d = q.shape
    q, k, v = (t.view(b, -1, heads, d // heads).transpose(1, 2) for t in (q, k, v))
    if kind == "softmax":
        out = F.scaled_dot_product_attention(q, k, v)
    else:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        weight = q @ k.sum(2).unsqueeze(-1) + 1e-6  # (b, heads, n, 1)
        out = q @ (k.transpose(2, 3) @ v) / weight
    return out.transpose(1, 2).reshape(b, n, d)


class Attention(nn.Module):
    """Cross-attention with four projections."""

    def __init__(self, d: int, heads: int, kind: str) -> None:
        super().__init__()
        self.heads, self.kind = heads, kind
        self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))

    def forward(self, query: Tensor, source: Tensor) -> Tensor:
        return self.out(attend(self.q(query), self.k(source), self.v(source), self.heads, self.kind))


class AsymmetricBlock(nn.Module):
    """f(h, x) = LN3(u + W2 gelu(W1 LN2(u))), u = h + Attn(LN1(h), x)."""

    def __init__(self, d: int, heads: int, kind: str) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.attn = Attention(d, heads, kind)
        self.norm2 = nn.LayerNorm(d)
        self.ff1 = nn.Linear(d, 4 * d)
        self.ff2 = nn.Linear(4 * d, d)
        self.norm3 = nn.LayerNorm(d)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        u = h + self.attn(self.norm1(h), x)
        return self.norm3(u + self.ff2(F.gelu(self.ff1(self.norm2(u)))))


class SymmetricBlock(nn.Module):
    """f(h, x) = tanh(h + Wq^T A(Wq h + bq, K, V = K) + W1^T tanh(W1 h + b1)), K = Wk x + bk; linear attention."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)
        self.ff1 = nn.Linear(d, 4 * d)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        k = self.k(x)
        attended = attend(self.q(h), k, k, self.heads, "linear") @ self.q.weight
        return torch.tanh(h + attended + torch.tanh(self.ff1(h)) @ self.ff1.weight)


class Equilibrium(nn.Module):
    """Embedding 64 -> d, block f(h, x), head d -> 10."""

    def __init__(self, d: int, attention: str = "linear", symmetric: bool = False) -> None:
        super().__init__()
        if symmetric and attention != "linear":
            raise SystemExit("error: a symmetric block has linear attention only")
        heads = next(n for n in (8, 4, 2, 1) if d % n == 0)
        self.embedding = nn.Linear(64, d)
        self.block = SymmetricBlock(d, heads) if symmetric else AsymmetricBlock(d, heads, attention)
        self.head = nn.Linear(d, 10)
        for layer in (self.embedding, self.head):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def embed(self, data: Tensor) -> Tensor:
        """(b, 64) -> (b, 1, d)."""
        return self.embedding(data).unsqueeze(1)

    def classify(self, h: Tensor) -> Tensor:
        """(b, 1, d) -> logits (b, 10)."""
        return self.head(h.squeeze(1))


def solve(
    f: Callable[[Tensor], Tensor], h: Tensor, gamma: float, iterations: int, tolerance: float
) -> tuple[Tensor, int]:
    """Damped fixed point from h; ends when the change over the batch is below tolerance. (state, iterations done)."""
    for done in range(1, iterations + 1):
        new = (1 - gamma) * h + gamma * f(h)
        change = (new - h).detach().norm()
        h = new
        if change < tolerance:
            break
    return h, done


# --- tasks -----------------------------------------------------------------------------------------------------------


@dataclass
class TepOptions:
    hidden: int = 13
    batch: int = 64
    lr: float = 0.0255
    beta: float = 0.0955
    gamma: float = 0.741
    iterations: int = 26
    tolerance: float = 1.3e-4
    attention: str = "linear"
    symmetric: bool = False
    fused: bool = False


class TepTask(Task):
    """One TEP step. `forward` is the free and the nudged phase, without gradients; `loss` one differentiable f."""

    def __init__(self, o: TepOptions) -> None:
        self.o = o
        model = Equilibrium(o.hidden, o.attention, o.symmetric)
        super().__init__(model, digits(o.batch), torch.optim.Adam(model.parameters(), o.lr, fused=o.fused or None))

    @torch.no_grad()
    def forward(self, inputs: Tensors) -> tuple[Tensor, Tensor]:
        o, model = self.o, self.model
        x = model.embed(inputs["x"])
        target = F.one_hot(inputs["label"], 10)

        def nudged(h: Tensor) -> Tensor:
            f = model.block(h, x)
            d_logits = (model.classify(f).softmax(1) - target) / len(target)  # of the mean cross-entropy
            return f - o.beta * (d_logits @ model.head.weight).unsqueeze(1)

        free, self.free_iterations = solve(
            lambda h: model.block(h, x), torch.zeros_like(x), o.gamma, o.iterations, o.tolerance
        )
        pushed, self.nudged_iterations = solve(nudged, free, o.gamma, o.iterations, o.tolerance)
        return free, pushed

    def loss(self, output: tuple[Tensor, Tensor], inputs: Tensors) -> Tensor:
        free, pushed = output
        local = F.mse_loss(self.model.block(free, self.model.embed(inputs["x"])), pushed) / self.o.beta
        return local + F.cross_entropy(self.model.classify(free), inputs["label"])

    def compile(self) -> None:
        self.model.block.compile()

    def outputs(self, output: tuple[Tensor, Tensor]) -> Tensors:
        return {"free": output[0], "nudged": output[1]}

    def facts(self) -> dict[str, Any]:
        return {"free_iterations": self.free_iterations, "nudged_iterations": self.nudged_iterations}


@dataclass
class BpOptions:
    hidden: int = 21
    batch: int = 128
    lr: float = 0.00741
    weight_decay: float = 0.0
    optimizer: str = "adam"  # | adamw
    gamma: float = 0.9
    iterations: int = 20
    tolerance: float = 1e-4
    clip: float = 1.0
    attention: str = "linear"
    symmetric: bool = False
    fused: bool = False


class BpTask(Task):
    """One step through the unrolled loop; block, embedding and head are clipped separately."""

    def __init__(self, o: BpOptions) -> None:
        self.o = o
        model = Equilibrium(o.hidden, o.attention, o.symmetric)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o.optimizer]
        optimizer = kind(model.parameters(), o.lr, weight_decay=o.weight_decay, fused=o.fused or None)
        super().__init__(model, digits(o.batch), optimizer)

    def forward(self, inputs: Tensors) -> tuple[Tensor, Tensor]:
        x = self.model.embed(inputs["x"])
        h, self.iterations = solve(
            lambda h: self.model.block(h, x), torch.zeros_like(x), self.o.gamma, self.o.iterations, self.o.tolerance
        )
        return h, self.model.classify(h)

    def loss(self, output: tuple[Tensor, Tensor], inputs: Tensors) -> Tensor:
        return F.cross_entropy(output[1], inputs["label"])

    def clip(self) -> None:
        for part in (self.model.block, self.model.embedding, self.model.head):
            nn.utils.clip_grad_norm_(part.parameters(), self.o.clip)

    def compile(self) -> None:
        self.model.block.compile()

    def outputs(self, output: tuple[Tensor, Tensor]) -> Tensors:
        return {"state": output[0], "logits": output[1]}

    def facts(self) -> dict[str, Any]:
        return {"iterations": self.iterations}


def digits(n: int) -> Tensors:
    """The first n rows of the digits file: x (n, 64) in [0, 1], label (n,)."""
    with gzip.open(DIGITS, "rt") as file:
        table = torch.tensor([[float(value) for value in line.split(",")] for line in islice(file, n)])
    if len(table) < n:
        raise SystemExit(f"error: batch {n} is larger than the data set ({len(table)} rows)")
    return {"x": table[:, :64] / 16, "label": table[:, 64].long()}
