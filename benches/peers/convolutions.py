"""Errors of a U-Net with each convolution algorithm against PyTorch in f64: the basis of the tolerances in docs/verify.md.

Makes references of many sizes and seeds, runs `fieldtrial verify` on each with every `train.convolution`, and prints a line
per reference and algorithm and, at the end, the largest errors of each algorithm as Markdown.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
from pathlib import Path

import torch

from common import write_reference
from unet import UnetOptions, UnetTask

ALGORITHMS = ["auto", "direct", "winograd-2", "winograd-4", "winograd-5"]
ERRORS = ["loss", "gradient", "weights_after"]
ROOT = Path(__file__).resolve().parents[2]


def make(options: UnetOptions, seed: int, out: Path) -> None:
    """The reference files of one step, in f64 from weights and inputs in f32."""
    torch.manual_seed(seed)
    task = UnetTask(options)
    task.to_double()
    write_reference(task, out, {"workload": "unet", "seed": seed}, False)


def verify(program: Path, folder: Path, options: UnetOptions, algorithm: str) -> dict[str, float]:
    """The errors by name."""
    sets = [f"models.unet.base-channels={options.base_channels}", f'train.convolution="{algorithm}"']
    command = [program, "verify", ROOT / "experiments/ddpm.toml", "--model", "unet", "--reference", folder, "--format", "json"]
    command += itertools.chain.from_iterable(("--set", one) for one in sets)
    said = subprocess.run(command, capture_output=True, text=True)
    if not said.stdout:
        raise SystemExit(said.stderr)
    found = json.loads(said.stdout)
    return {name: found[f"{name}_relative_error"] for name in ERRORS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/fieldtrial")
    parser.add_argument("--seeds", type=int, default=5, help="references of each size")
    parser.add_argument("--sizes", default="16x16x3,24x20x4,24x28x5,32x24x4",
                        help="base channels x pixels of a side x images, with commas between")
    args = parser.parse_args()
    worst = {algorithm: dict.fromkeys(ERRORS, 0.0) for algorithm in ALGORITHMS}
    for size, seed in itertools.product(args.sizes.split(","), range(args.seeds)):
        base, side, batch = map(int, size.split("x"))
        options = UnetOptions(batch=batch, base_channels=base, image_size=side)
        with tempfile.TemporaryDirectory() as folder:
            make(options, seed, Path(folder))
            for algorithm in ALGORITHMS:
                errors = verify(args.program, Path(folder), options, algorithm)
                print(size, seed, algorithm, *(f"{error:.1e}" for error in errors.values()), flush=True)
                for name, error in errors.items():
                    worst[algorithm][name] = max(worst[algorithm][name], error)
    print("| algorithm | " + " | ".join(ERRORS) + " |\n|---|" + "---|" * len(ERRORS))
    for algorithm, errors in worst.items():
        print(f"| `{algorithm}` | " + " | ".join(f"{error:.1e}" for error in errors.values()) + " |")


if __name__ == "__main__":
    main()
