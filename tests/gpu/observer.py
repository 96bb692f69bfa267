"""The observer of PyTorch programs on a GPU: what it costs a step, and whether its phases are those measured by hand.

A CNN with a DataLoader is trained plain and observed in turns; once more observed with its phases also measured by hand, synchronising
at their ends: both see the same steps, since two processes differ by more than 3 %.

    python3 tests/gpu/observer.py [--device cpu] [--turns N] [--steps N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# By phase: the marks of a step at its beginning and at its end.
MARKS = {"data_wait": (0, 1), "forward": (2, 3), "backward": (4, 5), "optimizer": (5, 6)}
# The observer's settings: phases of 20 steps, after the 20 first.
PHASE_STEPS = 20
MEASURED = slice(20, 20 + PHASE_STEPS)
OBSERVER = Path(__file__).resolve().parents[2] / "src/engine/program/observe"


def train(args: argparse.Namespace) -> None:
    """The program that is observed; prints its own figures as JSON."""
    import time

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    # The same bits in every run, so that those of an observed one can be compared.
    torch.backends.cudnn.deterministic = True
    device = torch.device(args.device)
    on_gpu = device.type == "cuda"
    images = torch.randn(args.steps * args.batch, 3, 32, 32)
    labels = torch.randint(0, 10, (len(images),))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=args.batch, pin_memory=on_gpu)
    width = args.width
    layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU()]
    for _ in range(args.depth):
        layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def now() -> float:
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter()

    losses, phases, ends = [], {name: [] for name in MARKS}, []
    for _ in range(args.epochs):
        iterator, marks = iter(loader), []
        while True:
            if args.by_hand:
                marks = [now()]
            try:
                batch, target = next(iterator)
            except StopIteration:
                break
            if args.by_hand:
                marks.append(now())
            batch, target = batch.to(device, non_blocking=True), target.to(device, non_blocking=True)
            if args.by_hand:
                marks.append(now())
            output = model(batch)
            if args.by_hand:
                marks.append(now())
            loss = F.cross_entropy(output, target)
            optimizer.zero_grad()
            if args.by_hand:
                marks.append(now())
            loss.backward()
            if args.by_hand:
                marks.append(now())
            optimizer.step()
            if args.by_hand:
                marks.append(now())
                for name, (begin, end) in MARKS.items():
                    phases[name].append(1e3 * (marks[end] - marks[begin]))
            losses.append(loss.detach())
        ends.append(now())
    # The first epoch warms up.
    count = args.steps * (args.epochs - 1)
    ms = 1e3 * (ends[-1] - ends[0]) / count
    # Those steps that the observer measures: on a CPU all but those of the start.
    measured = MEASURED if on_gpu else slice(1, None)
    by_hand = {name: statistics.mean(values[measured]) for name, values in phases.items() if values}
    print(json.dumps({"ms": ms, "phases": by_hand, "losses": torch.stack(losses).double().sum().item()}))


def ran(args: argparse.Namespace, kind: str) -> tuple[dict, list[dict]]:
    """What the program prints, and the events of the observer."""
    folder = Path(tempfile.mkdtemp())
    environment = dict(os.environ)
    command = [sys.executable, __file__, "--train", "--device", args.device, "--steps", str(args.steps), "--batch", str(args.batch)]
    command += ["--width", str(args.width), "--depth", str(args.depth), "--epochs", str(args.epochs)]
    if kind != "plain":
        for file in OBSERVER.glob("*.py"):
            shutil.copy(file, folder)
        (folder / "settings.json").write_text(json.dumps({"phase_steps": PHASE_STEPS, "operations": 0}))
        (folder / "events").touch()
        environment |= {"PYTHONPATH": str(folder), "FIELDTRIAL_OBSERVE": str(folder), "FIELDTRIAL_EVENTS": str(folder / "events")}
    if kind == "by hand":
        command.append("--by-hand")
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ended.returncode:
        raise SystemExit(f"{kind}: {ended.stderr[-2000:]}")
    events = folder / "events"
    told = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    shutil.rmtree(folder)
    return json.loads(ended.stdout.splitlines()[-1]), told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    for name, value in {"turns": 2, "steps": 300, "epochs": 3, "batch": 32, "width": 32, "depth": 6}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--by-hand", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(args)
        return 0
    plain, observed, told, sums = [], [], [], set()
    for turn in range(args.turns):
        for kind in ("plain", "observed") if turn % 2 == 0 else ("observed", "plain"):
            printed, events = ran(args, kind)
            (plain if kind == "plain" else observed).append(printed["ms"])
            print(f"turn {turn}, {kind}: {printed['ms']:.4f} ms a step; {[event for event in events if event['event'] == 'phases']}", flush=True)
            sums.add(printed["losses"])
            told = events or told
    by_hand, told_by_hand = ran(args, "by hand")
    costs = [seen - own for own, seen in zip(plain, observed)]
    print(f"a step: plain {statistics.median(plain):.4f} ms, observed {statistics.median(observed):.4f} ms")
    print(f"cost of observing: {1e3 * statistics.median(costs):.1f} µs a step (median of {len(costs)} pairs), {sorted(round(1e3 * cost, 1) for cost in costs)}")
    print("the same losses" if len(sums) == 1 else f"losses differ: {sums}")
    steps = [ms for event in told if event["event"] == "steps" for ms in event["ms"] if ms is not None]
    print(f"{len(steps)} timed steps, median {statistics.median(steps):.4f} ms")
    phases = [event for event in told_by_hand if event["event"] == "phases" and event.get("steps")]
    count = sum(event["steps"] for event in phases)
    for name, value in by_hand["phases"].items():
        observed_ms = sum(event["ms"][name] * event["steps"] for event in phases) / count
        print(f"{name}: observed {observed_ms:.4f} ms, by hand {value:.4f} ms ({observed_ms - value:+.4f} ms, {100 * (observed_ms / value - 1):+.1f} %)")
    print(f"in {count} steps")
    for event in told:
        if event["event"] in ("memory", "warning"):
            print(event)
    return 0 if len(sums) == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
