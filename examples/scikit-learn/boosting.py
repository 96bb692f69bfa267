"""Gradient boosting of a table on the rows that a file of splits names: `--split {split}` in a manifest."""

import argparse
import csv
import datetime

import numpy
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.preprocessing import OrdinalEncoder

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.add_argument("--split", required=True)
parser.add_argument("--trees", type=int, default=100)
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()


def number(text):
    return float(text) if text else numpy.nan


def days(text):
    return datetime.datetime.strptime(text, "%d.%m.%Y").toordinal()


with open(arguments.data, newline="") as file:
    rows = list(csv.DictReader(file))
with open(arguments.split, newline="") as file:
    parts = {int(row["row"]): row["part"] for row in csv.DictReader(file)}

kinds = OrdinalEncoder().fit_transform([[row["district"], row["heating"]] for row in rows])
numbers = [[number(row[name]) for name in ("area", "rooms", "built", "garden")] + [days(row["sold"])] for row in rows]
x = numpy.column_stack([kinds, numbers])
y = numpy.array([float(row["price"]) for row in rows])
of = {part: [row for row, own in parts.items() if own == part] for part in ("train", "validation", "test")}

model = HistGradientBoostingRegressor(
    max_iter=arguments.trees, learning_rate=arguments.rate, categorical_features=[0, 1], random_state=arguments.seed
)
model.fit(x[of["train"]], y[of["train"]])
for name, part in (("val", "validation"), ("test", "test")):
    predicted = model.predict(x[of[part]])
    print(f"{name} R2 {r2_score(y[of[part]], predicted):.6f} MAE {mean_absolute_error(y[of[part]], predicted):.2f}")
