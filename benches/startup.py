"""Times the phases around a training run: `fieldtrial run` of a small manifest, recorded by the kernel's tracepoints.

    python3 benches/startup.py [--program target/release/fieldtrial] [--runs 20] [--folder FOLDER]

Every `run` does two training runs, of seeds of their own, so that none is kept. Prints the median and the range, in ms
since `fieldtrial run` was executed, of the first one's: own start, greeting, end of start-up (data, model, weights), beginning and end of its only training step (before and after training
the peak of memory is put back: the third and the fourth single byte since the start-up's end), last word, and stored
result (the line about it is written next); and of the end of the program. Then the two figures that count: from `run` to
the end of the first step, and what a run costs beside training, from the second worker's start to its stored result. Evaluations before and after training are in both.

FOLDER is where the manifest lies: one in a git repository has its files looked at. perf (Linux, root or
`kernel.perf_event_paranoid=-1`) notes times without stopping anybody.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

MANIFEST = """
name = "start"
[models.mlp]
kind = "mlp"
hidden = 64
depth = 3
[datasets.linear]
kind = "regression-5d"
target = "linear"
samples = {samples}
[matrix]
model = ["mlp"]
dataset = ["linear"]
[train]
epochs = 1
batch-size = 256
steps-per-epoch = 1
optimizer = {{ kind = "adamw", lr = 1e-3, weight-decay = 1e-6 }}
"""

LINE = re.compile(r"\s(?P<pid>\d+) \[\d+\]\s+(?P<at>[\d.]+): (?P<event>\S+) (?P<rest>.*)")
WRITE = re.compile(r"fd: (\w+), .*count: (\w+)")
EVENTS = ["syscalls:sys_enter_write", "sched:sched_process_exec", "sched:sched_process_exit"]


def once(program: Path, manifest: Path, seed: int) -> dict[str, float]:
    trace = manifest.with_suffix(".trace")
    perf = ["perf", "record", "-q", "-o", str(trace)] + [part for event in EVENTS for part in ("-e", event)]
    run = [str(program), "run", str(manifest), "--no-report", "--set", f"measure.seeds=[{seed}, {seed + 1}]"]
    subprocess.run(perf + run, check=True, capture_output=True)
    text = subprocess.run(["perf", "script", "-i", str(trace)], check=True, capture_output=True, text=True).stdout
    lines = [match for match in map(LINE.search, text.splitlines()) if match]
    started = [line for line in lines if line["event"].startswith("sched:sched_process_exec") and program.name in line["rest"]]
    parent = started[0]["pid"]
    begin = float(started[0]["at"])
    at = lambda line: 1e3 * (float(line["at"]) - begin)  # noqa: E731
    written = [(line["pid"], at(line), *(int(n, 16) for n in WRITE.search(line["rest"]).groups())) for line in lines if "sys_enter_write" in line["event"]]
    ended = [at(line) for line in lines if line["event"].startswith("sched:sched_process_exit") and line["pid"] == parent]
    first, second = (training_run(written, parent, worker["pid"]) for worker in started[1:3])
    executed = at(started[2])
    return {
        "worker executed": at(started[1]),
        **first,
        "program over": ended[-1],
        "= run to first step": first["first step over"],
        "= overhead of a run": (second["first step begins"] - executed) + (second["result stored"] - second["first step over"]),
    }


def training_run(written: list[tuple[str, float, int, int]], parent: str, worker: str) -> dict[str, float]:
    told = [time for pid, time, fd, size in written if pid == worker and fd == 3 and size > 1]
    resets = [time for pid, time, _, size in written if pid == worker and size == 1 and time > told[1]]
    shown = [time for pid, time, fd, _ in written if pid == parent and fd == 2 and time > told[-1]]
    return {
        "worker greets": told[0],
        "start-up over": told[1],
        "first step begins": resets[2],
        "first step over": resets[3],
        "worker's last word": told[-1],
        "result stored": shown[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=Path("target/release/fieldtrial"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the manifest lies; a temporary folder without it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        manifest = Path(folder) / "start.toml"
        manifest.write_text(MANIFEST.format(samples=options.samples))
        (Path(folder) / "reports").mkdir()
        program = options.program.resolve()
        once(program, manifest, 0)  # warm-up: the program's pages, the results folder
        runs = [once(program, manifest, seed) for seed in range(2, 2 * options.runs + 1, 2)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"{name:20} {statistics.median(values):7.2f} ms  ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
