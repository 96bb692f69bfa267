"""Reads the detailed files (profile, trace, TensorBoard) that `fieldtrial run` writes.

Runs a small experiment in a temporary folder, then

* reads `tensorboard/` by TensorBoard's own EventAccumulator and holds every scalar against the CSV files,
* holds `trace/*.json` against the trace-event format: fields, names of lanes, nesting on each.

    python3 -m venv target/venv && target/venv/bin/pip install tensorboard
    target/venv/bin/python tests/closer.py
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy
import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = Path(__file__).resolve().parent.parent
PHASES = ["data_wait", "transfer", "forward", "loss", "backward", "optimizer", "other"]


def run(folder, command):
    manifest = folder / "experiments" / "quickstart.toml"
    manifest.parent.mkdir()
    shutil.copy(ROOT / "experiments" / "quickstart.toml", manifest)
    switches = ["--set", "measure.tensorboard=true", "--set", "measure.ops=true"]
    subprocess.run([*command, "run", str(manifest), *switches], cwd=ROOT, check=True)
    return folder / "reports" / "quickstart"


def rows(results, name):
    with open(results / name, newline="") as file:
        return list(csv.DictReader(file))


def single(text):
    """Event files hold numbers in single precision."""
    return float(numpy.float32(text))


def agree(found, expected):
    """The same steps; values to one rounding, as the CSV files have nine digits of a double."""
    return [step for step, _ in found] == [step for step, _ in expected] and all(
        abs(a - b) <= 1.2e-7 * abs(b) for (_, a), (_, b) in zip(found, expected)
    )


def scalars(accumulator, tag):
    return [(event.step, event.value) for event in accumulator.Scalars(tag)]


def check_run(accumulator, block, steps, epochs):
    expected = [(int(s["step"]), single(s["loss"])) for s in steps if s["loss"]]
    assert agree(scalars(accumulator, "loss/step"), expected), block["key"]
    last = {}
    for step in steps:
        last[step["epoch"]] = int(step["step"])
    for tag, column in [("loss/epoch", "train_loss"), ("learning-rate", "lr"), ("validation/val_loss", "val_loss")]:
        expected = [(last[e["epoch"]], single(e[column])) for e in epochs if e[column]]
        assert agree(scalars(accumulator, tag), expected), (block["key"], tag)
    for column in ["throughput/samples_per_s", "throughput/step_ms", *[f"phases/{phase}_ms" for phase in PHASES]]:
        [(step, value)] = scalars(accumulator, column)
        shown = float(block[column.split("/")[1]])
        assert step == len(steps) - 1 and abs(value - shown) <= 1e-5 * abs(shown), (column, value, shown)
    return sum(len(scalars(accumulator, tag)) for tag in accumulator.Tags()["scalars"])


def check_tensorboard(results):
    by_run, count = defaultdict(list), 0
    for step in rows(results, "steps.csv"):
        by_run[step["key"], step["seed"], step["block"]].append(step)
    blocks = rows(results, "blocks.csv")
    assert len(list(results.glob("tensorboard/*/*/events.*"))) == len(blocks) > 0
    for block in blocks:
        folder = results / "tensorboard" / block["key"] / f"seed-{block['seed']}-block-{block['block']}"
        accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        accumulator.Reload()
        epochs = [e for e in rows(results, "epochs.csv") if (e["key"], e["seed"]) == (block["key"], block["seed"])]
        count += check_run(accumulator, block, by_run[block["key"], block["seed"], block["block"]], epochs)
    print(f"TensorBoard {tensorboard.__version__} read {count} scalars of {len(blocks)} runs; all are those of the CSV files")


def check_trace(path):
    trace = json.loads(path.read_text(), parse_constant=lambda name: sys.exit(f"{path}: {name} is no JSON"))
    assert set(trace) == {"displayTimeUnit", "otherData", "traceEvents"} and trace["displayTimeUnit"] == "ms"
    events = trace["traceEvents"]
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == [trace["otherData"]["cell"]]
    open_until = defaultdict(list)
    for event in events:
        fields = {"X": {"cat", "dur"}, "M": set(), "C": set()}[event["ph"]]
        assert set(event) == {"name", "ph", "pid", "tid", "ts", "args"} | fields, event
        assert event["name"] and event["ts"] >= 0 and isinstance(event["pid"], int)
        if event["ph"] != "X":
            continue
        assert event["tid"] in named and event["dur"] >= 0, event
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        stack = open_until[event["tid"]]
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1], f"{path}: {event} does not nest"
        stack.append(end)
    lanes = [named[tid] for tid in sorted(named)]
    assert lanes[:3] == ["steps", "phases", "operations"], lanes
    return sum(event["ph"] == "X" for event in events)


def check_traces(results):
    traces = sorted(results.glob("trace/*.json"))
    runs = {(block["key"], block["seed"]) for block in rows(results, "blocks.csv") if block["block"] == "0"}
    assert len(traces) == len(runs), traces
    spans = sum(map(check_trace, traces))
    print(f"{len(traces)} traces with {spans} spans are in the trace-event format")


def main():
    command = sys.argv[1:] or ["cargo", "run", "--release", "--quiet", "--"]
    with tempfile.TemporaryDirectory() as folder:
        results = run(Path(folder), command)
        check_tensorboard(results)
        check_traces(results)


main()
