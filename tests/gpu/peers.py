"""Steps per second of this program and of PyTorch on the same device, in turns: ours, theirs, ours, theirs, …

Ours are the cells of peers.toml, theirs the workloads of benches/peers; both count whole steps of the same batch size,
without synchronisation inside a step. Prints every measurement as it comes and a table of ratios at the end; rows go
to a CSV file. What fails or takes too long is a row as well, and the others go on.

    python3 tests/gpu/peers.py --program target/cuda/fieldtrial --out peers.csv [--dry] [--modes eager,compiled]
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PRECISIONS = ("f32", "tf32", "amp", "bf16")
WITHOUT_16_BITS = ("f32", "tf32")


class Workload(NamedTuple):
    """A cell of peers.toml and the same in benches/peers."""

    theirs: list[str]  # arguments of peers.py, or of layers.py where the model is declared
    batch: int
    steps: int
    model: str = ""  # a declared model of peers.toml
    dataset: str = ""  # that it is trained on
    precisions: tuple[str, ...] = PRECISIONS


WORKLOADS: dict[str, Workload] = {
    "unet-8": Workload(["unet", "--batch", "8"], 8, 100),
    "unet-64": Workload(["unet", "--batch", "64"], 64, 30),
    "resnet18": Workload([], 128, 50, model="resnet18", dataset="images"),
    "gpt": Workload([], 64, 50, model="gpt", dataset="text"),
    "mlp": Workload(["mlp"], 256, 1000),
    "neu": Workload(["neu"], 32, 200),
    "b2": Workload(["b2"], 8, 10, precisions=WITHOUT_16_BITS),
    "b3": Workload(["b3"], 8, 10, precisions=WITHOUT_16_BITS),
    "b5": Workload(["b5"], 8, 10, precisions=WITHOUT_16_BITS),
    "tep": Workload(["tep"], 64, 100, precisions=WITHOUT_16_BITS),
}
# PyTorch's modes; in `best` and `compiled` models with images are in channels-last memory.
MODES: dict[str, list[str]] = {"eager": [], "best": ["--fused"], "compiled": ["--fused", "--compile"]}
WITH_IMAGES = {"unet-8", "unet-64", "resnet18"}
# Small enough to try this script on a CPU.
DRY_THEIRS = {"unet": ["--base-channels", "8", "--image-size", "8"], "neu": ["--voxels", "100", "--hidden", "32"]}
DRY_OURS = [
    "models.unet.base-channels=8",
    "datasets.surfaces.size=8",
    "datasets.linear.samples=2000",
    "datasets.paths.samples=32",
    "datasets.paths.points=12",
    "datasets.few-paths.samples=16",
    "datasets.few-paths.points=12",
    "datasets.images.generate.normal=150",
    "datasets.events.samples=640",
    "datasets.events.voxels=100",
    "models.neu.hidden=32",
    "train.steps-per-epoch=6",
]
# Folders that this program searches first for NVIDIA's libraries.
LIBRARIES = "FIELDTRIAL_CUDA_LIBRARIES"
FIELDS = ["workload", "precision", "side", "mode", "turn", "steps_per_s", "samples_per_s", "peak_bytes", "error"]


def main() -> int:
    args = parse()
    end = time.monotonic() + args.limit
    work = Path(args.work).resolve()
    (work / "data").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tests/gpu/peers.toml", work / "peers.toml")
    shutil.copy(ROOT / "experiments/texts/documentation.txt", work / "data")
    rows: list[dict[str, str]] = []
    if "compiled" in args.modes:
        compile_ahead(args)
    with open(args.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for turn, workload, precision, side in turns(args):
            row = {"workload": workload, "precision": precision, "side": side, "turn": str(turn)}
            row |= {"mode": "", "error": ""}
            if side != "ours":
                row |= {"side": "theirs", "mode": side}
            left = end - time.monotonic()
            try:
                if left < 5:
                    raise Failed("no time left")
                limit = min(left, args.each)
                measured = ours(args, work, row, limit) if side == "ours" else theirs(args, row, limit)
                row |= {name: f"{value:.6g}" for name, value in measured.items()}
            except Failed as error:
                row["error"] = str(error)
            rows.append(row)
            writer.writerow(row)
            file.flush()
            print(" ".join(row[name] for name in FIELDS if row.get(name)), flush=True)
    print(table(rows))
    broken = [row for row in rows if row["error"]]
    print(f"{len(rows) - len(broken)} of {len(rows)} measurements made")
    return 1 if broken else 0


def compile_ahead(args: argparse.Namespace) -> None:
    """Fills PyTorch's cache of compiled code, all workloads and precisions at once: compiling takes minutes of one core."""
    begun = time.monotonic()

    def compile_one(row: dict[str, str]) -> None:
        try:
            theirs(args, row, args.each, steps=2)
        except Failed as error:
            print(f"compiling {row['workload']} {row['precision']}: {error}", flush=True)

    rows = [{"workload": turn[1], "precision": turn[2], "mode": "compiled"} for turn in turns(args) if turn[3] == "compiled"]
    with ThreadPoolExecutor(len(rows)) as pool:
        list(pool.map(compile_one, rows))
    print(f"compiled {len(rows)} in {time.monotonic() - begun:.0f} s", flush=True)


class Failed(Exception):
    """A measurement that was not made, with the reason in one line."""


def turns(args: argparse.Namespace) -> list[tuple[int, str, str, str]]:
    """(turn, workload, precision, `ours` or theirs' mode): both sides in turns; compiling takes long and is done once."""
    order = []
    for workload in args.workloads:
        for precision in (one for one in args.precisions if one in WORKLOADS[workload].precisions):
            for turn in range(args.turns):
                order.append((turn, workload, precision, "ours"))
                order += [(turn, workload, precision, mode) for mode in args.modes if turn == 0 or mode != "compiled"]
    return order


def ours(args: argparse.Namespace, work: Path, row: dict[str, str], limit: float) -> dict[str, float]:
    """One run of one cell of peers.toml."""
    # Results are in reports/, next to the manifest.
    command = [os.path.abspath(args.program), "run", "peers.toml", "--fresh", "--no-report"]
    command += ["--only", f"variant={row['workload']},precision={row['precision']}"]
    settings = DRY_OURS if args.dry else []
    for setting in settings:
        command += ["--set", setting]
    run(command, work, limit, os.environ | {LIBRARIES: libraries_of_pytorch()})
    with open(results(work) / "blocks.csv", newline="") as file:
        cell = {"variant": row["workload"], "precision": row["precision"], "status": "done"}
        lines = [line for line in csv.DictReader(file) if cell.items() <= line.items()]
    if not lines:
        raise Failed("no run is done")
    line, batch = lines[-1], WORKLOADS[row["workload"]].batch
    samples = float(line["samples_per_s"])
    return {"steps_per_s": samples / batch, "samples_per_s": samples, "peak_bytes": device_bytes(line)}


def results(work: Path) -> Path:
    """The folder that `run peers.toml` writes: beside the manifest's folder or in it."""
    for folder in (work.parent / "reports/peers", work / "reports/peers"):
        if (folder / "blocks.csv").is_file():
            return folder
    raise Failed(f"no results of peers.toml beside {work}")


def device_bytes(line: dict[str, str]) -> float:
    """The peak of device memory, where this version has a column for it."""
    for name in ("peak_device_bytes", "device_peak_bytes", "peak_train_bytes"):
        if line.get(name):
            return float(line[name])
    return float("nan")


def theirs(args: argparse.Namespace, row: dict[str, str], limit: float, steps: int | None = None) -> dict[str, float]:
    """The same in PyTorch, in a process of its own."""
    workload, mode = WORKLOADS[row["workload"]], row["mode"]
    steps = steps or workload.steps
    peers = ROOT / "benches/peers"
    if workload.model:
        work = Path(args.work).resolve()
        description = work / f"{workload.model}.json"
        command = [os.path.abspath(args.program), "list", "model", "peers.toml", workload.model, "--format", "json"]
        command += ["--set", f'train.dataset="{workload.dataset}"']
        description.write_text(run(command, work, limit))
        command = [str(peers / "layers.py"), "bench", str(description), "--batch", str(workload.batch)]
    else:
        command = [str(peers / "peers.py"), "bench", *workload.theirs]
    command = [sys.executable, *command, *MODES[mode]]
    if mode != "eager" and row["workload"] in WITH_IMAGES and not args.dry:
        command.append("--channels-last")
    if args.dry:
        smaller = [] if workload.model else DRY_THEIRS.get(workload.theirs[0], [])
        command += [*smaller, "--steps", "3", "--warmup", "1", "--device", "cpu"]
    else:
        command += ["--steps", str(steps), "--warmup", str(min(15, steps // 2)), "--device", "cuda", "--precision", row["precision"]]
    line = json.loads(run(command, ROOT, limit).strip().splitlines()[-1])
    samples, peak = line["samples_per_s"], line["cuda_peak_allocated_bytes"] or float("nan")
    return {"steps_per_s": samples / workload.batch, "samples_per_s": samples, "peak_bytes": peak}


def libraries_of_pytorch() -> str:
    """Folders of the wheels that PyTorch takes cuBLAS and cuDNN from, before those that the user names: one for both sides."""
    torch = importlib.util.find_spec("torch")
    packages = Path(torch.origin).parents[1] if torch and torch.origin else Path()
    own = [packages / "nvidia" / wheel / "lib" for wheel in ("cu13", "cublas", "cudnn")]
    folders = [str(folder) for folder in own if torch and folder.is_dir()]
    return os.pathsep.join(folders + [value for value in [os.environ.get(LIBRARIES)] if value])


def run(command: list[str], folder: Path, limit: float, environment: dict[str, str] | None = None) -> str:
    """What the command prints."""
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"longer than {limit:.0f} s") from None
    except OSError as error:
        raise Failed(str(error)) from None
    if ended.returncode != 0:
        said = [line for line in (ended.stderr + ended.stdout).splitlines() if line.strip()]
        print("\n".join(said[-12:]), file=sys.stderr, flush=True)
        reasons = [line for line in said if "panicked: " in line or "rror:" in line] or said[-1:] or ["nothing said"]
        raise Failed(f"exit code {ended.returncode}: {reasons[0].strip()[:200]}")
    return ended.stdout


def table(rows: list[dict[str, str]]) -> str:
    """Medians over the turns, and ours over theirs: above 1, ours is faster."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if not row["error"]:
            key = (row["workload"], row["precision"], row["mode"] or "ours")
            values.setdefault(key, []).append(float(row["steps_per_s"]))
    medians = {key: statistics.median(numbers) for key, numbers in values.items()}
    modes = ["ours", *dict.fromkeys(row["mode"] for row in rows if row["mode"])]
    lines = ["", "steps per second; in brackets ours ÷ theirs", " | ".join(["workload", "precision", *modes])]
    for workload, precision in dict.fromkeys((row["workload"], row["precision"]) for row in rows):
        own = medians.get((workload, precision, "ours"))
        cells = []
        for mode in modes:
            value = medians.get((workload, precision, mode))
            ratio = f" ({own / value:.2f})" if own and value and mode != "ours" else ""
            cells.append(f"{value:.4g}{ratio}" if value else "none")
        lines.append(" | ".join([workload, precision, *cells]))
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="this program, built with the feature `cuda`")
    parser.add_argument("--out", required=True, help="the CSV file to write")
    parser.add_argument("--work", default="target/gpu-check/peers", help="folder for results and data")
    parser.add_argument("--limit", type=float, default=500.0, help="seconds for all")
    parser.add_argument("--each", type=float, default=120.0, help="seconds for one measurement")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="tiny sizes, PyTorch on the CPU: tries this script")
    for name, choices in {"workloads": WORKLOADS, "precisions": PRECISIONS, "modes": MODES}.items():
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=list(choices), help=",".join(choices))
    args = parser.parse_args()
    for name, choices in {"workloads": WORKLOADS, "precisions": PRECISIONS, "modes": MODES}.items():
        unknown = [value for value in getattr(args, name) if value not in choices]
        if unknown:
            parser.error(f"--{name}: no {unknown[0]}; there are {', '.join(choices)}")
    return args


if __name__ == "__main__":
    raise SystemExit(main())
