//! Lasting changes of a series, and blips: single values apart from those around them.
//!
//! A change is found as in Hunter: E-divisive proposes where the series splits, Student's t-test decides. Unlike the
//! permutation test of E-divisive it gives the same answer every time.

use crate::base::statistics::mean;

use super::student::student_tails;

/// Fewest values on either side of a change: one or two outlying values may be blips.
pub(in crate::compare) const SEGMENT: usize = 3;
/// Number of values that the first pass looks at together, so that a change is not lost among many older ones.
const WINDOW: usize = 50;
/// Significance level of a change, divided by the number of series.
const ALPHA: f64 = 0.001;
/// Factor of [`ALPHA`] in the first pass; changes that fail [`ALPHA`] are merged again.
const WEAK: f64 = 10.0;
/// Probability that any blip is found in series without blips, over all series together.
const BLIP_ALPHA: f64 = 0.01;
/// At most one of this many values is a blip; further outlying values count as the spread of the series.
const VALUES_PER_BLIP: usize = 10;

/// Changes and blips of a series; positions count from 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::compare) struct Found {
    pub(in crate::compare) changes: Vec<Step>,
    pub(in crate::compare) blips: Vec<Step>,
}

/// A lasting change of the mean of a series, or a blip (a single value apart).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Step {
    /// Index of the first value after the change, or of the blip.
    pub(in crate::compare) at: usize,
    /// Mean of the segment before the change, or of the other values of the blip's segment.
    pub(in crate::compare) before: f64,
    /// Mean of the segment from the change on, or the blip's value.
    pub(in crate::compare) after: f64,
    /// Two-sided p-value: of the t-test between the two segments; of a blip, that of its deleted residual, multiplied by the
    /// number of values (Bonferroni).
    pub(in crate::compare) p: f64,
}

/// Finds changes and blips of `values`, one of `series` series that are judged together. `least` is the smallest
/// difference of means that matters, in the unit of the values.
///
/// A blip is a value whose deleted residual in its segment is significant, and from which the series returns at once:
/// it differs from the mean of the other values of its segment by more than `least`, while both neighbours differ from
/// that mean by less than half as much. A blip is removed before changes are looked for again. Both p-values are
/// corrected for the number of series (Bonferroni), those of blips for the number of values too.
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
        let rest: Vec<f64> = kept.iter().map(|&at| values[at]).collect();
        let changes = change_points(&rest, alpha, least);
        let blip = farthest(&rest, &changes, least).filter(|blip| blip.p * tests < BLIP_ALPHA);
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

/// The segments of a series that begin at 0 and at `places`, each with the index of its first value.
fn segments<'a>(values: &'a [f64], places: &[usize]) -> Vec<(usize, &'a [f64])> {
    let starts = [0].into_iter().chain(places.iter().copied());
    let ends = places.iter().copied().chain([values.len()]);
    let segments = starts
        .zip(ends)
        .map(|(start, end)| (start, &values[start..end]));
    segments.collect()
}

/// The steps between the segments that begin at `places`.
fn steps(values: &[f64], places: &[usize]) -> Vec<Step> {
    let segments = segments(values, places);
    let step = |pair: &[(usize, &[f64])]| Step {
        at: pair[1].0,
        before: mean(pair[0].1).unwrap_or_default(),
        after: mean(pair[1].1).unwrap_or_default(),
        p: t_test(pair[0].1, pair[1].1),
    };
    segments.windows(2).map(step).collect()
}

/// Places where a series splits, in order: the best split of any segment, again and again while the parts of that segment
/// differ significantly.
fn divided(values: &[f64], alpha: f64) -> Vec<usize> {
    let mut places = Vec::new();
    loop {
        let splits = segments(values, &places)
            .into_iter()
            .filter_map(|(start, segment)| {
                let (energy, at) = best_split(segment)?;
                Some((energy, start + at, t_test(&segment[..at], &segment[at..])))
            });
        match splits.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, at, p)) if p <= alpha => places.push(at),
            _ => return places,
        }
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

/// The most significant blip: a value that differs from the mean of the other values of its segment by more than
/// `least`, while both neighbours differ from that mean by less than half as much. Its p-value is that of its deleted
/// residual, not corrected for the number of values; `None` without a blip.
fn farthest(values: &[f64], changes: &[Step], least: f64) -> Option<Step> {
    let places: Vec<usize> = changes.iter().map(|change| change.at).collect();
    let is_blip = |step: &Step| {
        let size = (step.after - step.before).abs();
        let is_back =
            |near: Option<&f64>| near.is_some_and(|value| (value - step.before).abs() < size / 2.0);
        let before = step.at.checked_sub(1).and_then(|near| values.get(near));
        size > least && is_back(before) && is_back(values.get(step.at + 1))
    };
    let blips = deleted_residuals(values, &places)
        .into_iter()
        .filter(is_blip);
    blips.min_by(|a, b| a.p.total_cmp(&b.p))
}

/// For each value (`after`): the mean of the other values of its segment (`before`), and the two-sided p-value of their
/// difference by Student's t. The spread is that of all segments without the value.
///
/// # Source
/// `statsmodels` `OLS(values, segment).fit().outlier_test()`, with a constant for each segment.
fn deleted_residuals(values: &[f64], places: &[usize]) -> Vec<Step> {
    let segments = segments(values, places).into_iter();
    let segments = segments.filter_map(|(start, segment)| Some((start, segment, mean(segment)?)));
    let segments: Vec<(usize, &[f64], f64)> = segments.collect();
    let freedom = values.len().saturating_sub(segments.len() + 1);
    let total = segments
        .iter()
        .map(|(_, segment, mean)| squares(segment, *mean));
    let total: f64 = total.sum();
    let steps = segments.into_iter().flat_map(|(start, segment, mean)| {
        let count = segment.len() as f64;
        (start..).zip(segment).map(move |(at, &after)| {
            let before = (mean * count - after) / (count - 1.0);
            let difference = (after - before).abs();
            let of_others = total - difference.powi(2) * (count - 1.0) / count;
            let spread = of_others.max(0.0) / freedom as f64;
            let error = (spread * count / (count - 1.0)).sqrt();
            let p = if freedom == 0 || difference == 0.0 {
                1.0
            } else {
                student_tails(difference / error, freedom)
            };
            Step {
                at,
                before,
                after,
                p,
            }
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests;
