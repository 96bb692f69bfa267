"""Writes importance.json.gz: parameter importances (PED-ANOVA) and hypervolumes as computed by Optuna.

pip install optuna==5.0.0 numpy==2.4.6; python importance.py

An importance is a space as `plan::search::Space` reads it, the share of best trials, points (one value per parameter,
null where it does not exist; of a choice, its number), losses and Optuna's importances, normalised, in the space's order.
"""

import gzip
import json
import math
import warnings
from pathlib import Path

import numpy as np
import optuna
from optuna._hypervolume import compute_hypervolume
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
rng = np.random.default_rng(20261122)


def choice(name, count, when=None):
    values = [f"v{k}" for k in range(count)]
    return parameter(name, {"kind": "choice", "texts": values, "values": values}, when)


def integer(name, low, high, step=1, log=False, when=None):
    return parameter(name, {"kind": "int", "low": low, "high": high, "step": step, "log": log}, when)


def number(name, low, high, step=None, log=False, when=None):
    return parameter(name, {"kind": "float", "low": low, "high": high, "step": step, "log": log}, when)


def parameter(name, domain, when):
    made = {"name": name, "path": f"train.{name}", "domain": domain}
    return made if when is None else {**made, "when": {"parameter": when[0], "choices": when[1]}}


SPACES = {
    "numbers": [number("a", 0.0, 1.0), number("b", -5.0, 5.0), number("c", 1e-5, 1e-1, log=True)],
    "steps": [
        number("a", 0.0, 1.0, step=0.25),
        # The end is not reached: 0.1, 0.4, 0.7.
        number("b", 0.1, 0.9, step=0.3),
        integer("c", 4, 8),
        integer("d", 0, 100, step=7),
        integer("e", 1, 1000, log=True),
        # More values than grid points: every second one lies between two.
        integer("f", 0, 98),
    ],
    "choices": [choice("a", 2), choice("b", 5), choice("c", 3)],
    "conditions": [
        choice("kind", 3),
        number("momentum", 0.0, 0.99, when=(0, [1])),
        number("lr", 1e-5, 1e-1, log=True),
        integer("warmup", 0, 10, when=(0, [0, 2])),
    ],
    "single": [choice("one", 1), integer("fixed", 3, 3), number("x", 0.0, 1.0)],
}


def suggest(trial, space):
    values = []
    for one in space:
        when, domain = one.get("when"), one["domain"]
        if when is not None and values[when["parameter"]] not in when["choices"]:
            values.append(None)
        elif domain["kind"] == "choice":
            values.append(int(trial.suggest_categorical(one["name"], domain["values"])[1:]))
        elif domain["kind"] == "int":
            values.append(trial.suggest_int(one["name"], domain["low"], domain["high"], step=domain["step"], log=domain["log"]))
        else:
            values.append(trial.suggest_float(one["name"], domain["low"], domain["high"], step=domain["step"], log=domain["log"]))
    return values


def loss_of(space, values, weights, noise, digits):
    total = noise * rng.normal()
    for one, value, weight in zip(space, values, weights):
        domain = one["domain"]
        if value is None:
            total += 0.3 * weight
        elif domain["kind"] == "choice":
            total += weight * math.sin(1.7 * value)
        else:
            low, high = domain["low"], domain["high"]
            if domain["log"]:
                low, high, value = math.log(low), math.log(high), math.log(value)
            at = (value - low) / (high - low) if high > low else 0.0
            total += weight * (at - 0.6) ** 2
    return round(total, digits)


def importance(name, trials, quantile, sampler, digits):
    space = SPACES[name]
    study = optuna.create_study(sampler=sampler)
    weights = rng.permutation([3.0, 1.0, 0.3, 0.1, 0.03, 0.0][: len(space)])
    points, losses = [], []
    for _ in range(trials):
        trial = study.ask()
        values = suggest(trial, space)
        loss = loss_of(space, values, weights, 0.02, digits)
        study.tell(trial, loss)
        points.append(values)
        losses.append(loss)
    evaluator = PedAnovaImportanceEvaluator(target_quantile=quantile)
    found = get_param_importances(study, evaluator=evaluator)
    expected = [float(found.get(one["name"], 0.0)) for one in space]
    return {
        "name": f"{name}, {trials} trials, best {quantile}",
        "space": {"parameters": space},
        "quantile": quantile,
        "points": points,
        "losses": losses,
        "importances": expected,
    }


def importances():
    cases = []
    for name in SPACES:
        for trials, quantile, digits in [(12, 0.5, 9), (30, 0.2, 9), (60, 0.1, 2), (120, 0.1, 9)]:
            sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(1 << 30)))
            cases.append(importance(name, trials, quantile, sampler, digits))
    return cases


def hypervolumes():
    cases = []
    for objectives, count in [(1, 4), (2, 1), (2, 6), (2, 30), (3, 2), (3, 9), (3, 25), (4, 12), (5, 8)]:
        points = np.round(rng.uniform(0, 1.2, (count, objectives)), 2)
        points[-1] = points[0]
        reference = np.ones(objectives)
        inside = points[(points <= reference).all(axis=1)]
        volume = float(compute_hypervolume(inside, reference)) if len(inside) else 0.0
        cases.append({"points": points.tolist(), "reference": reference.tolist(), "volume": volume})
    return cases


text = json.dumps({"importances": importances(), "hypervolumes": hypervolumes()}, separators=(",", ":"))
path = Path(__file__).with_name("importance.json.gz")
# No time stamp and no name: the same cases give the same bytes.
path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
print(path.stat().st_size, "bytes")
