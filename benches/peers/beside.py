"""Training steps of this program and of PyTorch on the same CPU, in turns: ours, theirs, ours, theirs, …

Ours are cells of beside.toml, trained by `fieldtrial run` in their own processes; theirs are the workloads of this folder.
Each measurement waits until the machine is idle, and says how idle it was. Printed are medians over the turns, and ours
divided by the best of PyTorch's modes (below 1: ours is faster) with an interval: the 2.5th and 97.5th percentile of that
ratio when turns are drawn again with replacement.

    cargo build --release
    python3 benches/peers/beside.py [WORKLOAD …] [--turns 5] [--vector avx2] [--out beside.csv]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Paths of data are relative to a manifest, and ours is copied.
TEXT = ["--set", f"datasets.text.path={json.dumps(str(ROOT / 'experiments/texts/documentation.txt'))}"]


@dataclass
class Workload:
    """One comparison: our column of blocks.csv in ms, and PyTorch's modes, each a command line of peers.py."""

    column: str
    modes: dict[str, list[str]]
    theirs: str = "step_ms"
    marks: dict[str, float] = field(default_factory=dict)
    declared: str = ""  # dataset of a model that is declared layer by layer


def autocast(modes: dict[str, list[str]]) -> dict[str, list[str]]:
    """The modes with two threads, with products in bf16."""
    lines = {name: line for name, line in modes.items() if name.endswith("threads 2")}
    return {f"autocast, {name.removeprefix('eager, ')}": [*line, "--precision", "bf16"] for name, line in lines.items()}


def steps(name: str, *options: str, threads: tuple[int, ...] = (1, 2), n: int, mark: float) -> Workload:
    """A step of the workload `name`; small models are timed with one thread too, which is often faster."""
    line = ["bench", name, *options, "--steps", str(n), "--warmup", "3"]
    modes = {f"eager, threads {t}": [*line, "--threads", str(t)] for t in threads}
    if name == "unet":
        modes["channels_last, threads 2"] = [*line, "--channels-last", "--threads", "2"]
        modes |= autocast(modes)
    modes["compiled, threads 2"] = [*line, "--compile", "--threads", "2"]
    return Workload("step_ms", modes, marks={"": mark})


def layers(n: int, mark: float, *, convolves: bool = True, data: str = "images") -> Workload:
    """A step of a model of beside.toml that is declared layer by layer, at batch 32."""
    line = ["--batch", "32", "--steps", str(n), "--warmup", "5"]
    modes = {f"eager, threads {t}": [*line, "--threads", str(t)] for t in (1, 2)}
    if convolves:
        modes |= {f"channels_last, threads {t}": [*line, "--channels-last", "--threads", str(t)] for t in (1, 2)}
    modes |= autocast(modes)
    modes["compiled, threads 2"] = [*line, "--compile", "--threads", "2"]
    return Workload("step_ms", modes, marks={"": mark}, declared=data)


def epochs(name: str, n: int, manual: float, loader: float | None) -> Workload:
    """A whole epoch, loading included, with both methods of making batches."""
    line = ["epochs", name, "--epochs", str(n)]
    modes = {
        f"{batching}, {how}threads {threads}": [*line, "--batching", batching, *options, "--threads", str(threads)]
        for batching in ("manual", "loader")
        for how, options in (("", []), ("compiled, ", ["--compile"]))
        for threads in (1, 2)
    }
    marks = {"manual": manual} | ({"loader": loader} if loader else {})
    return Workload("epoch_s", modes, "epoch_ms", marks)


WORKLOADS: dict[str, Workload] = {
    "unet-8": steps("unet", "--batch", "8", threads=(2,), n=8, mark=0.62),
    "unet-32": steps("unet", "--batch", "32", threads=(2,), n=4, mark=0.62),
    "mlp": epochs("mlp", 15, 0.18, 0.08),
    "digits": epochs("digits", 15, 0.10, None),
    "a1": steps("a1", n=100, mark=0.05),
    "b2": steps("b2", n=4, mark=0.05),
    "b3": steps("b3", n=40, mark=0.08),
    "b5": steps("b5", n=40, mark=0.08),
    "tep": steps("tep", n=60, mark=0.15),
    "bp": steps("bp", n=40, mark=0.15),
    "alt": steps("alt", threads=(2,), n=30, mark=0.5),
    "neu": steps("neu", threads=(2,), n=30, mark=0.5),
    "resnet18": layers(10, 0.6),
    "res8": layers(40, 0.6),
    "separable": layers(40, 0.7),
    "mobile": layers(40, 0.7),
    "vit-tiny": layers(10, 0.8, convolves=False),
    "mixer": layers(20, 0.8, convolves=False),
    "gpt": layers(10, 0.8, convolves=False, data="text"),
}
AVX2 = {
    "FIELDTRIAL_VECTOR": "avx2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
FIELDS = ["workload", "mode", "turn", "ms", "idle", "seconds", "error"]


class Failed(Exception):
    """A measurement that was not made, with the reason in one line."""


def main() -> int:
    args = parse()
    work = Path(args.work).resolve()
    # Results are in reports/, next to the folder experiments/.
    (work / "experiments").mkdir(parents=True, exist_ok=True)
    (work / "experiments/beside.toml").write_text((HERE / "beside.toml").read_text())
    environment = os.environ | (AVX2 if args.vector == "avx2" else {})
    rows: list[dict[str, str]] = []
    with open(args.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for workload, mode, turn in turns(args):
            row = {"workload": workload, "mode": mode, "turn": str(turn), "error": ""}
            row["idle"] = f"{wait_until_idle(args.idle, args.patience):.2f}"
            start = time.monotonic()
            try:
                ms = ours(args, work, workload, environment) if mode == "ours" else theirs(args, work, workload, mode, environment)
                row["ms"] = f"{ms:.6g}"
            except Failed as error:
                row["error"] = str(error)
            row["seconds"] = f"{time.monotonic() - start:.1f}"
            rows.append(row)
            writer.writerow(row)
            file.flush()
            print("  ".join(f"{row.get(name, '')}" for name in FIELDS), file=sys.stderr, flush=True)
    print(table(rows))
    return 1 if any(row["error"] for row in rows) else 0


def turns(args: argparse.Namespace) -> list[tuple[str, str, int]]:
    """(workload, `ours` or PyTorch's mode, turn)."""
    order = []
    for workload in args.workloads:
        left_out = [word for word, wanted in (("compiled", args.compiled), ("autocast", args.bf16)) if not wanted]
        modes = [m for m in WORKLOADS[workload].modes if not any(word in m for word in left_out)]
        modes = [m for m in modes if not args.modes or any(m.startswith(wanted) for wanted in args.modes)]
        for turn in range(args.turns):
            order += [(workload, mode, turn) for mode in ["ours", *modes]]
    return order


def wait_until_idle(wanted: float, patience: float) -> float:
    """Waits for a second of which at least the share `wanted` was idle; gives the share of the last one."""
    end = time.monotonic() + patience
    while True:
        share = idle_share()
        if share >= wanted or time.monotonic() > end:
            return share


def idle_share() -> float:
    """The share of the next second in which the machine's processors do nothing."""

    def times() -> list[int]:
        with open("/proc/stat") as file:
            return [int(value) for value in file.readline().split()[1:9]]

    before = times()
    time.sleep(1)
    spent = [b - a for a, b in zip(before, times())]
    return (spent[3] + spent[4]) / max(sum(spent), 1)


def ours(args: argparse.Namespace, work: Path, workload: str, environment: dict[str, str]) -> float:
    """One run of one cell of beside.toml, in ms."""
    command = [os.path.abspath(args.program), "run", "experiments/beside.toml", "--fresh", "--no-report", "--only", f"variant={workload}", *TEXT]
    for setting in args.set:
        command += ["--set", setting]
    run(command, work, args.each, environment)
    with open(work / "reports/beside/blocks.csv", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["variant"] == workload and line["status"] == "done"]
    if not lines:
        raise Failed("no run is done")
    column = WORKLOADS[workload].column
    value = float(lines[-1][column])
    return 1e3 * value if column.endswith("_s") else value


def theirs(args: argparse.Namespace, work: Path, workload: str, mode: str, environment: dict[str, str]) -> float:
    """The same in PyTorch, in a process of its own, in ms."""
    command = [sys.executable, str(HERE / "peers.py")]
    if WORKLOADS[workload].declared:
        model = work / f"{workload}.json"
        data = ["--set", f'train.dataset="{WORKLOADS[workload].declared}"']
        listed = [os.path.abspath(args.program), "list", "model", "experiments/beside.toml", workload, *TEXT, *data, "--format", "json"]
        model.write_text(run(listed, work, args.each, environment))
        command = [sys.executable, str(HERE / "layers.py"), "bench", str(model)]
    command += WORKLOADS[workload].modes[mode]
    line = json.loads(run(command, ROOT, args.each, environment).strip().splitlines()[-1])
    return float(line[WORKLOADS[workload].theirs])


def run(command: list[str], folder: Path, limit: float, environment: dict[str, str]) -> str:
    """What the command prints."""
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"longer than {limit:.0f} s") from None
    except OSError as error:
        raise Failed(str(error)) from None
    if ended.returncode != 0:
        said = [line for line in (ended.stderr + ended.stdout).splitlines() if line.strip()] or ["nothing said"]
        raise Failed(f"exit code {ended.returncode}: {said[-1].strip()[:200]}")
    return ended.stdout


def table(rows: list[dict[str, str]]) -> str:
    """A line a workload and mark: medians, the best of PyTorch's modes, the ratio and its interval."""
    lines = ["workload | ours ms | PyTorch ms | its best mode | ours / PyTorch | 95 % | mark | n"]
    for workload in dict.fromkeys(row["workload"] for row in rows):
        values: dict[str, list[float]] = {}
        for row in rows:
            if row["workload"] == workload and not row["error"]:
                values.setdefault(row["mode"], []).append(float(row["ms"]))
        own = values.pop("ours", [])
        for kind, mark in WORKLOADS[workload].marks.items():
            modes = {mode: times for mode, times in values.items() if mode.startswith(kind)}
            if not own or not modes:
                lines.append(f"{workload} | none")
                continue
            best = min(modes, key=lambda mode: statistics.median(modes[mode]))
            low, high = interval(own, modes[best])
            ratio = statistics.median(own) / statistics.median(modes[best])
            figures = [f"{statistics.median(own):.4g}", f"{statistics.median(modes[best]):.4g}", best]
            figures += [f"{ratio:.3f}", f"{low:.3f}–{high:.3f}", f"≤ {mark}", f"{len(own)}"]
            lines.append(" | ".join([workload, *figures]))
    return "\n".join(lines)


def interval(own: list[float], other: list[float]) -> tuple[float, float]:
    """Percentiles of the ratio of medians over 2,000 drawings with replacement."""
    chance = random.Random(7)

    def drawn(values: list[float]) -> float:
        return statistics.median(chance.choices(values, k=len(values)))

    ratios = sorted(drawn(own) / drawn(other) for _ in range(2000))
    return ratios[50], ratios[-51]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; all without any")
    parser.add_argument("--program", default=str(ROOT / "target/release/fieldtrial"))
    parser.add_argument("--work", default=str(ROOT / "target/beside/work"), help="folder for results and data")
    parser.add_argument("--out", default=str(ROOT / "target/beside.csv"), help="the CSV file to write")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--modes", nargs="*", default=[], help="only PyTorch's modes that begin so: eager, channels_last, manual …")
    parser.add_argument("--compiled", action="store_true", help="torch.compile too: minutes for a first step, until torch has kept what it compiled")
    parser.add_argument("--bf16", action="store_true", help="ours in bf16, and PyTorch's autocast to bf16 too")
    parser.add_argument("--vector", choices=["best", "avx2"], default="best", help="avx2 limits both sides; build ours without `x86-v4`")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="a setting of our runs")
    parser.add_argument("--idle", type=float, default=0.85, help="share of a second that must be idle before a measurement")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for that")
    parser.add_argument("--each", type=float, default=600.0, help="seconds for one measurement")
    args = parser.parse_args()
    unknown = [name for name in args.workloads if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {unknown[0]}; there are {', '.join(WORKLOADS)}")
    args.workloads = args.workloads or list(WORKLOADS)
    if args.bf16:
        args.set.append('train.precision="bf16"')
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    return args


if __name__ == "__main__":
    raise SystemExit(main())
