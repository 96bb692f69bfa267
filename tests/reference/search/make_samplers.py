"""Writes samplers.json: results of Optuna's samplers on the problems of src/lab/search/sampler/acceptance.rs.

Run with a Python that has optuna (PyPI): `python make_samplers.py`. The problems are written twice, here and in Rust;
`probes` holds their values at a few points, so that a test sees that both are the same functions.
"""

import json
import math
import pathlib
import re

import numpy
import optuna
from optuna.samplers._tpe import parzen_estimator
from optuna.samplers._tpe.sampler import default_weights

SEEDS = 30
TRIALS = 100
TRIALS_OF_TWO = 200
POPULATION = 20
CORNER = (1.1, 6.0)

optuna.logging.set_verbosity(optuna.logging.ERROR)


def branin(x, y):
    a = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.39788735772973816


def rosenbrock(x):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def mixed(rate, hidden, layers, clip, activation, kind, momentum):
    """A network's loss, imagined: the best is SGD with momentum 0.9, a rate of 1e-3 for 5 layers, 256 units."""
    value = 0.5 * (math.log10(rate) + 3 + 0.2 * (layers - 5)) ** 2
    value += (math.log2(hidden) - 8) ** 2 / 8 + ((layers - 5) / 3) ** 2 * 0.3 + 0.2 * (clip - 1.25) ** 2
    value += [0.3, 0.0, 0.2, 0.5][activation]
    return value + (0.15 if kind == 0 else 2 * (momentum - 0.9) ** 2)


def zdt1(x):
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    return x[0], g * (1 - math.sqrt(x[0] / g))


def ask_branin(trial):
    return branin(trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15))


def ask_rosenbrock(trial):
    return rosenbrock([trial.suggest_float(f"x{i}", -2.048, 2.048) for i in range(4)])


def ask_mixed(trial):
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    hidden = trial.suggest_int("hidden", 16, 1024, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    clip = trial.suggest_float("clip", 0.5, 2.0, step=0.25)
    activation = trial.suggest_categorical("activation", [0, 1, 2, 3])
    kind = trial.suggest_categorical("kind", [0, 1])
    momentum = trial.suggest_float("momentum", 0, 0.99) if kind == 1 else 0
    return mixed(rate, hidden, layers, clip, activation, kind, momentum)


def ask_zdt1(trial):
    return zdt1([trial.suggest_float(f"x{i}", 0, 1) for i in range(5)])


def best(ask, sampler):
    study = optuna.create_study(sampler=sampler)
    study.optimize(ask, n_trials=TRIALS)
    return study.best_value


def hypervolume(ask, sampler):
    """Area between the front and CORNER."""
    study = optuna.create_study(sampler=sampler, directions=["minimize", "minimize"])
    study.optimize(ask, n_trials=TRIALS_OF_TWO)
    area, floor = 0.0, CORNER[1]
    for x, y in sorted(t.values for t in study.trials):
        if x < CORNER[0] and y < floor:
            area += (CORNER[0] - x) * (floor - y)
            floor = y
    return area


def densities():
    """Density of TPE's estimate at some points, from 30 trials of which old ones weigh less."""
    space = {
        "rate": optuna.distributions.FloatDistribution(1e-5, 1e-1, log=True),
        "x": optuna.distributions.FloatDistribution(-2.0, 3.0),
        "hidden": optuna.distributions.IntDistribution(16, 1024, log=True),
        "clip": optuna.distributions.FloatDistribution(0.5, 2.0, step=0.025),
        "kind": optuna.distributions.CategoricalDistribution([0, 1, 2]),
    }
    rng = numpy.random.default_rng(7)

    # Integers and steps without repetition: among equal values, the order of the sort decides which are at the edge.
    hidden, clip = rng.permutation(numpy.arange(16, 1024)), rng.permutation(61)

    def draw(i):
        return [
            float(f"{10 ** rng.uniform(-5, -1):.6g}"),
            float(f"{rng.uniform(-2, 3):.6g}"),
            int(hidden[i]),
            round(0.5 + 0.025 * int(clip[i]), 3),
            int(rng.integers(3)),
        ]

    answer = []
    for count in [0, 1, 2, 30]:
        rows, points = [draw(i) for i in range(count)], [draw(i) for i in range(50, 54)]
        columns = lambda values: {name: numpy.array([v[i] for v in values], float) for i, name in enumerate(space)}
        parameters = parzen_estimator._ParzenEstimatorParameters(1.0, True, False, default_weights, True)
        estimate = parzen_estimator._ParzenEstimator(columns(rows), space, parameters)
        logs = [float(v) for v in estimate.log_pdf(columns(points))]
        answer.append({"rows": rows, "points": points, "log_densities": logs})
    return answer


def round6(values):
    return [float(f"{v:.6g}") for v in values]


tpe = lambda seed: optuna.samplers.TPESampler(seed=seed)
nsga2 = lambda seed: optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
seeds = range(SEEDS)
answer = {
    "optuna": optuna.__version__,
    "trials": TRIALS,
    "trials_of_two": TRIALS_OF_TWO,
    "population": POPULATION,
    "corner": CORNER,
    "tpe_best": {
        "branin": round6(best(ask_branin, tpe(s)) for s in seeds),
        "rosenbrock": round6(best(ask_rosenbrock, tpe(s)) for s in seeds),
        "mixed": round6(best(ask_mixed, tpe(s)) for s in seeds),
    },
    "tpe_hypervolume": round6(hypervolume(ask_zdt1, tpe(s)) for s in seeds),
    "nsga2_hypervolume": round6(hypervolume(ask_zdt1, nsga2(s)) for s in seeds),
    "densities": densities(),
    "probes": {
        "branin": branin(2.5, 7.5),
        "rosenbrock": rosenbrock([0.5, -1.0, 1.5, 0.25]),
        "mixed": mixed(2e-4, 100, 3, 0.75, 2, 1, 0.5),
        "zdt1": zdt1([0.3, 0.1, 0.9, 0.4, 0.0]),
    },
}
# One line for each key and sample.
text = json.dumps(answer, indent=1)
text = re.sub(r"\[[^\[\]]*\]", lambda found: re.sub(r"\s+", " ", found[0]), text)
pathlib.Path(__file__).with_name("samplers.json").write_text(text + "\n")
