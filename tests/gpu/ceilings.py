"""What this GPU can do at most, beside what a training step of the U-Net needs: the shortest time that the step can take.

Measures a copy within device memory and a product of 8192 × 8192 matrices in each precision, by PyTorch. A step's FLOPs
are three forward passes'; its bytes are those of every layer's input and result, three times (forward, and both gradients),
and of Adam's reads and writes, as if each operation read and wrote memory once and nothing were fused.

    python3 tests/gpu/ceilings.py [--batch 64] [--device cpu --size 256]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches/peers"))
from unet import UNet  # noqa: E402

# Product's type, whether TF32 is allowed, bytes of an activation.
PRECISIONS = {
    "f32": (torch.float32, False, 4),
    "tf32": (torch.float32, True, 4),
    "amp": (torch.float16, True, 2),
    "bf16": (torch.bfloat16, True, 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=8192, help="rows of the matrices; a copy is of 2 GiB at 8192")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    name = torch.cuda.get_device_name() if args.device == "cuda" else args.device
    bytes_per_s = copied(args)
    flops, values, parameters = of_a_step(args)
    print(f"{name}: copy {bytes_per_s / 1e12:.3f} TB/s, read and written; U-Net, batch {args.batch}: {flops / 1e9:.0f} GFLOP a step")
    print("precision | product, TFLOP/s | GFLOP at that rate, ms | GB of a step | at that rate, ms")
    for precision, (dtype, tf32, size) in PRECISIONS.items():
        rate = multiplied(args, dtype, tf32)
        moved = values * size + 28 * parameters
        row = [f"{rate / 1e12:.1f}", f"{1e3 * flops / rate:.2f}", f"{moved / 1e9:.2f}", f"{1e3 * moved / bytes_per_s:.2f}"]
        print(" | ".join([precision, *row]), flush=True)


def timed(args: argparse.Namespace, work: object, repeats: int = 10) -> float:
    """Seconds of one call: the median over `repeats`, after two that do not count."""
    synchronize = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    times = []
    for _ in range(2 + repeats):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[repeats // 2]


def copied(args: argparse.Namespace) -> float:
    """Bytes per second, read and written, of a copy within the device."""
    source = torch.randn(8 * args.size * args.size, device=args.device)
    target = torch.empty_like(source)
    return 2 * source.numel() * source.element_size() / timed(args, lambda: target.copy_(source))


def multiplied(args: argparse.Namespace, dtype: torch.dtype, tf32: bool) -> float:
    """FLOP/s of a square product of random values."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(args.size, args.size, device=args.device, dtype=dtype) for _ in range(2))
    return 2 * args.size**3 / timed(args, lambda: a @ b)


def of_a_step(args: argparse.Namespace) -> tuple[int, int, int]:
    """(FLOPs, values that layers read and write, parameters) of a training step, counted in a forward pass without memory."""
    with torch.device("meta"):
        model = UNet()
        inputs = torch.empty(args.batch, 3, 40, 40), torch.empty(args.batch).long(), torch.empty(args.batch).long()
    values = 0

    def count(_module: nn.Module, given: tuple[torch.Tensor, ...], result: torch.Tensor) -> None:
        nonlocal values
        values += sum(one.numel() for one in (*given, result))

    for module in model.modules():
        if not list(module.children()):
            module.register_forward_hook(count)
    with FlopCounterMode(display=False) as counter:
        model(*inputs)
    return 3 * counter.get_total_flops(), 3 * values, sum(p.numel() for p in model.parameters())


if __name__ == "__main__":
    main()
