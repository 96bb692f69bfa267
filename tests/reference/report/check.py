"""What answers.py needs: the CSV files of a page as tables, cells by their names, and figures held against printed ones."""

import itertools
import json
import math
import re

import pandas
from scipy.stats import linregress, mannwhitneyu, permutation_test, rankdata

MIB = 2**20
PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
COLUMNS = {
    "validation accuracy": "val_accuracy", "validation balanced accuracy": "val_balanced_accuracy", "validation R²": "val_r2", "best loss": "best_loss", "epoch time": "epoch_s",
    "throughput": "samples_per_s", "step time": "step_ms", "time of a run": "total_s", "compressed bytes": "compressed_bytes",
    "FLOPs of a forward pass": "flops_forward_per_sample",
}
HIGHER = ("accuracy", "r2", "samples_per_s")
KINDS = []
PHASES = ["data_wait", "transfer", "forward", "loss", "backward", "optimizer"]


def kind(pattern):
    """Makes a function the one that knows the sentences which this matches from their beginning; it is called with the groups."""
    return lambda function: KINDS.append((re.compile(pattern), function)) or function


def digits(text):
    """A printed number, and the unit of its last digit that says something."""
    number = text.replace(",", "")
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    zeros = len(mantissa) - len(mantissa.rstrip("0")) if not decimals else 0
    return float(number), 10.0 ** (int(exponent or 0) - decimals + zeros)


def is_same(printed, value, unit):
    # The files have six digits of a run's times.
    return abs(printed - value) <= unit / 2 + 2e-6 * abs(value)


def test_of(one, other):
    """Mann–Whitney, two-sided, over all arrangements of the ranks, with ties too."""
    both = pandas.concat([pandas.Series(one), pandas.Series(other)])
    ties = both.duplicated().any()
    if both.nunique() == 1:
        return 1.0
    if not ties:
        return mannwhitneyu(one, other, method="exact").pvalue
    ranks = rankdata(both)
    sides = (ranks[: len(one)], ranks[len(one) :])
    return permutation_test(sides, lambda own, _, axis: own.sum(axis=axis), vectorized=True, n_resamples=float("inf")).pvalue


def holm(ps):
    order = pandas.Series(ps, dtype=float).sort_values(kind="stable")
    factors = pandas.Series(range(len(order), 0, -1), index=order.index)
    return (order * factors).cummax().clip(upper=1).sort_index().tolist()


def against_best(values, best):
    ps = holm([test_of(values[best], own) for place, own in enumerate(values) if place != best])
    return ps[:best] + [1.0] + ps[best:]


def over_seeds(tests):
    """Sign-flip tests of differences by seed, adjusted by step-down min-P (Westfall and Young) over all patterns of signs."""
    tests = [test.sort_index() for test in tests]
    patterns = list(itertools.product([1, -1], repeat=len(tests[0])))
    ps = []
    for test in tests:
        ranks = rankdata(test.abs().round(12)) * (test != 0)
        sums = (ranks * pandas.DataFrame(patterns).gt(0)).sum(axis=1)
        upward = pandas.DataFrame(patterns) * (test > 0).map({True: 1, False: -1}).to_numpy()
        positive = (ranks * upward.gt(0)).sum(axis=1)
        least = positive.clip(upper=ranks.sum() - positive)
        ps.append([min(1, 2 * (sums <= one).mean()) for one in least])
    ps = pandas.DataFrame(ps)
    order = ps[0].sort_values(kind="stable").index
    least = ps.loc[order[::-1]].cummin().loc[order]
    adjusted = least.le(ps.loc[order, 0] + 1e-12, axis=0).mean(axis=1).cummax()
    return adjusted.sort_index().tolist()


def needed(others):
    return next(n for n in itertools.count(1) if 2 / math.comb(2 * n, n) <= 0.05 / max(others, 1))


class Folder:
    """The files of a page."""

    def __init__(self, path):
        self.path, self.name = path, path.name
        read = lambda file: pandas.read_csv(path / f"{file}.csv", low_memory=False)
        self.runs, self.blocks, self.timings, self.epochs = map(read, ["runs", "blocks", "timings", "epochs"])
        self.blocks = self.blocks[self.blocks.status.isin(["done", "pruned"])]
        self.plan = json.loads((path / "plan.json").read_text())
        page = (path / "report.md").read_text()
        self.question = re.search(r"^> (.+)$", page, re.M)[1]
        answer = re.split(r"\n!\[|\n## ", page.split("## Answer\n")[1])[0]
        paragraphs = [part.strip() for part in answer.split("\n\n") if part.strip()]
        self.sentences = [part for part in paragraphs if not part.startswith("<sub>")]
        by = next((part for part in paragraphs if part.startswith("<sub>Decided by")), "")
        self.decides = self.columns(by.split(", as ")[0])
        done = self.runs[self.runs.status == "done"]
        self.keys = list(dict.fromkeys(key for key in done.key if key in set(self.timings.key)))
        self.is_search = bool(self.plan.get("search"))
        self.specs = [cell["spec"] for cell in self.plan["cells"]]

    def columns(self, words):
        found = {words.find(name): column for name, column in COLUMNS.items() if name in words}
        return [found[at] for at in sorted(found)]

    def rows(self, key):
        return self.runs[(self.runs.key == key) & self.runs.status.isin(["done"])]

    def values(self, key, column):
        """One value for each run of what a clock or a counter gave, else for each seed."""
        own = self.blocks[self.blocks.key == key][column] if column in self.blocks else self.rows(key)[column]
        own = own.dropna()
        return own[own > 0] / MIB if column.startswith("peak_") else own

    def median(self, key, column):
        return self.values(key, column).median()

    def cost(self, column, value):
        return -value if column.endswith(HIGHER) else value

    def ranking(self, column, keys=None):
        """By median, as rounded in timings.csv where it is there; equal ones by mean."""
        rounded = self.timings.set_index("key")[column].dropna() if column in self.timings else {}
        median = lambda key: rounded.get(key, self.median(key, column))
        of = lambda key: tuple(self.cost(column, value) for value in (median(key), self.values(key, column).mean()))
        return sorted([key for key in keys or self.keys if len(self.values(key, column))], key=of)

    def results(self, keys, column):
        """The different results of cells, each with its cells; a clock never gives the same twice."""
        found = {}
        for key in keys:
            found.setdefault(tuple(self.values(key, column)), []).append(key)
        return found

    def sizes_of_batch(self, line):
        """The cells of a curve by their batch size: those that this is a name of besides."""
        axis = next(axis["name"] for axis in self.plan["axes"] if axis["path"] == "train.batch-size")
        measured = {key: self.axes(key) for key in self.keys}
        # An axis that some cells lack tells the curve apart, too.
        longest = min(sum(map(bool, axes.values())) for axes in measured.values())
        own = {int(axes[axis]): key for key, axes in measured.items()
               if line in self.names(key) and sum(map(bool, axes.values())) == longest}
        return dict(sorted(own.items()))

    def sizes(self, dataset):
        column = f"datasets_{dataset}_samples"
        return self.runs[self.runs[column].notna()].drop_duplicates("key").set_index("key")[column].sort_values()

    def growth(self, dataset, column):
        """The straight line through the logarithms of samples and of the medians of timings.csv."""
        cells = self.sizes(dataset)
        return linregress([math.log(samples) for samples in cells], [math.log(self.timings.set_index("key")[column][key]) for key in cells.index])

    def interval(self, key, column):
        row = self.timings[self.timings.key == key].iloc[0]
        return row[f"{column}_low"], row[f"{column}_high"]

    def memory(self):
        on_gpu = all(len(self.values(key, "peak_device_bytes")) for key in self.keys)
        return "peak_device_bytes" if on_gpu else "peak_train_bytes"

    def pace(self):
        return "epoch_s" if all(len(self.values(key, "epoch_s")) for key in self.keys) else "samples_per_s"

    def axes(self, key):
        cell = next(cell for cell in self.plan["cells"] if cell["key"] == key)
        return dict(zip([axis["name"] for axis in self.plan["axes"]], cell["axes"]))

    def data(self, key):
        """What the baselines of a cell depend on beside the seed, as text."""
        spec = next((cell["spec"] for cell in self.plan["cells"] if cell["key"] == key), {})
        dataset, validation = (spec.get(section, self.specs[0].get(section)) for section in ("dataset", "validation"))
        return json.dumps([dataset, validation["fraction"]], sort_keys=True)

    def axis(self, told):
        """The axis that a page calls so: by its name or the end of it."""
        return next(axis["name"] for axis in self.plan["axes"] if told in (axis["name"], axis["name"].rsplit(".", 1)[-1]))

    def matrices(self):
        """What sets the only cell of each matrix apart from the others."""
        cells = self.plan["cells"]
        own = {cell["axes"][0]: cell["spec"] for cell in cells}
        if self.plan["axes"][0]["name"] != "matrix" or len(own) < len(cells):
            return {}
        # A cell has the sections in which it is not the first one.
        table = pandas.DataFrame({name: pandas.json_normalize({**cells[0]["spec"], **spec}).iloc[0] for name, spec in own.items()}).astype(str)
        table = table[(table.nunique(axis=1) > 1) & ~table.index.str.startswith(("measure.", "limits."))]
        return {name: ", ".join(f"{path.rsplit('.', 1)[-1]} {value}" for path, value in table[name].items()) for name in own}

    def names(self, key):
        """Every name that a cell may have: its values, with or without the axis, some left out."""
        words = {**self.matrices(), **self.plan["report"].get("names", {})}
        parts = [["", *{value, f"{axis} {value}", f"{axis.rsplit('.', 1)[-1]} {value}", words.get(value, value)}] for axis, value in self.axes(key).items() if value]
        return {", ".join(filter(None, name)) for name in itertools.product(*parts)} - {""}

    def task(self, name):
        """Cells of the dataset and the loss that a task is named after."""
        base = self.specs[0]
        of = lambda spec: f"{spec.get('dataset_name', base['dataset_name'])}, {spec.get('loss', base['loss'])['kind']}"
        # Cells that ask for the same run share it: they are one.
        own = {cell["cell_hash"]: cell["key"] for cell in reversed(self.plan["cells"]) if of(cell["spec"]) == name and cell["key"] in self.keys}
        return list(own.values())

    def all_trials(self):
        return self.runs[self.runs.trial.astype(str).str.isdigit()].copy()

    def objective(self, key):
        """The first objective of a trial: a column, or the best over its epochs."""
        column = self.plan["search"]["objectives"][0]["column"]
        if column in self.runs:
            return self.rows(key)[column].iloc[0]
        curve = self.epochs[self.epochs.key == key][column.removeprefix("best_")]
        return curve.max() if column.endswith(HIGHER) else curve.min()

    def best_trials(self, study=None):
        trials = self.all_trials()
        if study:
            trials = trials[[study in self.axes(key).values() for key in trials.key]]
        keys = trials[trials.status == "done"].key
        column = self.plan["search"]["objectives"][0]["column"]
        return sorted(keys, key=lambda key: self.cost(column, self.objective(key)))

    def spans(self):
        own = self.blocks[self.blocks.key.isin(self.all_trials().key)]
        return own.assign(end_s=own.start_s + own.wall_s)

    def makespan(self):
        sessions = self.spans().groupby("session")
        return (sessions.end_s.max() - sessions.start_s.min()).sum()

    def end(self, key):
        spans = self.spans()
        assert spans.session.nunique() == 1
        return spans[spans.key == key].end_s.iloc[0] - spans.start_s.min()

    def fronts(self):
        """Of each study the done trials that no other dominates, with what their objectives are; epochs count from 0."""
        target = self.plan["report"]["target"][0]["value"]
        reached = self.epochs[self.epochs.val_accuracy >= target].groupby("key").epoch.min()
        fronts = {}
        for study, rows in self.all_trials().query("status == 'done'").groupby("variant"):
            flops = (rows.flops_forward_per_sample + rows.flops_backward_per_sample) * rows.samples * (rows.best_epoch + 1) / rows.epochs
            first = rows.key.map(reached).fillna(rows.epochs)
            points = dict(zip(rows.key, zip(-rows.best_val_accuracy, flops, rows.parameters, first)))
            fronts[study] = {k: p for k, p in points.items() if not any(self.dominates(q, p) for q in points.values())}
        return fronts

    @staticmethod
    def dominates(one, other):
        return one != other and all(a <= b for a, b in zip(one, other))

    def shares(self, key):
        own = self.blocks[self.blocks.key == key]
        shares = pandas.Series({name.replace("_", " "): own[f"{name}_ms"].fillna(0).mean() for name in PHASES}) / own.step_mean_ms.mean() * 100
        shares["other"] = 100 - shares.sum()
        # As pages show them: in tenths that sum to a hundred, by the largest remainders.
        tenths = (10 * shares).apply(math.floor)
        rest = (10 * shares - tenths).sort_values(ascending=False, kind="stable").index
        tenths[rest[: 1000 - tenths.sum()]] += 1
        return tenths / 10

    def pairs(self, axis, base):
        """Cells that differ from one at the base value in the axis only; loading without workers has no persistence."""
        idle = {"persistent"} if axis == "workers" and base == "0" else set()
        rest = lambda key: {name: value for name, value in self.axes(key).items() if name != axis and name not in idle}
        at_base = [key for key in self.keys if self.axes(key)[axis] == base]
        others = [key for key in self.keys if self.axes(key)[axis] != base]
        return [(one, key) for key in others for one in at_base if rest(one) == rest(key)]

    def treatments(self, baseline):
        """The baseline and the others, with their adjusted p-values of times and of losses."""
        base = f"variant={baseline}"
        order = [base, *(key for key in self.keys if key != base)]
        losses = [self.rows(key).set_index("seed").best_loss for key in order]
        p = [
            against_best([self.values(key, "step_ms") for key in order], 0),
            # Too few seeds for sign flips of so many cells are tested as two samples.
            [1.0, *over_seeds([(own - losses[0]).dropna() for own in losses[1:]])]
            if 2 / 2 ** len(losses[0]) <= 0.05 / (len(order) - 1)
            else against_best(losses, 0),
        ]
        return order, [dict(zip(order, own)) for own in p]

    def at(self, axes):
        return next(k for k in self.keys if all(str(value) == self.axes(k)[axis] for axis, value in axes.items()))

    def pair_values(self, spec):
        tables = [self.blocks[self.blocks.key == self.at(spec[side])].set_index(["block", "seed"])[spec["column"]] for side in ["against", "cell"]]
        return pandas.concat(tables, axis=1, keys=["before", "after"]).dropna()

    def pair_ratios(self, spec):
        pairs = self.pair_values(spec)
        return pairs.after / pairs.before

    def predicted(self, spec):
        """Ratio of the medians, its interval, whether it confirms the prediction, and whether it is better than that."""
        pairs, ratios = self.pair_values(spec), self.pair_ratios(spec)
        ratio = pairs.after.median() / pairs.before.median()
        low, high = min(ratio, ratios.min()), max(ratio, ratios.max())
        if len(pairs) >= 6:
            table = pandas.read_csv(self.path / "recommendations.csv")
            low, high = table[(table.cell == self.at(spec["against"])) & (table.to.astype(str) == spec["to"]) & (table.column == spec["column"])].iloc[0][["measured_low", "measured_high"]]
        if spec["claim"] == "value":
            return ratio, low, high, low <= spec["high"] and high >= spec["low"] and not low <= 1 <= high, False
        return ratio, low, high, low > 1 and high >= max(1, spec["low"]), low > spec["high"]


class Check:
    """What a sentence prints, beside what the files give."""

    def __init__(self, folder):
        self.folder, self.told = folder, []

    def __getattr__(self, name):
        return getattr(self.folder, name)

    def add(self, what, printed, value, is_equal):
        self.told.append((what, printed, value, is_equal))

    def same(self, what, printed, value):
        self.add(what, printed, value, printed == value)

    def count(self, what, printed, value):
        self.add(what, printed, f"{int(value)}", float(printed.replace(",", "")) == float(value))

    def number(self, what, printed, value, exact=False, unit=None):
        number, own = digits(printed)
        self.add(what, printed, f"{value:.6g}", number == value if exact else is_same(number, value, unit or own))

    def seconds(self, what, printed, value):
        minutes = re.match(r"(\d+) min (\d+) s$", printed)
        if minutes:
            return self.add(what, printed, f"{value:.6g} s", int(minutes[1]) * 60 + int(minutes[2]) == round(value))
        text, unit = printed.split(" ")
        self.number(what, text, value * {"s": 1, "ms": 1e3}[unit])

    def shown_value(self, printed, value):
        text, unit = printed.split(" ")
        self.number(unit, text, value / PREFIXES.get(unit[0], 1))

    def spread(self, what, printed, values, scale=1.0, ends=None, is_clock=False):
        """`0.91 (0.90–0.92)`: the median, and the range or the interval; those of a clock have equally many decimals."""
        found = re.findall(r"(?<![\d\w])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", printed.replace("–", " "))
        unit = min(digits(text)[1] for text in found) if is_clock else None
        self.number(what, found[0], values.median() / scale, unit=unit)
        if len(found) == 3:
            low, high = ends if ends else (values.min(), values.max())
            from_file = ", as in timings.csv" if ends else ""
            self.number(f"{what}, low{from_file}", found[1], low / scale, unit=unit)
            self.number(f"{what}, high{from_file}", found[2], high / scale, unit=unit)

    def shown(self, printed, key, column):
        scale = next((factor for prefix, factor in PREFIXES.items() if f" {prefix}FLOP" in printed), 1.0)
        row = self.timings[self.timings.key == key].iloc[0]
        has_interval = row.interval == "bootstrap95" and f"{column}_low" in row and not column.startswith("peak_")
        ends = (row[f"{column}_low"], row[f"{column}_high"]) if has_interval else None
        is_clock = column in self.blocks and not column.startswith("peak_")
        self.spread(f"{column} of {self.short(key)}", printed, self.values(key, column), scale, ends, is_clock)

    def short(self, key):
        return ", ".join(value for value in self.axes(key).values() if value)

    def is_named(self, name, key):
        self.add("cell", name, self.short(key), name in self.names(key))

    def find(self, name):
        return next(key for key in self.keys if name in self.names(key))

    def cell(self, text, key):
        """`batch-size 8, 10.3 samples/s (10.1–10.6), 424 MiB`: the name of the cell that the files have at this place, and its figures."""
        names = [name for name in self.names(key) if text == name or text.startswith(name + ", ")]
        name = max(names, key=len, default="")
        self.add("cell", name or text, self.short(key), bool(name))
        if name:
            self.items(text[len(name) + 2:].split(", "), key)

    def items(self, parts, key):
        for part in filter(None, parts):
            units = {"MiB": self.memory(), "samples/s": "samples_per_s", "an epoch": "epoch_s", "a step": "step_ms"}
            column = next((column for unit, column in units.items() if re.search(rf" {unit}(?: \(.*)?$", part)), None)
            named = next((name for name in COLUMNS if part.lower().startswith(name.lower() + " ")), None)
            if named:
                part, column = part[len(named) + 1:], COLUMNS[named]
            if re.match(r"-?\d", part):
                self.shown(part.replace(" an epoch", "").replace(" a step", ""), key, column or self.decides[0])
            else:
                self.add("figure", part, "unknown", False)

    def unread(self, sentence):
        """Numbers of a sentence that nothing was held against; not those which every such sentence has."""
        numbers = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?")
        sentence = re.sub(r"at most 5 %|fall by 1 %|95 % bootstrap|n = 1 on each side|1 is proportional|of report \d+", "", sentence)
        read = {number.rstrip(",") for what, printed, *_ in self.told for number in numbers.findall(f"{what} {printed}")}
        return [number for number in numbers.findall(sentence) if number.rstrip(",") not in read]

    def is_equal(self):
        return bool(self.told) and all(equal for *_, equal in self.told)

    def told_all(self):
        sign = lambda equal: "=" if equal else "≠"
        return "; ".join(f"{what}: {printed} {sign(equal)} {value}" for what, printed, value, equal in self.told)
