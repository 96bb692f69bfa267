"""Reads results of `fieldtrial run` for the GPU check: are all runs done, do two of them agree?

    python3 tests/gpu/results.py done FOLDER                 every row is done, not chosen or not possible; one at least
    python3 tests/gpu/results.py curve CPU CUDA PERCENT OUT  losses of the steps, side by side
    python3 tests/gpu/results.py same ONE OTHER              checksums of the weights
    python3 tests/gpu/results.py statuses FOLDER STATUS …    how many rows ended in each way; one of each is wanted
    python3 tests/gpu/results.py kernels NCU.csv             the kernels of one step by their time, of Nsight Compute's CSV
    python3 tests/gpu/results.py columns FILE NAME …         these columns of a CSV file, after the key
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from pathlib import Path

Row = dict[str, str]


def main() -> int:
    commands = {"done": done, "curve": curve, "same": same, "statuses": statuses, "kernels": kernels, "columns": columns}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        print(__doc__)
        return 2
    return commands[sys.argv[1]](*sys.argv[2:])


def rows(folder: str, name: str) -> list[Row]:
    with open(Path(folder) / name, newline="") as file:
        return list(csv.DictReader(file))


def columns(file: str, *names: str) -> int:
    for row in rows(".", file):
        print(row["key"], *(f"{name}={row[name]}" for name in names))
    return 0


def done(folder: str) -> int:
    """Cells that were not chosen (`not-run`) or that the reduced sizes rule out (`infeasible`) count for nothing."""
    all_rows = rows(folder, "runs.csv")
    finished = [row for row in all_rows if row["status"] == "done"]
    wrong = [row for row in all_rows if row["status"] not in ("done", "not-run", "infeasible")]
    for row in wrong:
        print(f"{row['key']}: {row['status']}: {row['reason']}")
    for row in rows(folder, "blocks.csv"):
        if row["status"] == "done":
            print(f"{row['key']}: {row['step_ms']} ms a step, {row['samples_per_s']} samples/s, {row['numeric_class']}")
    print(f"{len(finished)} done, {len(wrong)} wrong")
    return 0 if finished and not wrong else 1


def curve(cpu: str, cuda: str, percent: str, out: str) -> int:
    """The largest deviation of the loss, relative to the CPU's, over all steps of the first run of each."""
    sides = [[float(row["loss"]) for row in rows(folder, "steps.csv")] for folder in (cpu, cuda)]
    if len(sides[0]) != len(sides[1]) or not sides[0]:
        print(f"{len(sides[0])} steps on the CPU, {len(sides[1])} on the GPU")
        return 1
    deviations = [abs(ours - reference) / abs(reference) for reference, ours in zip(*sides)]
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "cpu", "cuda", "relative_deviation"])
        writer.writerows(zip(range(len(deviations)), *sides, deviations))
    most = max(deviations)
    print(f"first losses {sides[0][0]:.9g} (CPU) and {sides[1][0]:.9g} (GPU), last {sides[0][-1]:.6g} and {sides[1][-1]:.6g}")
    at = deviations.index(most)
    print(f"largest deviation over {len(deviations)} steps: {100 * most:.4f} % at step {at}; at most {percent} % is wanted")
    return 0 if most <= float(percent) / 100 else 1


def same(one: str, other: str) -> int:
    sides = [{row["key"]: row for row in rows(folder, "runs.csv") if row["status"] == "done"} for folder in (one, other)]
    if not sides[0] or sides[0].keys() != sides[1].keys():
        print(f"cells that are done: {sorted(sides[0])} and {sorted(sides[1])}")
        return 1
    differ = 0
    for key, row in sides[0].items():
        checksums = row["weight_checksum"], sides[1][key]["weight_checksum"]
        is_same = checksums[0] == checksums[1]
        differ += not is_same
        print(f"{key}: {checksums[0][:16]} {'=' if is_same else '≠ ' + checksums[1][:16]}")
    print(f"{len(sides[0]) - differ} cells with equal weights, {differ} with others")
    return 1 if differ else 0


def statuses(folder: str, *wanted: str) -> int:
    found = rows(folder, "runs.csv")
    for row in found:
        print(f"{row['key']}: {row['status']} {row['reason']}")
    counts = Counter(row["status"] for row in found)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return 0 if all(counts[status] for status in wanted) else 1


def kernels(file: str) -> int:
    """A step is the launches from one first kernel of the optimizer to the next; without two of those, all that was read."""
    with open(file, newline="") as lines:
        table = csv.DictReader(line for line in lines if not line.startswith("=="))
        unit = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0}
        launches = [
            (re.sub(r"[<(].*", "", row["Kernel Name"]), unit[row["Metric Unit"]] * float(row["Metric Value"].replace(",", "")))
            for row in table
            if row.get("Metric Name") == "gpu__time_duration.sum"
        ]
    starts = [at for at, (name, _) in enumerate(launches) if name == "update_adam_many"]
    if len(starts) > 1:
        launches = launches[starts[0] : starts[1]]
    times: dict[str, list[float]] = {}
    for name, milliseconds in launches:
        times.setdefault(name, []).append(milliseconds)
    total = sum(map(sum, times.values()))
    whole = "one step" if len(starts) > 1 else "no whole step"
    print(f"{Path(file).stem}: {whole}, {len(launches)} kernels, {total:.3f} ms")
    for name, each in sorted(times.items(), key=lambda item: -sum(item[1]))[:40]:
        print(f"{sum(each):9.3f} ms {100 * sum(each) / total:5.1f} % {len(each):4} × {name}")
    return 0 if launches else 1


if __name__ == "__main__":
    raise SystemExit(main())
