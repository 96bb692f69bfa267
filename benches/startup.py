"""Where the milliseconds around a training run go: `fieldtrial run` of a small manifest, timed from outside by strace.

    python3 benches/startup.py [--program target/release/fieldtrial] [--runs 20]

Prints the median and the range over the runs, in ms since `fieldtrial run` was executed, of: the worker's own start, its
greeting, the end of its start-up (`started`), the beginning and the end of its first training step (an epoch has one
step; before and after it the peak of memory is put back, the third and the fourth time since `started`), its last word,
the stored result (the rename into `.store/runs`), and the end of the program; then the two figures that count: from
`run` to the end of the first step, and what a run costs beside training, from its worker's start to its stored result. strace stops the programs at a dozen
system calls only (seccomp-bpf); what that costs is in the figures. Needs strace 5.3; nothing else runs meanwhile.
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
[measure]
seeds = [42]
"""

MARKS = [
    ("worker executed", re.compile(r'execve\(.*\["[^"]*", "worker"\]')),
    ("worker greets", re.compile(r'write\(\d+, "\{\\"event\\":\\"hello')),
    ("start-up over", re.compile(r'write\(\d+, "\{\\"event\\":\\"started')),
    ("worker finished", re.compile(r'write\(\d+, "\{\\"event\\":\\"finished')),
    ("result stored", re.compile(r'rename\w*\(.*\.store/runs/')),
]


def once(program: Path, manifest: Path, trace: Path) -> dict[str, float]:
    calls = "trace=execve,write,rename,renameat,renameat2,exit_group"
    strace = ["strace", "-f", "--seccomp-bpf", "-ttt", "-s", "40", "-e", calls, "-e", "signal=none", "-o", str(trace)]
    run = [str(program), "run", str(manifest), "--fresh", "--no-report"]
    subprocess.run(strace + run, check=True, capture_output=True)
    lines = [line.split(maxsplit=2) for line in trace.read_text().splitlines()]
    begin = float(lines[0][1])
    found: dict[str, float] = {}
    resets: list[float] = []
    for _, at, call in lines:
        for name, pattern in MARKS:
            if name not in found and pattern.search(call):
                found[name] = 1e3 * (float(at) - begin)
        if "start-up over" in found and call.endswith('"5", 1) = 1'):
            resets.append(1e3 * (float(at) - begin))
    found["first step begins"], found["first step over"] = resets[2:4]
    found["program over"] = 1e3 * (float(lines[-1][1]) - begin)
    return found


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
        program = options.program.resolve()
        once(program, manifest, Path(folder) / "trace")  # warm: pages of the program, the folder of results
        runs = [once(program, manifest, Path(folder) / "trace") for _ in range(options.runs)]
    figures = {name: [run[name] for run in runs] for name in runs[0]}
    figures["= run to first step"] = figures["first step over"]
    figures["= overhead of a run"] = [
        (run["first step begins"] - run["worker executed"]) + (run["result stored"] - run["first step over"])
        for run in runs
    ]
    for name, values in figures.items():
        print(f"{name:20} {statistics.median(values):7.2f} ms  ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
