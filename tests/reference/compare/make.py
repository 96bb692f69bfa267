"""Writes expected.json: tests, corrections and quantiles as computed by SciPy, statsmodels and NumPy.

pip install scipy==1.17.1 statsmodels==0.15.0 numpy==2.4.6; python make.py
"""

import collections
import itertools
import json
import math
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20261121)


def numbers(values):
    return [float(value) for value in values]


def mann_whitney():
    cases = []
    sizes = [(1, 1), (2, 3), (3, 3), (4, 4), (5, 5), (6, 6), (6, 9), (10, 10), (13, 7), (20, 20), (20, 3), (25, 25)]
    for (n, m), shift in itertools.product(sizes, [0.0, 0.3, 2.0]):
        before, after = rng.normal(10, 1, n), rng.normal(10 + shift, 1, m)
        p = scipy.stats.mannwhitneyu(before, after, method="exact").pvalue
        cases.append({"before": numbers(before), "after": numbers(after), "p": float(p), "ties": False})
    for (n, m), shift in itertools.product(sizes[2:], [0, 1, 3]):
        before, after = rng.integers(1, 8, n), rng.integers(1 + shift, 8 + shift, m)
        before[0] = after[0]
        cases.append({"before": numbers(before), "after": numbers(after), "p": tied(before, after), "ties": True})
    own = np.random.default_rng(49)
    before, after = own.integers(1, 8, 30), own.integers(2, 9, 30)
    p = scipy.stats.mannwhitneyu(before, after, method="asymptotic").pvalue
    cases.append({"before": numbers(before), "after": numbers(after), "p": float(p), "ties": True})
    return cases


def tied(before, after):
    """Over all arrangements: by SciPy where it can go through them, else by counting the choices of ranks with each sum."""
    n, m = len(after), len(before)
    ranks = scipy.stats.rankdata([*after, *before])
    if math.comb(n + m, n) <= 200_000:
        rank_sum = lambda own, other: np.sum(own)
        return float(scipy.stats.permutation_test((ranks[:n], ranks[n:]), rank_sum, n_resamples=np.inf).pvalue)
    choices = collections.Counter({(0, 0): 1})
    for rank in (2 * ranks).astype(int):
        choices.update({(k + 1, total + rank): ways for (k, total), ways in choices.items() if k < n})
    sums = {total: ways for (k, total), ways in choices.items() if k == n}
    own = int(np.sum(2 * ranks[:n]))
    tails = [sum(ways for total, ways in sums.items() if sign * (total - own) >= 0) for sign in (-1, 1)]
    return min(1.0, 2 * min(tails) / math.comb(n + m, n))


def sign_flip():
    """Without ties SciPy's exact test; with ties and zeros all patterns of signs, gone through."""
    cases = []
    for n, shift in itertools.product([1, 2, 5, 6, 10, 14, 20], [0.0, 0.4, 1.5]):
        differences = rng.normal(shift, 1, n)
        p = scipy.stats.wilcoxon(differences, method="exact").pvalue
        cases.append({"differences": numbers(differences), "p": float(p)})
    for n, shift in itertools.product([3, 6, 10, 12], [0, 1]):
        differences = rng.integers(-3, 4, n) + shift
        ranks = scipy.stats.rankdata(abs(differences)) * (differences != 0)
        observed = abs(np.sum(np.sign(differences) * ranks))
        sums = [abs(np.dot(signs, ranks)) for signs in itertools.product([-1, 1], repeat=n)]
        p = np.mean(np.array(sums) >= observed - 1e-9)
        cases.append({"differences": numbers(differences), "p": float(p)})
    return cases


def holm():
    cases = []
    for n in [1, 2, 5, 20]:
        p = rng.beta(0.3, 2, n)
        cases.append({"p": numbers(p), "adjusted": numbers(multipletests(p, method="holm")[1])})
    p = [0.01, 0.04, 0.01, 0.5, 0.04]
    cases.append({"p": p, "adjusted": numbers(multipletests(p, method="holm")[1])})
    return cases


def quantiles():
    cases = []
    shares = [0.0, 0.025, 0.25, 0.5, 0.75, 0.9, 0.975, 1.0]
    for n in [1, 2, 5, 6, 10, 21]:
        values = rng.lognormal(0, 0.5, n)
        expected = np.quantile(values, shares)
        cases.append({"values": numbers(values), "median": float(np.median(values)),
                      "shares": shares, "quantiles": numbers(expected)})
    return cases


def student():
    grid = itertools.product([0.5, 0.8, 0.975, 0.98, 0.99875, 0.0025], [1, 2, 3, 4, 9, 18, 38, 171])
    return [{"share": q, "freedom": v, "t": float(scipy.stats.t.ppf(q, v))} for q, v in grid]


def capital(x, shift, multiples, most):
    """Largest capital over all pairs of bets on `x > shift`, on `x < shift`, and of half of each: the definition, pair by pair."""
    y, best = np.asarray(x) - shift, np.ones(3)
    for n in range(1, len(y) + 1):
        now = np.zeros(2)
        for multiple in multiples:
            product = np.ones(2)
            for i in range(n):
                scale = 0.02 if i == 0 else max(np.median(abs(y[:i])), 1e-9)
                bet = most * np.tanh(multiple * y[i] / scale)
                product *= [1 + bet, 1 - bet]
            now += product / len(multiples)
        best = np.maximum(best, [*now, now.mean()])
    return best


def sign_bets():
    """Evidence against a threshold of 2 %, and the 95 % interval by a root finder."""
    any_effect, near, threshold = ([0.5, 1, 2, 4], 0.9), ([0.75, 1.5], 0.8), np.log(1.02)
    cases = []
    for n, shift in itertools.product([1, 2, 5, 8, 12, 20], [0.0, 0.03, -0.1]):
        x = rng.normal(shift, 0.03, n)
        x[n // 2] += np.log(2) * (n > 8)
        low, high = capital(x, -threshold, *any_effect), capital(x, threshold, *any_effect)
        in_low, in_high = capital(x, -threshold, *near), capital(x, threshold, *near)
        case = {"log_ratios": numbers(x), "threshold": float(threshold), "effect": float(capital(x, 0, *any_effect)[2]),
                "beyond": numbers([low[1], high[0]]), "within": numbers([in_low[0], in_high[1]]), "interval": None}
        is_out = lambda theta: capital(x, theta, *any_effect)[2] - 20
        reach, centre = 64 * max(0.02, abs(x - np.median(x)).max()), np.median(x)
        if is_out(centre - reach) >= 0 and is_out(centre + reach) >= 0:
            case["interval"] = numbers([scipy.optimize.bisect(is_out, *ends, xtol=1e-11)
                                        for ends in [(centre - reach, centre), (centre, centre + reach)]])
        cases.append(case)
    return cases


if __name__ == "__main__":
    cases = {"mann_whitney": mann_whitney(), "sign_flip": sign_flip(), "holm": holm(),
             "quantiles": quantiles(), "student": student(), "sign_bets": sign_bets()}
    # One case per line, for small diffs.
    parts = [f' "{name}": [\n  ' + ",\n  ".join(json.dumps(case) for case in rows) + "\n ]" for name, rows in cases.items()]
    Path(__file__).with_name("expected.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
