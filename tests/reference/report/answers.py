"""Recomputes the answers of the committed reports from their CSV files, with nothing but Python's own library.

Usage: python3 tests/reference/report/answers.py [REPORTS]. Prints each figure beside the answer that has it, and ends with 1 where
one is not in its page.
"""

import csv
import itertools
import math
import pathlib
import statistics
import sys

REPORTS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "reports")
missing = []


def rows(name, file):
    with open(REPORTS / name / file, newline="") as table:
        return list(csv.DictReader(table))


def answer(name, page="report.md"):
    text = (REPORTS / name / page).read_text()
    return text.split("## Answer")[1].split("![")[0].split("\n## ")[0]


def check(name, what, figure, page="report.md"):
    is_there = figure in answer(name, page)
    print(f"{'ok     ' if is_there else 'MISSING'} {name}: {what}: {figure}")
    if not is_there:
        missing.append((name, what, figure))


def by(table, *keys, value):
    groups = {}
    for row in table:
        if row.get("status", "done") == "done" and row[value] != "":
            groups.setdefault(tuple(row[key] for key in keys), []).append(float(row[value]))
    return groups


def mann_whitney(one, other):
    """Exact two-sided p-value by enumeration, mid-ranks for ties."""
    both = sorted(one + other)
    rank = {v: statistics.mean(i + 1 for i, w in enumerate(both) if w == v) for v in set(both)}
    ranks = [rank[v] for v in one + other]
    middle = len(one) * (len(both) + 1) / 2
    seen = abs(sum(ranks[: len(one)]) - middle)
    sums = [abs(sum(c) - middle) for c in itertools.combinations(ranks, len(one))]
    return sum(s >= seen - 1e-9 for s in sums) / len(sums)


def holm(ps):
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, worst = [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        worst = max(worst, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = worst
    return adjusted


def needed(others):
    n = 1
    while 2 / math.comb(2 * n, n) > 0.05 / others:
        n += 1
    return n


def dominates(one, other):
    return one != other and all(a <= b for a, b in zip(one, other))


def exponent(points):
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def main():
    # ddpm: throughput by batch size and workers.
    found = by(rows("ddpm", "blocks.csv"), "batch_size", "workers", value="samples_per_s")
    best = max(found, key=lambda cell: statistics.median(found[cell]))
    check("ddpm", "fastest seen", f"batch-size {best[0]}, workers {best[1]}")
    check("ddpm", "needed", f"{len(found[best])} runs per cell, {needed(len(found) - 1)} are needed")
    overlap = [c for c in found if c != best and max(found[c]) >= min(found[best])]
    check("ddpm", "overlapping", f"{len(overlap)} ranges overlap")

    # digits: test accuracy over seeds, Mann-Whitney against the best, Holm.
    found = by(rows("digits", "runs.csv"), "variant", "workers", "persistent", value="test_accuracy")
    best = max(found, key=lambda cell: statistics.median(found[cell]))
    others = [cell for cell in found if cell != best]
    ps = holm([mann_whitney(found[best], found[cell]) for cell in others])
    alike = sum(p > 0.05 for p in ps)
    check("digits", "highest accuracy", f"{statistics.median(found[best]):.4f}")
    check("digits", "not distinguishable", f"{alike} cells are not distinguishable" if alike != 1 else "1 cell is not")

    # quickstart, mlp-scaling: exponents of the epoch time.
    for name, keep in [("quickstart", lambda row: True), ("mlp-scaling", lambda row: row["matrix"] != "curved")]:
        table = [row for row in rows(name, "timings.csv") if keep(row)]
        column = "datasets_linear_samples"
        points = [(float(r[column]), float(r["epoch_s"])) for r in table if r[column] and r["epoch_s"]]
        check(name, "exponent of an epoch", f"power of {exponent(points):.2f} (")

    # architectures: the Pareto front of accuracy and FLOPs.
    found = by(rows("architectures", "runs.csv"), "model", "variant", value="val_accuracy")
    flops = by(rows("architectures", "runs.csv"), "model", "variant", value="flops_forward_per_sample")
    points = {c: (statistics.median(found[c]), flops[c][0]) for c in found}
    front = [
        c
        for c, (accuracy, cost) in points.items()
        if not any(a >= accuracy and f <= cost and (a, f) != (accuracy, cost) for a, f in points.values())
    ]
    check("architectures", "front", f"{len(front)} of {len(points)} are on the Pareto front")

    # detector: the ratio of times per sample, from the medians of the runs.
    found = by(rows("detector", "blocks.csv"), "variant", value="step_ms")
    ratio = statistics.median(found[("after",)]) / statistics.median(found[("before",)])
    check("detector", "times", f"{ratio:.3g}×", "comparison.en.md")

    # searches: the best value, and the size of each front.
    done = [row for row in rows("detector-search", "runs.csv") if row["status"] == "done" and row["best_loss"]]
    plain = [row for row in done if row["trial"].isdigit()]
    check("detector-search", "lowest loss", f"{min(float(row['best_loss']) for row in plain):.5g}")
    reached = {}
    for row in rows("digits-search", "epochs.csv"):
        if row["test_accuracy"] and float(row["test_accuracy"]) >= 0.9:
            reached.setdefault((row["key"], row["seed"]), int(row["epoch"]))
    fronts = {}
    for row in rows("digits-search", "runs.csv"):
        if row["trial"].isdigit() and row["status"] == "done":
            share = (int(row["best_epoch"]) + 1) / int(row["epochs"]) * int(row["samples"])
            flops = float(row["flops_forward_per_sample"]) + float(row["flops_backward_per_sample"])
            losses = (
                -float(row["best_test_accuracy"]),
                flops * share,
                int(row["parameters"]),
                reached.get((row["key"], row["seed"]), int(row["epochs"])),
            )
            fronts.setdefault(row["variant"], set()).add(losses)
    fronts = {study: [p for p in points if not any(dominates(q, p) for q in points)] for study, points in fronts.items()}
    for study, front in fronts.items():
        best = min(front)
        check("digits-search", f"{study}, best", f"Highest best test accuracy {-best[0]:.5g}")
        check("digits-search", f"{study}, front", f"{len(front)} of 40 trials are on the Pareto front")
    free = {
        study: sum(not any(dominates(q, p) for other in fronts if other != study for q in fronts[other]) for p in front)
        for study, front in fronts.items()
    }
    most = max(free, key=free.get)
    check("digits-search", "winner", f"{most}, with {free[most]} points of its Pareto front that no trial of another study dominates, against {min(free.values())}")

    # paths: the fastest cell of each task that the answer names, and the runs that a verdict needs.
    found = by(rows("paths", "blocks.csv"), "matrix", "variant", value="step_ms")
    tasks = ([("speed-a", "a1"), ("speed-b", "b3")], [("speed-b-kernel", "b2"), ("speed-a", "a3")], [("phases-a", "a1"), ("phases-b", "b3")])
    for task in tasks:
        best = min(task, key=lambda cell: statistics.median(found[cell]))
        value = statistics.median(found[best])
        check("paths", f"fastest of {task}", f"Fastest seen: {', '.join(best)}, {value:.3g}")
    if missing:
        sys.exit(f"{len(missing)} figures are not in their pages")


main()
