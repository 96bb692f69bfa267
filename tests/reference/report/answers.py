"""Recomputes every figure of the answers of the committed pages from the CSV files beside them, by pandas and SciPy.

pip install pandas==3.1.1 scipy==1.17.1; python tests/reference/report/answers.py > tests/reference/report/answers.md

A figure is equal where the value from the files, rounded to the printed digits, is the printed one. Bootstrap intervals are those
of timings.csv and recommendations.csv. A paragraph that no function knows is an error, and so is a number that none holds against the
files.
"""

import re
import sys
from pathlib import Path

import knees  # noqa: F401 (their functions add themselves to KINDS)
import pandas
import scipy
import searches  # noqa: F401
from check import KINDS, Check, Folder, against_best, holm, kind, needed, test_of

N = r"\(n = (\d+), Mann–Whitney(?:, Holm)?"


@kind(r"No cell is best by (.+) at once; (\d+) of (\d+) are on the Pareto front: (.+?)(?:; another is better by all than (.+))?\.$")
def front(c, names, on, of, told, dominated):
    columns = c.columns(names)
    points = {k: [c.cost(col, c.median(k, col)) for col in columns] for k in c.keys}
    on_front = [k for k in c.keys if not any(c.dominates(points[o], points[k]) for o in c.keys)]
    on_front.sort(key=lambda k: points[k])
    c.count("cells on the front", on, len(on_front))
    c.count("cells", of, len(c.keys))
    left = sorted((k for k in c.keys if k not in on_front), key=lambda k: points[k])
    for name, key in zip(dominated.split(", ") if dominated and len(left) == len(dominated.split(", ")) else [], left):
        c.is_named(name, key)
    told = told.split("; ")
    for text, key in zip(told, on_front):
        if more := re.match(r"and (\d+) more", text):
            c.count("more", more[1], len(on_front) - len(told) + 1)
            continue
        if " with " not in text:
            c.is_named(text, key)
            continue
        name, values = text.split(" with ")
        c.is_named(name, key)
        for column, value in zip(columns, values.split(" at ")):
            c.shown(value, key, column)


@kind(r"The data do not show which cell (?:is fastest|has the .+): (\d+)(?: to \d+)? (?:runs?|seeds?) per cell, (\d+) are needed\.$")
@kind(r"The front is that of medians over (\d+) values each; a test of a cell against all others needs (\d+)\.$")
def few(c, n, enough):
    c.count("n", n, min(len(c.values(k, c.decides[0])) for k in c.keys))
    c.count("n that a test needs", enough, needed(len(c.results(c.keys, c.decides[0])) - 1))


@kind(r"(?:Fastest|Best loss|(?:Highest|Lowest) .+?) seen: (.+?); (.+)\.$")
def seen(c, best, beside):
    column, order = c.decides[0], c.ranking(c.decides[0])
    c.cell(best, order[0])
    first = c.values(order[0], column)
    if beside.startswith("a single value"):
        return c.count("values of the best", "1", len(first))
    overlap = [k for k in order[1:] if c.values(k, column).max() >= first.min() and c.values(k, column).min() <= first.max()]
    number = {"no": 0, "one": 1}.get(beside.split()[0])
    c.count("ranges that overlap", beside.split()[0] if number is None else str(number), len(overlap))
    if len(overlap) == 1:
        c.cell(beside.split(": ", 1)[1], overlap[0])


@kind(r"(?:Fastest|Highest .+?|Lowest .+?): (.+?)\. (\d+) cells? (?:is|are) not distinguishable from it " + N + r"\), (.+?)(?:; behind it: (.+)|; (\d+) are behind it)?\.$")
def alike(c, best, number, n, other, names, behind):
    column, order = c.decides[0], c.ranking(c.decides[0])
    c.cell(best, order[0])
    # Cells of one result are one hypothesis.
    results = c.results(order, column)
    p = dict(zip(results, against_best([c.values(keys[0], column) for keys in results.values()], 0)))
    p = {key: p[values] for values, keys in results.items() for key in keys}
    same = [k for k in order[1:] if p[k] > 0.05]
    c.count("not distinguishable", number, len(same))
    left = [k for k in order[1:] if k not in same]
    c.count("behind", behind or str(len(names.split("; ")) if names else 0), len(left))
    for told, key in zip(names.split("; ") if names else [], left):
        c.cell(told, key)
    c.count("n", n, min(len(c.values(k, column)) for k in order))
    how = re.match(r"of these (fastest|lowest memory): |the next is ", other)
    rest = other[how.end():] if how else other
    by = {"fastest": c.pace, "lowest memory": c.memory}.get(how[1] if how else None)
    c.cell(rest, c.ranking(by(), same)[0] if by else same[0])


@kind(r"(?:Fastest|Highest .+?|Lowest .+?): (.+?); every other cell is behind it " + N + r", p ≤ (.+) by Holm\)\.$")
def alone(c, best, n, p):
    column, order = c.decides[0], c.ranking(c.decides[0])
    c.cell(best, order[0])
    c.count("n", n, min(len(c.values(k, column)) for k in order))
    results = [c.values(keys[0], column) for keys in c.results(order, column).values()]
    c.number("largest p", p, max(against_best(results, 0)[1:]))


@kind(r"(?:(?P<task>[^:]+): )?Fastest: (.+?); (.+) is behind it, (.+?) " + N + r", p = (.+)\)\.$")
def of_task(c, task, best, other, value, n, p):
    order = c.ranking(c.decides[0], c.task(task) if task else c.keys)
    c.cell(best, order[0])
    c.count("cells of the task", "2", len(order))
    c.is_named(other, order[1])
    c.shown(value, order[1], c.decides[0])
    values = [c.values(k, c.decides[0]) for k in order]
    c.count("n", n, min(map(len, values)))
    c.number("p", p, test_of(*values))


@kind(r"(Peak .+?|Step time|Throughput) is from (.+?) with (.+?) to (.+?) with (.+)\.$")
def between(c, name, least, small, most, large):
    column = c.memory() if name.startswith("Peak") else c.decides[0]
    order = sorted(c.keys, key=lambda k: c.median(k, column))
    for text, told, key in [(least, small, order[0]), (most, large, order[-1])]:
        # Any of the cells whose medians are equal in the three digits of timings.csv.
        alike = [k for k in order if f"{c.median(k, column):.3g}" == f"{c.median(key, column):.3g}"]
        key = next((k for k in alike if told in c.names(k)), key)
        c.is_named(told, key)
        c.shown(text, key, column)


@kind(r"A run takes from (.+?) with (.+?) to (.+?) with (.+)\.$")
def runs(c, *told):
    order = sorted(c.keys, key=lambda k: c.median(k, "wall_s"))
    for text, name, key in [(*told[:2], order[0]), (*told[2:], order[-1])]:
        c.is_named(name, key)
        c.spread("time of a run", text.replace(" s", ""), c.values(key, "wall_s"))


@kind(r"A run(?: of the best)? takes (\d+ min \d+ s|\S+ m?s)(?:; the largest part of a step is (.+), (\S+) %)?\.$")
def run(c, time, phase, share):
    key = c.best_trials()[0] if c.is_search else c.keys[0]
    c.seconds("time of a run", time, c.median(key, "wall_s"))
    if phase:
        shares = c.shares(key)
        c.same("largest phase", phase, shares.idxmax())
        c.number("its share", share, shares.max())


@kind(r"(.+) has (\S+) parameters and takes (.+) of training a sample\.$")
def size(c, name, parameters, flops):
    key = c.best_trials()[0] if c.is_search else c.keys[0] if name == "Its model" else c.ranking(c.decides[0])[0]
    if name != "Its model":
        c.is_named(name, key)
    row = c.rows(key).iloc[0]
    c.number("parameters", parameters, row.parameters, exact=True)
    c.shown_value(flops, row.flops_forward_per_sample + row.flops_backward_per_sample)


@kind(r"The best value is optimistic: it was chosen among (\d+) (cells|trials)(?: of up to (\d+) epochs each)? on the same (\w+) split"
      r"(?:; on the test split, which was used for no choice, its (.+?) is ([^,]+?)((?:, that of \S+ [^,]+?)*))?\.(?: Each trial ran once: best\.toml trains the best anew\.)?$")
def optimistic(c, number, what, epochs, split, name, value, others):
    key = c.best_trials()[0] if c.is_search else c.ranking(c.decides[0])[0]
    c.count(what, number, len(c.all_trials()) if what == "trials" else len(c.keys))
    has_validation = any(column.startswith("val_") for column in c.epochs.columns)
    c.same("split", split, "validation" if has_validation else "training")
    if epochs:
        c.count("epochs", epochs, c.rows(key).iloc[0].epochs)
    if name:
        column = "test_" + name.replace("R²", "r2").replace(" ", "_")
        c.shown(value, key, column)
        for study, value in re.findall(r", that of (\S+) (\S+)", others):
            c.shown(value, c.best_trials(study)[0], column)


@kind(r"The loss on a fixed batch fell from (.+) to (.+) in (\d+) epochs \(one run\)\.$")
def learned(c, before, after, epochs):
    for what, text in [("eval_loss_before", before), ("eval_loss_after", after)]:
        c.number(what, text, c.runs[what].iloc[0])
    c.count("epochs", epochs, c.runs.epochs.iloc[0])


@kind(r"(?P<told>Best loss \S+, \S+ s an epoch, \S+ MiB)\.$")
def alone(c, told):
    c.items(told.split(", "), c.keys[0])


@kind(r"Not of the same quality: (best loss) (.+?) with (.+), (\S+) with the fastest(?: \(one seed each: no test\))?\.$")
def quality(c, name, best, cell, fastest):
    first = c.ranking(c.decides[0])[0]
    order = c.ranking("best_loss")
    least = [k for k in order if c.median(k, "best_loss") == c.median(order[0], "best_loss")]
    c.is_named(cell, c.ranking(c.decides[0], least)[0])
    c.shown(best, order[0], "best_loss")
    c.shown(fastest, first, "best_loss")


@kind(r"Quality cannot be compared: the runs saw different numbers of samples\.$")
def samples(c):
    c.same("numbers of samples differ", "yes", "yes" if c.runs.samples.nunique() > 1 else "no")


@kind(r"(\S+) (\S+) instead of (\S+): (\S+)×(?: to (\S+)×)? the (.+?), (?:(better|worse) in|in none of) (?:(\d+) (?:and worse in (\d+) )?of )?(\d+) pairs of cells(?: shown to differ)? "
      + N + r"\)\.$")
def along(c, axis, to, base, least, most, name, how, told, and_worse, number, n):
    column = c.columns(name)[0]
    axis = c.axis(axis)
    pairs = c.pairs(axis, base)
    ratios = [c.median(own, column) / c.median(before, column) for before, own in pairs]
    c.number("least ratio", least, min(ratios))
    c.number("largest ratio", most or least, max(ratios))
    c.count("pairs", number, len(pairs))
    for what, printed, place in [(f"{axis} before", base, 0), (axis, to, 1)]:
        c.same(what, printed, ", ".join({c.axes(pair[place])[axis] for pair in pairs}))
    tests = holm([test_of(c.values(a, column), c.values(b, column)) for a, b in pairs])
    shown = [c.cost(column, r) < c.cost(column, 1) for r, p in zip(ratios, tests) if p <= 0.05]
    c.count("better", told if how == "better" else "0", sum(shown))
    c.count("worse", told if how == "worse" else and_worse or "0", len(shown) - sum(shown))
    c.count("n", n, min(len(c.values(k, column)) for pair in pairs for k in pair))


@kind(r"Against (\S+) \((.+?)\): (.+) " + N + r"(?:; metrics by sign flips over seeds)?\)\.$")
def gains(c, name, start, told, n):
    order, p = c.treatments(name)
    base = order[0]
    c.items(re.split(r", (?=best)", start), base)
    differ = [k for k in order[1:] if min(p[0][k], p[1][k]) <= 0.05]
    told = told.split("; ")
    c.count("treatments that differ", str(len(told)), len(differ))
    for text in told:
        other, parts = text.split(" has ")
        key = c.find(other)
        c.same(f"{other} differs", "yes", "yes" if key in differ else "no")
        how = re.search(r", (better|worse)$", parts)
        parts = parts[:how.start()] if how else parts
        if how:
            is_better = c.median(key, "best_loss") < c.median(base, "best_loss")
            c.same(f"{other} is", how[1], "better" if is_better else "worse")
        for item in re.split(r", (?=best)", parts):
            column = "step_ms" if "×" in item else "best_loss"
            c.same(f"{other}, {column} differs", "yes", "yes" if p[column == "best_loss"][key] <= 0.05 else "no")
            if column == "step_ms":
                ratio, low, high = re.match(r"(.+)× the step time \((.+)–(.+)\)$", item).groups()
                c.number("ratio", ratio, c.median(key, column) / c.median(base, column))
                c.count("ends, of the bootstrap, around the ratio", "1", float(low) <= float(ratio) <= float(high))
                c.told += [("end, not recomputed", end, end, True) for end in (low, high)]
            else:
                c.items([item], key)
    c.count("n", n, min(len(c.values(k, "step_ms")) for k in order))


@kind(r"Not shown to differ from it (in .+)\.$")
def not_shown(c, told):
    order, p = c.treatments(c.plan["compare"]["baseline"])
    for text in told.split("; "):
        measure, names = re.match(r"in (step time|best loss): (.+)$", text).groups()
        left = {k for k in order[1:] if p[measure == "best loss"][k] > 0.05}
        c.same(f"treatments, {measure}", str(sorted(names.split(", "))), str(sorted(k.split("=")[1] for k in left)))


@kind(r"The (validation|training) loss that every cell reaches, (.+?), is reached soonest by (.+), in (.+) s; (\d+) cells are not distinguishable from it " + N + r"\)\.$")
def soonest(c, split, value, name, time, number, n):
    loss = {"validation": "val_loss", "training": "train_loss"}[split]
    target = c.epochs.groupby(["key", "seed"])[loss].min().max()
    c.number("the worst of the best losses", value, target)
    until = c.epochs[c.epochs[loss] <= target].groupby(["key", "seed"]).epoch.min() + 1
    blocks = c.blocks.join(until.rename("until"), on=["key", "seed"]).merge(c.runs[["key", "seed", "epochs"]], on=["key", "seed"])
    times = [(blocks.train_s * blocks.until / blocks.epochs)[blocks.key == k] for k in c.keys]
    first = min(range(len(times)), key=lambda at: times[at].median())
    c.is_named(name, c.keys[first])
    c.number("its time", time, times[first].median())
    p = against_best(times, first)
    c.count("not distinguishable", number, sum(p > 0.05 for p in p) - 1)
    c.count("n", n, min(map(len, times)))


@kind(r"(\S+): Epoch time grows with the number of samples to the power of (\S+) \(standard error (\S+), n = (\d+) sizes; 1 is proportional; (\S+) to (\S+) samples\)\.$")
def grows(c, dataset, power, error, n, least, most):
    cells, fit = c.sizes(dataset), c.growth(dataset, "epoch_s")
    c.number("exponent", power, fit.slope)
    c.number("standard error", error, fit.stderr)
    c.count("sizes", n, len(cells))
    c.number("fewest samples", least, cells.min(), exact=True)
    c.number("most samples", most, cells.max(), exact=True)


@kind(r"(\S+): Training time, of training that ended by itself after (\d+) to (\d+) epochs, grows to the power of (\S+) \(standard error (\S+)\)\.$")
def epochs(c, dataset, least, most, power, error):
    fit = c.growth(dataset, "train_s")
    c.number("exponent", power, fit.slope)
    c.number("standard error", error, fit.stderr)
    own = c.runs[c.runs[f"datasets_{dataset}_samples"].notna()].epochs
    c.count("fewest epochs", least, own.min())
    c.count("most epochs", most, own.max())


@kind(r"The largest part of a step is (.+); waiting for data takes at most (\S+) %\.$")
def places(c, told, waits):
    shares = pandas.DataFrame({k: c.shares(k) for k in c.ranking(c.decides[0]) or c.keys})
    largest = pandas.DataFrame({"phase": shares.idxmax(), "share": shares.max()}).groupby("phase").share
    for phase, cells, least, most, names in re.findall(r"(?:^|, )([a-z ]+) in (\d+) cells? \((\S+) %(?: to (\S+) %)?(?:: ([^)]+))?\)", told):
        own = largest.get_group(phase)
        for name, key in zip(names.split("; ") if names else [], own.index):
            c.is_named(name, key)
        c.count(f"cells with {phase}", cells, len(own))
        c.number(f"{phase}, least", least, own.min())
        c.number(f"{phase}, most", most or least, own.max())
    c.number("waiting for data, most", waits, shares.loc["data wait"].max())


METRICS = {"R²": "r2", "accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}


@kind(r"(?:(.+): )?Baselines on (?:the same rows|the data of .+?), (test|validation) (.+?): (.+?)(?: \(too many .+?\))?\. (Better than all of them|Better than the .+?|No model beats the .+?|Not better than the .+?|Not shown to beat the .+?): (.+)\.$")
def baselines(c, scope, split, metric, told, verdict, best):
    named = scope.replace("samples ", "samples=").replace(",", "").split() if scope else []
    keys = [key for key in c.keys if all(re.search(rf"[=.]{part}(,|$)", key) for part in named)]
    for number in re.findall(r"samples ([\d,]+)", scope or ""):
        c.count("samples", number, next(cell["spec"]["dataset"]["samples"] for cell in c.plan["cells"] if cell["key"] == keys[0]))
    chosen, shown = (f"{of}_{METRICS[metric]}" for of in ("val", {"test": "test", "validation": "val"}[split]))
    decides = c.plan["search"]["objectives"][0]["column"] if c.is_search else chosen
    key = min(keys, key=lambda key: [c.cost(column, c.median(key, column)) for column in (decides, chosen)])
    files = pandas.read_csv(c.path / "baselines.csv")
    files = files[files.cell.map(c.data) == c.data(key)]
    own = {name: files[files.baseline == name.split()[0]][shown] for name in re.findall(r"(?:^|, )([a-z ]+?) (?=-?\d)", told)}
    for text, (name, values) in zip(re.split(r", (?=[a-z])", told), own.items()):
        c.spread(name, text[len(name) + 1:], values)
    values = [c.rows(key)[shown].dropna(), *own.values()]
    strongest = max(own, key=lambda name: own[name].median())
    name, value, rest = re.match(r"(?:the best, )?(.+), (-?\d\.\d+(?: \([^)]*\))?)[;,]? ?(.*)$", best).groups()
    if name != "the model":
        c.is_named(name, key)
    c.spread(shown, value, values[0])
    is_better = values[0].median() > own[strongest].median()
    if not verdict.startswith("Not shown"):
        c.same("better than all", "yes" if verdict.startswith("Better") else "no", "yes" if is_better else "no")
    if not verdict.startswith("Better"):
        c.same("the strongest", verdict.split(" the ")[1], strongest)
    if few := re.match(r"(\d+) seeds? cannot show that it is not by chance, (\d+) can", rest):
        c.count("seeds", few[1], len(values[0]))
        return c.count("n that a test needs", few[2], needed(len(own)))
    n, p = re.search(N + r", p = (.+?)\)", rest).groups()
    c.count("n", n, len(values[0]))
    ps = against_best(values, 0)[1:]
    c.number("p", p, max(p for p in ps if p <= 0.05) if verdict.startswith("Better") else ps[list(own).index(strongest)])
    if "same rows" in rest:
        c.count("most values of a baseline", "1", max(of.nunique() for of in own.values()))


@kind(r"(?:Of (\d+) predictions of (.+?): (.+)|(.+): (confirmed(?=.+ overlaps )|unclear(?=.+ allows both )|refuted(?=.+ lies outside )): measured (.+); the measured interval .+)\.$")
def predictions(c, number, name, groups, one, said, measured):
    all_of = [(p, *c.predicted(p)) for p in c.plan["report"]["predictions"]]
    if one:
        all_of = [own for own in all_of if is_change(c, one, own[0])]
    c.count("predictions", number or "1", len(all_of))
    # Unclear: the interval contains the prediction and "no change".
    is_unclear = lambda own: own[2] <= 1 <= own[3]
    # A predicted value is refuted where the intervals do not meet.
    is_outside = lambda own: own[0]["claim"] == "value" and (own[3] < own[0]["low"] or own[2] > own[0]["high"])
    verdict = lambda own: "refuted" if is_outside(own) else "unclear" if is_unclear(own) else "direction right, size off" if own[-1] else "confirmed" if own[-2] else "not confirmed"
    groups = re.split(r"\), (?=\d+ )", groups) if groups else [f"1 {said} ({one}: {measured.split(' (95')[0]}"]
    for group in groups:
        count, words, told = re.match(r"(\d+) ([^(]+) \((.+)", group).groups()
        own = [one for one in all_of if verdict(one) == words]
        c.count(words, count, len(own))
        predictions_of(c, own, told.removesuffix(")") if number and group is groups[-1] else told, measured)


def is_change(c, text, spec):
    change, _, cell = text.partition(" for ")
    return change == f"{spec['setting']} = {spec['to']} instead of {spec['from']}" and (not cell or cell in c.names(c.at(spec["against"])))


def predictions_of(c, all_of, told, measured):
    told = told.split("; ")
    enough = len(c.pair_ratios(all_of[0][0])) >= 6
    if enough:
        c.count("pairs", re.search(r"of (\d+) pairs", measured)[1], len(c.pair_ratios(all_of[0][0])))
    for text, (spec, ratio, low, high, *_) in zip(told, all_of):
        if more := re.match(r"and (\d+) more", text):
            c.count("more", more[1], len(all_of) - len(told) + 1)
            continue
        head, figures = text.split(": ")
        figures, _, predicted = figures.partition(", predicted ")
        if predicted:
            for what, figure in zip(["predicted", "low", "high"], re.findall(r"\d+\.?\d*", predicted)):
                c.number(f"{what}, as the manifest has it", figure, spec[what])
        head, _, cell = head.partition(" for ")
        c.same("change", head, f"{spec['setting']} = {spec['to']} instead of {spec['from']}")
        if cell:
            c.is_named(cell, c.at(spec["against"]))
        ends = ["low, as in recommendations.csv", "high, as in recommendations.csv"] if enough else ["low", "high"]
        for what, figure, value in zip(["ratio", *ends], re.findall(r"\d+\.\d+", figures), [ratio, low, high]):
            c.number(f"{spec['column']}, {what}", figure, value)


@kind(r"(?:Highest .+?): (.+?)\. (\d+) cells? ha(?:s|ve) the same result " + N + r"\)(?:; behind it: (.+)|; (\d+) are behind it)?\.$")
def same_result(c, best, number, n, names, behind):
    column, order = c.decides[0], c.ranking(c.decides[0])
    c.cell(best, order[0])
    results = c.results(order, column)
    p = against_best([c.values(keys[0], column) for keys in results.values()], 0)
    c.count("of the same result", number, len(next(iter(results.values()))) - 1)
    left = [key for p, keys in zip(p, results.values()) for key in keys if p <= 0.05]
    behind = behind or str(len(names.split("; ")) if names else 0)
    c.count("behind", behind, len(left))
    c.count("cells", str(1 + int(number) + int(behind)), len(order))
    for told, key in zip(names.split("; ") if names else [], sorted(left, key=order.index)):
        c.cell(told, key)
    c.count("n", n, min(len(c.values(k, column)) for k in order))


@kind(r"What it draws is under “Quality and curves”\.$")
def drawn(c):
    c.same("images of the cell", "yes", "yes" if any(cell["samples"] for cell in c.plan["cells"]) else "no")


@kind(r"Runs of one epoch do not show when an equal loss is reached\.$")
def of_one_epoch(c):
    c.count("epochs of a run, least", "1", c.runs.epochs.min())


@kind(r"In (\d+) of (\d+) runs the loss on a fixed batch did not fall by 1 %: nothing shows that they learned \((.+?)(?:; and (\d+) more cells)?\)\.$")
def not_learned(c, number, of, names, more):
    done = c.runs[c.runs.eval_loss_before.notna()]
    fits = (done.first_loss > 0) & (done.final_loss < 0.5 * done.first_loss)
    not_fallen = done[~(fits | (done.eval_loss_after < done.eval_loss_before - 0.01 * done.eval_loss_before.abs()))]
    c.count("runs", of, len(done))
    c.count("whose loss did not fall", number, len(not_fallen))
    # Most such runs first, then in plan order.
    keys = sorted((key for key in c.keys if key in set(not_fallen.key)), key=lambda key: -(not_fallen.key == key).sum())
    for name, key in zip(names.split("; "), keys):
        c.is_named(name, key)
    c.count("more cells", more or "0", len(keys) - len(names.split("; ")))


def main():
    reports = Path(__file__).parents[3] / "reports"
    print(HEAD.format(pandas=pandas.__version__, scipy=scipy.__version__))
    unequal = 0
    for page in sorted(reports.glob("*/report.md")):
        folder = Folder(page.parent)
        print(f"\n## {folder.name}\n\n{folder.question}\n\n| sentence | figures: printed = recomputed | equal |\n| --- | --- | --- |")
        for sentence in folder.sentences:
            check = Check(folder)
            known = [(match, function) for pattern, function in KINDS if (match := pattern.match(sentence))]
            if len(known) != 1:
                sys.exit(f"{folder.name}: {len(known)} functions know this sentence, not one: {sentence}")
            match, function = known[0]
            function(check, *match.groups())
            if left := check.unread(sentence):
                sys.exit(f"{folder.name}: {left} are not recomputed: {sentence}")
            unequal += not check.is_equal()
            print(f"| {sentence.replace('|', chr(92) + '|')} | {check.told_all()} | {'yes' if check.is_equal() else 'NO'} |")
    sys.exit(f"sentences with a figure that is not equal: {unequal}" if unequal else 0)


HEAD = """# The answers of the committed pages, recomputed

By `python tests/reference/report/answers.py > tests/reference/report/answers.md` with pandas {pandas} and SciPy {scipy}, from the CSV files
beside each page and nothing of Fieldtrial's code. Equal: the recomputed value, rounded to the printed digits, is the printed one.
Bootstrap intervals stand as timings.csv and recommendations.csv have them and are marked so."""


main()
