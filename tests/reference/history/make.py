"""Writes expected.json: change points by Apache Otava, Hunter's successor by its authors, with SciPy's t-test; deleted residuals
by statsmodels.

Otava's E-divisive and its windows are used. Replaced are its t-test, which divides squares by n, segments of one value, and its
merging, which leaves the statistics of the change before a removed one as they were, and compares relative sizes:
Fieldtrial's series are logarithms.

pip install apache-otava==0.8.0 scipy==1.16.3 statsmodels==0.15.0 numpy==2.2.0; python make.py
"""

import json
from pathlib import Path

import numpy as np
import otava.analysis as otava
import scipy.stats
import statsmodels.api as sm
from otava.change_point_divisive.base import CandidateChangePoint
from otava.change_point_divisive.calculator import PairDistanceCalculator

SEGMENT = 3
rng = np.random.default_rng(20261128)


def normal(n):
    return np.round(rng.normal(0, 1, n), 4)


class Calculator(PairDistanceCalculator):
    """Otava's, with segments of at least SEGMENT values."""

    def get_next_candidate(self, intervals):
        found = [self.get_candidate_change_point(interval) for interval in intervals]
        return max((one for one in found if one), key=lambda one: one.qhat, default=None)

    def get_candidate_change_point(self, interval):
        start = interval.start or 0
        end = len(self.series) if interval.stop is None else interval.stop
        if end - start < 2 * SEGMENT:
            return None
        q = self._get_Q_vals(start, end)
        row, column = np.indices(q.shape)
        at, after = row + 1, column + 2 - (row + 1)
        q = np.where((at >= SEGMENT) & (after >= SEGMENT), q, -np.inf)
        i, j = np.unravel_index(np.argmax(q), q.shape)
        return CandidateChangePoint(index=int(i + 1 + start), qhat=float(q[i][j]))


class Tester(otava.TTestSignificanceTester):
    def compare(self, left, right):
        p = scipy.stats.ttest_ind(left, right).pvalue
        return otava.TTestStats(pvalue=float(p), mean_1=np.mean(left), mean_2=np.mean(right), std_1=0.0, std_2=0.0)


otava.PairDistanceCalculator = Calculator
otava.TTestSignificanceTester = Tester


def merged(points, values, alpha, least):
    """Drops the weakest point until all are significant and larger than least; every point is tested again each time."""
    tester = Tester(alpha)
    while True:
        intervals = tester.get_intervals(points)
        points = [tester.change_point(point.to_candidate(), values, intervals) for point in points]
        if not points:
            return points
        weakest = max(points, key=lambda point: point.stats.pvalue)
        if weakest.stats.pvalue < alpha:
            weakest = min(points, key=lambda point: abs(point.stats.mean_1 - point.stats.mean_2))
            if abs(weakest.stats.mean_1 - weakest.stats.mean_2) > least:
                return points
        points.remove(weakest)


def splits():
    cases = []
    for n in [6, 7, 10, 25, 50]:
        for shift in [0.0, 1.0, 4.0]:
            values = normal(n)
            values[n // 3 :] += shift
            best = Calculator(values).get_candidate_change_point(slice(0, n))
            cases.append({"values": values.tolist(), "at": best.index, "energy": best.qhat})
    return cases


def changes():
    cases = []
    for n in [5, 8, 20, 50, 60, 130]:
        for shifts in [[], [2.0], [4.0, -3.0], [1.5, 1.5, 1.5]]:
            values = normal(n)
            for part, shift in enumerate(shifts, 1):
                values[part * n // (len(shifts) + 1) :] += shift
            values = values.tolist()
            for alpha, least in [(0.001, 0.5), (0.001 / 8, 2.0)]:
                weak = otava.split(values, window_len=50, max_pvalue=10 * alpha)
                found = merged(weak, values, alpha, least)
                found = [{"at": one.index, "before": float(one.stats.mean_1), "after": float(one.stats.mean_2),
                          "p": one.stats.pvalue} for one in found]
                cases.append({"values": values, "alpha": alpha, "least": least, "changes": found})
    return cases


def residuals():
    cases = []
    for n, places in [(6, []), (12, [5]), (60, [20, 43]), (60, [])]:
        segment = np.searchsorted(places, np.arange(n), side="right")
        values = normal(n) + 2 * segment
        values[n // 2] += 5
        constants = np.eye(len(places) + 1)[segment]
        p = sm.OLS(values, constants).fit().outlier_test()[:, 1]
        cases.append({"values": values.tolist(), "places": places, "p": p.tolist()})
    return cases


if __name__ == "__main__":
    cases = {"splits": splits(), "changes": changes(), "residuals": residuals()}
    # One case per line, for small diffs.
    parts = [f' "{name}": [\n  ' + ",\n  ".join(json.dumps(case) for case in rows) + "\n ]" for name, rows in cases.items()]
    Path(__file__).with_name("expected.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
