"""Times of the U-Net's operations in PyTorch, batch 8, channels last: the other side of `cargo bench --bench ops`.

`python ops.py [THREADS]` prints median and minimum in milliseconds of forward, and of forward and backward together.
Run it on an idle machine only: PyTorch's barriers collapse when another process takes a core.
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 8
# channels in, side, channels out, stride, kernel
CONVOLUTIONS = [
    (64, 40, 64, 1, 3), (128, 20, 128, 1, 3), (256, 10, 256, 1, 3), (512, 10, 256, 1, 3), (3, 40, 64, 1, 3),
    (64, 40, 3, 1, 3), (192, 40, 64, 1, 3), (384, 20, 128, 1, 3), (256, 20, 256, 1, 3), (128, 40, 128, 1, 3),
    (64, 40, 64, 2, 3), (128, 20, 128, 2, 3), (192, 40, 64, 1, 1), (256, 10, 768, 1, 1),
]
IMAGES = [(64, 40), (128, 20), (256, 10)]


def milliseconds(work, repeats: int = 15) -> str:
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return f"{statistics.median(times):8.2f} ({min(times):8.2f})"


def report(name: str, module: nn.Module, forward, *leaves: torch.Tensor) -> None:
    grad = torch.randn_like(forward())

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        module.zero_grad()
        forward().backward(grad)

    print(f"{name:32} forward {milliseconds(forward)}   step {milliseconds(step)}", flush=True)


def images(channels: int, side: int) -> torch.Tensor:
    x = torch.randn(BATCH, channels, side, side)
    return x.to(memory_format=torch.channels_last).requires_grad_()


def main() -> None:
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    for c, side, k, stride, kernel in CONVOLUTIONS:
        conv = nn.Conv2d(c, k, kernel, stride=stride, padding=kernel // 2).to(memory_format=torch.channels_last)
        x = images(c, side)
        report(f"conv2d {(c, side, k, stride, kernel)}", conv, lambda: conv(x), x)
    for c, side in IMAGES:
        norm, x, shift = nn.GroupNorm(8, c), images(c, side), torch.randn(BATCH, c, 1, 1, requires_grad=True)
        report(f"group_norm {(c, side)}", norm, lambda: F.silu(norm(x) + shift), x)
    beside_convolutions()


def beside_convolutions() -> None:
    """The U-Net's other operations."""
    none = nn.Identity()
    for c, side in IMAGES:
        norm, x, other = nn.GroupNorm(8, c), images(c, side), images(c, side)
        report(f"norm_residual {(c, side)}", norm, lambda: F.silu(F.dropout(norm(x), 0.1) + other), x, other)
        report(f"add_silu {(c, side)}", none, lambda: F.silu(x + other), x, other)
        report(f"concat {(c, side)}", none, lambda: torch.cat([x, other], 1), x, other)
        report(f"dropout {(c, side)}", none, lambda: F.dropout(x, 0.1), x)
        report(f"silu {(c, side)}", none, lambda: F.silu(x), x)
    for c, side in ((256, 10), (128, 20)):
        x = images(c, side)
        double = {"scale_factor": 2, "mode": "bilinear", "align_corners": True}
        report(f"upsample_bilinear {(c, side)}", none, lambda: F.interpolate(x, **double), x)
    c, positions = 256, 100
    qkv = torch.randn(BATCH, positions, 3 * c, requires_grad=True)

    def attention() -> torch.Tensor:
        q, k, v = qkv.reshape(BATCH, positions, 3, 4, c // 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(BATCH, positions, c)

    report(f"attention {(c, positions)}", none, attention, qkv)


if __name__ == "__main__":
    main()
