//! Lasting changes of a series, and single values apart from it.
//!
//! A change is found as in Hunter: E-divisive proposes where the series splits, Student's t-test decides. Unlike the
//! permutation test of E-divisive it gives the same answer every time.

use crate::base::statistics::mean;

use super::student::student_tails;

/// Fewest values on either side of a change: one or two apart may be blips.
pub(in crate::compare) const SEGMENT: usize = 3;
/// Values that the first pass looks at together, so that a change is not lost among many older ones.
const WINDOW: usize = 50;
/// Largest p-value of a change, before the correction for the number of series.
const ALPHA: f64 = 0.001;
/// How much larger it may be in the first pass; what falls short of [`ALPHA`] is merged again.
const WEAK: f64 = 10.0;
/// Probability of any blip in series without one, of all series together.
const BLIP_ALPHA: f64 = 0.01;
/// Fewest values of a segment that a blip is judged by.
const BLIP_SEGMENT: usize = 5;
/// At most one value in so many is a blip; more of them are the spread of the series.
const VALUES_PER_BLIP: usize = 10;

/// What was found in a series; places count from 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::compare) struct Found {
    pub(in crate::compare) changes: Vec<Step>,
    pub(in crate::compare) blips: Vec<Step>,
}

/// A change or a blip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Step {
    /// The first value after the change, or the blip.
    pub(in crate::compare) at: usize,
    /// Mean of the segment before the change, or of the other values of the blip's segment.
    pub(in crate::compare) before: f64,
    /// Mean of the segment from the change on, or the blip's value.
    pub(in crate::compare) after: f64,
    /// Two-sided p-value: of the t-test between the two segments, or of the blip's deleted residual times the values of
    /// the series.
    pub(in crate::compare) p: f64,
}

/// Finds changes and blips of `values`, one of `series` series that are judged together. `least` is the smallest difference
/// of means that matters, in the unit of the values.
///
/// A blip is a value whose deleted residual in its segment is significant, and which both neighbours lie less than half
/// as far from: away and back. It is set aside before changes are looked for again. Both p-values are corrected for the
/// number of series (Bonferroni), those of blips for the number of values too.
///
/// # Source
/// Fleming et al. 2023 (Hunter, arXiv 2301.03034), with segments of at least three values; blips: Cook & Weisberg 1982,
/// §2.2.2.
pub(in crate::compare) fn changes_and_blips(values: &[f64], series: usize, least: f64) -> Found {
    let alpha = ALPHA / series.max(1) as f64;
    let tests = (values.len() * series.max(1)) as f64;
    let mut kept: Vec<usize> = (0..values.len()).collect();
    let mut blips = Vec::new();
    loop {
        let series: Vec<f64> = kept.iter().map(|&at| values[at]).collect();
        let changes = change_points(&series, alpha, least);
        let blip = farthest(&series, &changes, least).filter(|blip| blip.p * tests < BLIP_ALPHA);
        let Some(blip) = blip.filter(|_| (blips.len() + 1) * VALUES_PER_BLIP <= values.len())
        else {
            let place = |change: Step| Step {
                at: kept[change.at],
                ..change
            };
            blips.sort_by_key(|blip: &Step| blip.at);
            return Found {
                changes: changes.into_iter().map(place).collect(),
                blips,
            };
        };
        blips.push(Step {
            at: kept.remove(blip.at),
            p: (blip.p * values.len() as f64).min(1.0),
            ..blip
        });
    }
}

/// The changes of a series: splits of windows that are significant at [`WEAK`] times `alpha`, merged until each is
/// significant at `alpha` and larger than `least`.
fn change_points(values: &[f64], alpha: f64, least: f64) -> Vec<Step> {
    let mut places = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values.len().min(start + WINDOW);
        let found = divided(&values[start..end], alpha * WEAK);
        places.extend(found.iter().map(|at| start + at));
        let last = found.last().map_or(0, |at| start + at);
        start = last.max(start + WINDOW / 2);
    }
    places.sort_unstable();
    places.dedup();
    loop {
        let steps = steps(values, &places);
        let size = |step: &Step| (step.after - step.before).abs();
        let weakest = steps
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.p.total_cmp(&b.1.p));
        let smallest = || {
            let all = steps.iter().enumerate();
            all.min_by(|a, b| size(a.1).total_cmp(&size(b.1)))
        };
        let dropped = weakest
            .filter(|(_, step)| step.p >= alpha)
            .or_else(|| smallest().filter(|(_, step)| size(step) <= least));
        match dropped {
            Some((place, _)) => _ = places.remove(place),
            None => return steps,
        }
    }
}

/// The steps between the segments that `places` bound.
fn steps(values: &[f64], places: &[usize]) -> Vec<Step> {
    let ends = places.iter().skip(1).copied().chain([values.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    let around = starts.zip(places).zip(ends);
    let step = |((start, &at), end): ((usize, &usize), usize)| {
        let (before, after) = (&values[start..at], &values[at..end]);
        Step {
            at,
            before: mean(before).unwrap_or_default(),
            after: mean(after).unwrap_or_default(),
            p: t_test(before, after),
        }
    };
    around.map(step).collect()
}

/// Places where a series splits, in order: the best split of any segment, again and again while the parts of that segment
/// differ significantly.
fn divided(values: &[f64], alpha: f64) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    loop {
        let starts = [0].into_iter().chain(places.iter().copied());
        let ends = places.iter().copied().chain([values.len()]);
        let splits = starts.zip(ends).filter_map(|(start, end)| {
            let (energy, at) = best_split(&values[start..end])?;
            Some((energy, start, start + at, end))
        });
        let best = splits.max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, start, at, end)) = best else {
            return places;
        };
        if t_test(&values[start..at], &values[at..end]) > alpha {
            return places;
        }
        places.push(at);
        places.sort_unstable();
    }
}

/// The place τ at which `X = values[..τ]` and `Y = values[τ..κ]` differ most for any κ, with the scaled energy distance
/// there; `None` where there are too few values for two segments.
///
/// `Q = 2/(n + m) Σ |Xᵢ − Yⱼ| − 2m/((n + m)(n − 1)) Σᵢ﹤ₖ |Xᵢ − Xₖ| − 2n/((n + m)(m − 1)) Σⱼ﹤ₖ |Yⱼ − Yₖ|`, with n values in X
/// and m in Y.
///
/// # Source
/// Matteson & James 2014, eq. (5) and (7), α = 1.
fn best_split(values: &[f64]) -> Option<(f64, usize)> {
    // Sums of the distances of each value from the first 0, 1, … values before it.
    let sums = values.iter().enumerate().map(|(place, value)| {
        let distances = values[..place].iter().map(|other| (value - other).abs());
        let sums = distances.scan(0.0, |sum, distance| {
            *sum += distance;
            Some(*sum)
        });
        [0.0].into_iter().chain(sums).collect()
    });
    let sums: Vec<Vec<f64>> = sums.collect();
    let mut best: Option<(f64, usize)> = None;
    let mut within_left = 0.0;
    for at in 1..values.len() {
        within_left += sums[at - 1][at - 1];
        let (mut across, mut within_right) = (0.0, 0.0);
        for end in at + 1..=values.len() {
            let last = &sums[end - 1];
            across += last[at];
            within_right += last[end - 1] - last[at];
            if at < SEGMENT || end - at < SEGMENT {
                continue;
            }
            let (n, m) = (at as f64, (end - at) as f64);
            let within = m / (n - 1.0) * within_left + n / (m - 1.0) * within_right;
            let energy = 2.0 / (n + m) * (across - within);
            if best.is_none_or(|(most, _)| energy > most) {
                best = Some((energy, at));
            }
        }
    }
    best
}

/// Two-sided p-value of Student's t-test with pooled variance; 1 for fewer than three values.
///
/// # Source
/// `scipy.stats.ttest_ind`; where all values of each side are equal, 0 for different sides and 1 for equal ones.
fn t_test(before: &[f64], after: &[f64]) -> f64 {
    let (Some(old), Some(new)) = (mean(before), mean(after)) else {
        return 1.0;
    };
    let freedom = (before.len() + after.len()).saturating_sub(2);
    let pooled = (squares(before, old) + squares(after, new)) / freedom as f64;
    let error = (pooled * (1.0 / before.len() as f64 + 1.0 / after.len() as f64)).sqrt();
    let difference = (new - old).abs();
    if freedom == 0 || difference == 0.0 {
        1.0
    } else {
        student_tails(difference / error, freedom)
    }
}

fn squares(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// The value with the smallest p-value of its deleted residual that is away and back, not corrected for the number of
/// values; `before` is the mean of the other values of its segment.
fn farthest(values: &[f64], changes: &[Step], least: f64) -> Option<Step> {
    let places = || changes.iter().map(|change| change.at);
    let starts = [0].into_iter().chain(places());
    let segments = starts.zip(places().chain([values.len()]));
    let blips = segments.filter(|(start, end)| end - start >= BLIP_SEGMENT);
    let blips = blips.flat_map(|(start, end)| {
        let segment = &values[start..end];
        let sum: f64 = segment.iter().sum();
        let last = values.len() - 1;
        let inner = (start.max(1)..end.min(last)).map(move |at| {
            let others = (sum - values[at]) / (segment.len() - 1) as f64;
            let p = deleted_residual(segment, at - start);
            (at, others, p)
        });
        inner.filter(move |&(at, others, _)| {
            let size = (values[at] - others).abs();
            let is_back = |near: usize| (values[near] - others).abs() < size / 2.0;
            size > least && is_back(at - 1) && is_back(at + 1)
        })
    });
    let (at, before, p) = blips.min_by(|a, b| a.2.total_cmp(&b.2))?;
    let after = values[at];
    Some(Step {
        at,
        before,
        after,
        p,
    })
}

/// Two-sided p-value of a value's residual from the mean of the others, by Student's t with n − 2 degrees of freedom.
///
/// # Source
/// `statsmodels` `OLS(values, 1).fit().outlier_test()`.
fn deleted_residual(values: &[f64], at: usize) -> f64 {
    let mut others = values.to_vec();
    let value = others.remove(at);
    t_test(&others, &[value])
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Values of Apache Otava, SciPy and statsmodels, written by `tests/reference/history/make.py`.
    #[derive(Deserialize)]
    struct Expected {
        splits: Vec<Split>,
        changes: Vec<Series>,
        residuals: Vec<Residuals>,
    }

    #[derive(Deserialize)]
    struct Split {
        values: Vec<f64>,
        at: usize,
        energy: f64,
    }

    #[derive(Deserialize)]
    struct Series {
        values: Vec<f64>,
        alpha: f64,
        least: f64,
        changes: Vec<Change>,
    }

    #[derive(Deserialize)]
    struct Change {
        at: usize,
        before: f64,
        after: f64,
        p: f64,
    }

    #[derive(Deserialize)]
    struct Residuals {
        values: Vec<f64>,
        p: Vec<f64>,
    }

    fn expected() -> Expected {
        let text = include_str!("../../../../tests/reference/history/expected.json");
        serde_json::from_str(text).expect("the reference file")
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-9,
            "{found}, expected {expected}"
        );
    }

    #[test]
    fn splits_are_those_of_the_authors() {
        for case in expected().splits {
            let (energy, at) = best_split(&case.values).expect("a split");
            assert_eq!(at, case.at);
            assert_close(energy, case.energy);
        }
    }

    #[test]
    fn changes_are_those_of_the_authors_with_the_t_test_of_scipy() {
        let mut count = 0;
        for case in expected().changes {
            let found = change_points(&case.values, case.alpha, case.least);
            assert_eq!(found.len(), case.changes.len());
            for (found, expected) in found.iter().zip(&case.changes) {
                assert_eq!(found.at, expected.at);
                assert_close(found.before, expected.before);
                assert_close(found.after, expected.after);
                assert_close(found.p, expected.p);
            }
            count += found.len();
        }
        assert!(count >= 20, "the cases have changes");
    }

    #[test]
    fn deleted_residuals_are_those_of_statsmodels() {
        for case in expected().residuals {
            for (at, p) in case.p.iter().enumerate() {
                assert_close(deleted_residual(&case.values, at), *p);
            }
        }
    }

    /// `count` values between 0 and 1 that repeat after eleven.
    fn values(count: usize) -> Vec<f64> {
        (0..count).map(|n| (n * 7 % 11) as f64 / 10.0).collect()
    }

    #[test]
    fn a_blip_is_away_and_back_and_hides_no_change() {
        let mut series = values(40);
        series[25..].iter_mut().for_each(|value| *value += 3.0);
        series[10] += 8.0;
        let found = changes_and_blips(&series, 1, 0.1);
        let places = |steps: &[Step]| steps.iter().map(|step| step.at).collect::<Vec<_>>();
        assert_eq!(places(&found.changes), [25]);
        assert_eq!(places(&found.blips), [10]);
        // What does not matter is neither.
        assert_eq!(changes_and_blips(&series, 1, 20.0), Found::default());
    }

    #[test]
    fn the_last_values_are_no_blip_as_nothing_says_that_they_went_back() {
        for away in 1..SEGMENT {
            let mut series = values(30);
            series[30 - away..]
                .iter_mut()
                .for_each(|value| *value += 8.0);
            assert_eq!(changes_and_blips(&series, 1, 0.1).blips, []);
        }
    }

    #[test]
    fn series_without_spread_or_with_few_values_have_an_answer() {
        for count in [0, 1, 5, 60] {
            assert_eq!(
                changes_and_blips(&vec![1.0; count], 1, 0.0),
                Found::default()
            );
        }
        let step = [vec![1.0; 10], vec![2.0; 10]].concat();
        let found = changes_and_blips(&step, 1, 0.0);
        assert_eq!((found.changes[0].at, found.changes[0].p), (10, 0.0));
    }
}
