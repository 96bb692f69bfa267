"""Writes pruners.jsonl.gz: the decisions of Optuna's pruners in recorded optimisation histories.

pip install optuna==5.0.0 numpy==2.4.6; python pruners.py

A line is a study: its pruner, its direction, and its trials in order. Trials run one after another. A trial is
[state, curve, verdict]: state D (done), P (pruned) or F (failed); the curve is what it reported, [step, value], null for
NaN; the verdict of a pruned trial is [threshold, trials that it is made of], null for no threshold. Optuna was asked
after every report: a trial goes on until it says "prune", so all decisions but the last of a pruned trial are "keep".
"""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import optuna
from optuna.pruners import MedianPruner, SuccessiveHalvingPruner
from optuna.pruners._percentile import _get_percentile_intermediate_result_over_trials
from optuna.trial import TrialState

optuna.logging.set_verbosity(optuna.logging.ERROR)
rng = np.random.default_rng(20261122)

MEDIAN, HALVING = 200, 60
STATES = {TrialState.COMPLETE: "D", TrialState.PRUNED: "P", TrialState.FAIL: "F"}


def median_pruner():
    spec = {
        "kind": "median",
        "startup_trials": int(rng.choice([0, 1, 2, 3, 5, 8])),
        "warmup_steps": int(rng.choice([0, 0, 1, 2, 3, 5])),
        "interval_steps": int(rng.choice([1, 1, 1, 2, 3, 4])),
    }
    return spec, MedianPruner(spec["startup_trials"], spec["warmup_steps"], spec["interval_steps"])


def halving_pruner():
    spec = {
        "kind": "successive-halving",
        "min_resource": int(rng.integers(1, 4)),
        "reduction": int(rng.integers(2, 5)),
        "early_stopping_rate": int(rng.choice([0, 0, 0, 1])),
    }
    pruner = SuccessiveHalvingPruner(spec["min_resource"], spec["reduction"], spec["early_stopping_rate"])
    return spec, pruner


def habits():
    """How the trials of a study behave: how often a step is left out, a value is NaN, how coarse values are."""
    return {
        "steps": int(rng.integers(3, 18)),
        "missing": float(rng.choice([0.0, 0.0, 0.1, 0.4])),
        "every": int(rng.choice([1, 1, 1, 2, 5])),
        "nan": float(rng.choice([0.0, 0.0, 0.05, 0.3])),
        "digits": int(rng.choice([1, 2, 3, 5])),
        # Accuracies are fractions, so that a median lies between two of them or equals one.
        "share": int(rng.choice([0, 0, 40, 360])),
        "failing": float(rng.choice([0.0, 0.0, 0.1])),
        "stopping": float(rng.choice([0.0, 0.0, 0.15])),
    }


def report(habit, step, level, speed):
    if rng.random() < habit["nan"]:
        return math.nan
    value = level + (1.0 - level) * math.exp(-speed * step) + 0.03 * rng.normal()
    if habit["share"]:
        return round(value * habit["share"]) / habit["share"]
    return round(value, habit["digits"])


def made_of(spec, study, trial, step):
    """Threshold, and the trials with a number that it is made of."""
    others = [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]
    if spec["kind"] == "median":
        done = [other for other in others if other.state == TrialState.COMPLETE]
        with np.errstate(all="ignore"):
            threshold = _get_percentile_intermediate_result_over_trials(done, study.direction, step, 50.0, 1)
        values = {other.number: other.intermediate_values.get(step, math.nan) for other in done}
        return threshold, [number for number, value in values.items() if not math.isnan(value)]
    frozen = study._storage.get_trial(trial._trial_id)
    value = frozen.intermediate_values[step]
    if math.isnan(value):
        return math.nan, []
    rung = max(k for k in range(64) if f"completed_rung_{k}" in frozen.system_attrs)
    reached = {o.number: o.system_attrs[f"completed_rung_{rung}"] for o in others if f"completed_rung_{rung}" in o.system_attrs}
    competing = sorted([*reached.values(), value], reverse=study.direction == optuna.study.StudyDirection.MAXIMIZE)
    return competing[max(len(competing) // spec["reduction"] - 1, 0)], list(reached)


def run_trial(spec, study, habit):
    trial = study.ask()
    level, speed = rng.uniform(0.1, 0.9), rng.uniform(0.05, 1.0)
    last = rng.integers(1, habit["steps"] + 1) if rng.random() < habit["stopping"] else habit["steps"]
    curve, verdict = [], None
    for step in range(last):
        if rng.random() < habit["missing"] or (step + 1) % habit["every"]:
            continue
        value = report(habit, step, level, speed)
        trial.report(value, step)
        curve.append([step, None if math.isnan(value) else value])
        if trial.should_prune():
            threshold, trials = made_of(spec, study, trial, step)
            verdict = [None if math.isnan(threshold) else threshold, trials]
            study.tell(trial, state=TrialState.PRUNED)
            return ["P", curve, verdict]
    if rng.random() < habit["failing"]:
        study.tell(trial, state=TrialState.FAIL)
        return ["F", curve]
    study.tell(trial, level)
    return ["D", curve]


def history(make):
    spec, pruner = make()
    direction = str(rng.choice(["minimize", "maximize"]))
    study = optuna.create_study(direction=direction, pruner=pruner)
    habit = habits()
    trials = [run_trial(spec, study, habit) for _ in range(int(rng.integers(8, 26)))]
    spec = {name.replace("_", "-"): value for name, value in spec.items()}
    return {"pruner": spec, "direction": direction, "trials": trials}


def main():
    histories = [history(median_pruner) for _ in range(MEDIAN)]
    histories += [history(halving_pruner) for _ in range(HALVING)]
    lines = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in histories)
    path = Path(__file__).with_name("pruners.jsonl.gz")
    # No time stamp and no name: the same histories give the same bytes.
    path.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    for kind in ["median", "successive-halving"]:
        trials = [trial for one in histories if one["pruner"]["kind"] == kind for trial in one["trials"]]
        pruned = sum(trial[0] == "P" for trial in trials)
        print(f"{kind}: {len(trials)} trials, {pruned} pruned, {sum(len(trial[1]) for trial in trials)} decisions")
    print(f"{path.stat().st_size} bytes")


main()
