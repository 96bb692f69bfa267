//! The tree-structured Parzen estimator.

mod kernels;
mod mixture;
mod normal;
#[cfg(test)]
mod reference;
mod split;

use rand_chacha::ChaCha8Rng;

use crate::plan::search::{Domain, FailedTrials, Point, Space, TpeSection, Value};
use crate::search::TrialRecord;

use super::unit::build_point;
use super::{random, unit};
use mixture::Mixture;
use split::split;

/// Maximum number of other (not good) trials whose density is estimated.
///
/// With more, only every second, third, … of them is used: proposing trial 10,000 then costs no more than trial 1,000,
/// and the estimate of where results were *not* good hardly changes.
const BAD_AT_MOST: usize = 1000;

/// Proposes points that are likely among the good trials and unlikely among the others.
///
/// Of `n` trials the best `min(⌈n / 10⌉, 25)` are good, and failed ones never ([`split()`]). The densities `l` of the
/// good and `g` of the other trials are mixtures with one kernel per trial and a flat one ([`Mixture`]), joint over all
/// parameters with the same condition; those of a conditional parameter are fitted to the trials that have it. Of
/// `candidates` points drawn from `l`, the one with the largest `l / g` is proposed. If trials failed, `l / g` is
/// multiplied by the estimated probability that a trial at this point does not fail, from the densities of failed and
/// other trials. Until `startup_trials` trials are known, points are drawn at random.
///
/// # Source
/// Bergstra et al. 2011, *Algorithms for Hyper-Parameter Optimization*, §4; Watanabe 2023, *Tree-Structured Parzen
/// Estimator*; Watanabe & Hutter 2023, *c-TPE*, for failures. With [`FailedTrials::Ignore`] it equals Optuna 5's
/// `TPESampler` (`multivariate`) with three differences: parameters under one condition are estimated jointly, not
/// separately; with several objectives the last front is thinned by crowding, not by hypervolume; and [`BAD_AT_MOST`].
pub(super) fn point(
    settings: &TpeSection,
    space: &Space,
    past: &[TrialRecord],
    failed: FailedTrials,
    rng: &mut ChaCha8Rng,
) -> Point {
    let split = split(past, failed);
    if split.count() < settings.startup_trials.max(1) {
        return random::draw(space, rng);
    }
    let mut drawn: Vec<Option<Value>> = vec![None; space.parameters.len()];
    build_point(space, |index, parameter| {
        if unit::levels(&parameter.domain) == Some(1) {
            return unit::level(&parameter.domain, 0);
        }
        if drawn[index].is_none() {
            let group = group(space, index);
            let values = draw_group(settings.candidates, space, &group, &split, rng);
            for (index, value) in group.into_iter().zip(values) {
                drawn[index] = Some(value);
            }
        }
        drawn[index].unwrap_or_else(|| unit::level(&parameter.domain, 0))
    })
}

/// Returns values of the parameters `group`, which are active together: the best of `candidates` points drawn from the
/// good trials' density.
fn draw_group(
    candidates: usize,
    space: &Space,
    group: &[usize],
    split: &split::Split<'_>,
    rng: &mut ChaCha8Rng,
) -> Vec<Value> {
    let domains = group.iter().map(|&index| &space.parameters[index].domain);
    let domains: Vec<&Domain> = domains.collect();
    let rows = |records: &[&TrialRecord]| -> Vec<Vec<Value>> {
        let first = group.first().copied().unwrap_or_default();
        let have = records.iter().filter(|r| r.point.get(first).is_some());
        thinned(&have.collect::<Vec<_>>())
            .filter_map(|record| group.iter().map(|&i| record.point.get(i)).collect())
            .collect()
    };
    let good = Mixture::of_good(&domains, &rows(&split.good));
    let bad = Mixture::of_bad(&domains, &rows(&split.bad));
    let drawn = (0..candidates.max(1)).map(|_| good.draw(&domains, rng));
    let candidates: Vec<Vec<Value>> = drawn.collect();
    let mut of_good = good.densities(&domains, &candidates);
    let of_bad = bad.densities(&domains, &candidates);
    let (failed, others) = split.by_failure();
    let [failed, others] = [failed, others].map(|records| rows(&records));
    if !failed.is_empty() {
        let densities = |rows| Mixture::of_good(&domains, rows).densities(&domains, &candidates);
        let near = densities(&failed).into_iter().zip(densities(&others));
        for (density, (of_failed, of_others)) in of_good.iter_mut().zip(near) {
            let near_others = of_others * others.len() as f64;
            *density *= near_others / (near_others + of_failed * failed.len() as f64);
        }
    }
    let mut best = 0;
    for i in 1..candidates.len() {
        if of_good[i] * of_bad[best] > of_good[best] * of_bad[i] {
            best = i;
        }
    }
    candidates.into_iter().nth(best).unwrap_or_default()
}

/// Returns the parameters that are active exactly when `index` is, including itself, without those with a single value.
fn group(space: &Space, index: usize) -> Vec<usize> {
    let when = &space.parameters[index].when;
    (0..space.parameters.len())
        .filter(|&other| space.parameters[other].when == *when)
        .filter(|&other| unit::levels(&space.parameters[other].domain) != Some(1))
        .collect()
}

/// Returns at most [`BAD_AT_MOST`] of the items, evenly spaced, including the last.
fn thinned<T: Copy>(items: &[T]) -> impl Iterator<Item = T> {
    let stride = items.len().div_ceil(BAD_AT_MOST).max(1);
    let last = items.len().saturating_sub(1);
    items.iter().copied().skip(last % stride).step_by(stride)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::sampler::testing::{choice, float, space, when};

    #[test]
    fn parameters_of_one_condition_are_drawn_together() {
        let space = space([
            choice(2),
            float(0.0, 1.0),
            float(0.0, 1.0),
            float(0.0, 1.0),
            choice(1),
        ]);
        let space = when(when(space, 1, 0, &[1]), 3, 0, &[1]);
        assert_eq!(group(&space, 0), [0, 2]);
        assert_eq!(group(&space, 1), [1, 3]);
    }

    #[test]
    fn many_trials_are_thinned_evenly_and_the_last_is_kept() {
        let thin = |count: usize| thinned(&(0..count).collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(thin(BAD_AT_MOST), (0..BAD_AT_MOST).collect::<Vec<_>>());
        assert!(thin(0).is_empty());
        let found = thin(2 * BAD_AT_MOST + 1);
        assert!((BAD_AT_MOST / 2..=BAD_AT_MOST).contains(&found.len()));
        assert_eq!(found.last(), Some(&(2 * BAD_AT_MOST)));
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] == 3));
    }
}
