//! The non-dominated sorting genetic algorithm II (NSGA-II).

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::base::pareto::dominates;
use crate::plan::search::{FailedTrials, Nsga2Section, Point, Space};
use crate::search::{TrialRecord, TrialResult};

use super::unit::build_point;
use super::{front, random, unit};

/// Probability that a child has two parents (crossover).
const CROSSOVER: f64 = 0.9;
/// Probability that a parameter comes from the second parent.
const SWAP: f64 = 0.5;

/// Derives each trial from the best trials of earlier generations.
///
/// A generation is `population` trials in the order of their numbers, without pruned ones. Failed trials are never
/// parents; `failed` says whether they count as members of their generation. The parents are the best `population` of
/// the last complete generation and of its parents: by front, then the least crowded. With probability 0.9 a child has
/// two parents, each the winner of a binary tournament, and takes each parameter from one of them; otherwise it has one
/// parent drawn from all. Each parameter is drawn anew with probability 1 / parameters (mutation), and also if neither
/// parent has it.
///
/// With a lag, the first trials of a generation are proposed without the last results of the generation before, and so
/// have the same parents as that generation.
///
/// # Source
/// Deb et al. 2002; Optuna's `NSGAIISampler`, which applies crossover only to parameters that every trial has.
pub(super) fn point(
    settings: &Nsga2Section,
    space: &Space,
    past: &[TrialRecord],
    failed: FailedTrials,
    rng: &mut ChaCha8Rng,
) -> Point {
    let parents = parents(past, failed, settings.population.max(2));
    if parents.is_empty() {
        return random::draw(space, rng);
    }
    child(space, &parents, rng)
}

/// Point and values of a trial that can be a parent.
type Individual<'a> = (&'a Point, &'a [f64]);

/// Returns a trial that can be a parent; `None` for a failed one.
fn individual(record: &TrialRecord) -> Option<Individual<'_>> {
    let values = record.values()?;
    let is_known = !values.iter().any(|value| value.is_nan());
    is_known.then_some((&record.point, values))
}

/// Returns the parents of the next trial; empty before the first generation is complete.
fn parents(past: &[TrialRecord], failed: FailedTrials, population: usize) -> Vec<Individual<'_>> {
    let counts_failed = failed == FailedTrials::Worst;
    let individuals = past.iter().filter(|one| one.ending != TrialResult::Pruned);
    let individuals = individuals.map(individual);
    let counted = individuals.filter(|one| one.is_some() || counts_failed);
    let counted: Vec<Option<Individual<'_>>> = counted.collect();
    let mut parents: Vec<Individual<'_>> = Vec::new();
    for generation in counted.chunks_exact(population) {
        parents.extend(generation.iter().flatten());
        let values: Vec<&[f64]> = parents.iter().map(|(_, values)| *values).collect();
        let best = front::best(&values, population);
        parents = best.into_iter().map(|i| parents[i]).collect();
    }
    parents
}

fn child(space: &Space, parents: &[Individual<'_>], rng: &mut ChaCha8Rng) -> Point {
    let (first, second) = if rng.gen_bool(CROSSOVER) {
        let first = winner(parents, None, rng);
        (first, winner(parents, Some(first), rng))
    } else {
        let only = rng.gen_range(0..parents.len());
        (only, only)
    };
    let mutation = 1.0 / space.parameters.len().max(1) as f64;
    build_point(space, |index, parameter| {
        let (one, other) = if rng.gen_bool(SWAP) {
            (second, first)
        } else {
            (first, second)
        };
        let is_new = rng.gen_bool(mutation);
        let value = |parent: usize| parents[parent].0.get(index);
        match value(one).or_else(|| value(other)) {
            Some(value) if !is_new => value,
            _ => unit::value_at(&parameter.domain, rng.gen_range(0.0..1.0)),
        }
    })
}

/// Binary tournament: returns the better of two random parents other than `taken`; the second if neither is better.
fn winner(parents: &[Individual<'_>], taken: Option<usize>, rng: &mut ChaCha8Rng) -> usize {
    let free: Vec<usize> = (0..parents.len()).filter(|&i| Some(i) != taken).collect();
    let Some(last) = free.len().checked_sub(1) else {
        return 0;
    };
    let a = free[rng.gen_range(0..=last)];
    let b = free[rng.gen_range(0..=last)];
    if dominates(parents[a].1, parents[b].1) {
        a
    } else {
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::Value;
    use crate::search::sampler::testing::{choice, float, nsga2, records, space, when};

    fn ended(ending: TrialResult, number: usize) -> TrialRecord {
        TrialRecord {
            number,
            point: Point {
                values: vec![Some(Value::Float(number as f64))],
            },
            ending,
            curve: Vec::new(),
        }
    }

    fn numbers(past: &[TrialRecord], population: usize) -> Vec<f64> {
        parents(past, FailedTrials::Ignore, population)
            .iter()
            .map(|(point, _)| point.get(0).unwrap().as_f64())
            .collect()
    }

    #[test]
    fn parents_are_the_best_of_the_last_generation_and_of_its_parents() {
        let losses = [5.0, 1.0, 4.0, 3.0, 2.0, 9.0];
        let past: Vec<TrialRecord> = (0..6)
            .map(|number| ended(TrialResult::Done(vec![losses[number]]), number))
            .collect();
        assert!(numbers(&past[..1], 2).is_empty());
        assert_eq!(numbers(&past[..2], 2), [0.0, 1.0]);
        assert_eq!(numbers(&past[..3], 2), [0.0, 1.0]);
        assert_eq!(numbers(&past[..4], 2), [1.0, 3.0]);
        assert_eq!(numbers(&past, 2), [1.0, 4.0]);
    }

    #[test]
    fn pruned_failed_and_undefined_trials_have_no_children() {
        let past = [
            ended(TrialResult::Pruned, 0),
            ended(TrialResult::Done(vec![2.0]), 1),
            ended(TrialResult::Failed, 2),
            ended(TrialResult::Done(vec![f64::NAN]), 3),
            ended(TrialResult::Done(vec![1.0]), 4),
        ];
        assert_eq!(numbers(&past, 2), [1.0, 4.0]);
        // Where failed trials count, trials 1 and 2 form a generation, and so do trials 3 and 4.
        let of_two = |past| parents(past, FailedTrials::Worst, 2).len();
        assert_eq!([of_two(&past[..3]), of_two(&past)], [1, 2]);
    }

    #[test]
    fn a_child_has_what_exists_at_it_and_nothing_else() {
        // Three parameters are always active, so that children get new combinations without a mutation.
        let always = [float(0.0, 1.0), float(0.0, 1.0), float(0.0, 1.0)];
        let first = [choice(2), float(0.0, 1.0), float(0.0, 1.0)];
        let space = space(first.into_iter().chain(always));
        let space = when(when(space, 1, 0, &[0]), 2, 0, &[1]);
        let past = records(&nsga2(1, 4), &space, 40, 2, |point| {
            vec![point.get(0).unwrap().as_f64()]
        });
        for record in &past {
            let choice = record.point.choice(0);
            assert_eq!(record.point.get(1).is_some(), choice == Some(0));
            assert_eq!(record.point.get(2).is_some(), choice == Some(1));
        }
        let zeros = past[20..].iter().filter(|r| r.point.choice(0) == Some(0));
        let zeros = zeros.count();
        assert!(zeros > 14, "the better choice spreads: {zeros}");
    }
}
