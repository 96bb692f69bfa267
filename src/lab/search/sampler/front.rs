//! Ranking with several objectives: Pareto fronts, crowding distance, and selection of the best. Smaller is better.
//!
//! # Source
//! Deb, Pratap, Agarwal & Meyarivan 2002, *A fast and elitist multiobjective genetic algorithm: NSGA-II*, §III; ties
//! and infinities as in Optuna's `NSGAIISampler`.

use std::cmp::Ordering;

use crate::base::pareto::dominates;

/// Returns the Pareto fronts, best first (non-dominated sorting): the non-dominated members, then those dominated only
/// by the first front, and so on, until they contain `enough` members. Members are indices.
pub(super) fn fronts(values: &[&[f64]], enough: usize) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..values.len()).collect();
    // In this order no later member dominates an earlier one.
    left.sort_by(|&i, &j| lexicographic(values[i], values[j]));
    let are_two = values.iter().all(|value| value.len() <= 2);
    let (mut found, mut count) = (Vec::new(), 0);
    while count < enough && !left.is_empty() {
        let mut front: Vec<usize> = Vec::new();
        let mut behind = Vec::new();
        for i in left {
            // With two objectives, the second decreases along the front: if any member dominates, the last one does.
            let looked_at = if are_two { 1 } else { front.len() };
            let mut looked_at = front.iter().rev().take(looked_at);
            if looked_at.any(|&j| dominates(values[j], values[i])) {
                behind.push(i);
            } else {
                front.push(i);
            }
        }
        left = behind;
        count += front.len();
        front.sort_unstable();
        found.push(front);
    }
    found
}

/// With three or more objectives, at most this number of trials is compared pairwise at once.
const AT_ONCE: usize = 400;

/// Returns the indices of the `count` best: whole fronts, and the least crowded members of the front that does not fit.
///
/// For more than [`AT_ONCE`] trials with three or more objectives, the best so far are merged with one batch after
/// another. The first fronts are exact, but crowding is then computed batch by batch.
pub(super) fn best(values: &[&[f64]], count: usize) -> Vec<usize> {
    let are_two = values.iter().all(|value| value.len() <= 2);
    if are_two || values.len() <= AT_ONCE {
        return best_at_once(values, count);
    }
    let mut kept: Vec<usize> = Vec::new();
    for next in (0..values.len()).collect::<Vec<_>>().chunks(AT_ONCE / 2) {
        kept.extend(next);
        kept = best_of(values, &kept, count.max(AT_ONCE / 2));
    }
    best_of(values, &kept, count)
}

fn best_of(values: &[&[f64]], among: &[usize], count: usize) -> Vec<usize> {
    let values: Vec<&[f64]> = among.iter().map(|&i| values[i]).collect();
    let best = best_at_once(&values, count);
    best.into_iter().map(|i| among[i]).collect()
}

fn best_at_once(values: &[&[f64]], count: usize) -> Vec<usize> {
    let mut chosen = Vec::new();
    for mut front in fronts(values, count) {
        let left = count - chosen.len();
        if front.len() > left {
            let crowding = crowding(values, &front);
            let mut order: Vec<usize> = (0..front.len()).collect();
            order.sort_by(|&a, &b| crowding[b].total_cmp(&crowding[a]));
            front = order[..left].iter().map(|&i| front[i]).collect();
        }
        chosen.extend(front);
    }
    chosen.sort_unstable();
    chosen
}

/// Returns the crowding distance of each member of a front: the sum over the objectives of the gap between its two
/// neighbours, as a fraction of the front's width; infinite at the ends.
fn crowding(values: &[&[f64]], front: &[usize]) -> Vec<f64> {
    let objectives = front.first().map_or(0, |&first| values[first].len());
    let mut distance = vec![0.0; front.len()];
    let columns = (0..objectives)
        .map(|objective| -> Vec<f64> { front.iter().map(|&i| values[i][objective]).collect() });
    for column in columns {
        for (distance, gap) in distance.iter_mut().zip(gaps(&column)) {
            *distance += gap;
        }
    }
    distance
}

/// Returns the gap between each value's two neighbours, as a fraction of the total width; 0 if all are equal.
fn gaps(column: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_by(|&a, &b| column[a].total_cmp(&column[b]));
    let sorted: Vec<f64> = order.iter().map(|&place| column[place]).collect();
    let mut gaps = vec![0.0; column.len()];
    if sorted.first() == sorted.last() {
        return gaps;
    }
    let finite = |value: &&f64| value.is_finite();
    let low = sorted.iter().find(finite).copied().unwrap_or(0.0);
    let high = sorted.iter().rev().find(finite).copied().unwrap_or(0.0);
    let width = if high > low { high - low } else { 1.0 };
    for (rank, &place) in order.iter().enumerate() {
        let below = rank.checked_sub(1).map_or(f64::NEG_INFINITY, |i| sorted[i]);
        let above = sorted.get(rank + 1).copied().unwrap_or(f64::INFINITY);
        // Two equal infinities have distance 0.
        if below < above {
            gaps[place] = (above - below) / width;
        }
    }
    gaps
}

fn lexicographic(a: &[f64], b: &[f64]) -> Ordering {
    let orders = a.iter().zip(b).filter_map(|(a, b)| a.partial_cmp(b));
    orders.fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(values: &[Vec<f64>]) -> Vec<&[f64]> {
        values.iter().map(Vec::as_slice).collect()
    }

    /// Points with `objectives` integer values, so that there are ties.
    fn some(objectives: usize, count: u64) -> Vec<Vec<f64>> {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % 12) as f64
        };
        (0..count)
            .map(|_| (0..objectives).map(|_| next()).collect())
            .collect()
    }

    #[test]
    fn a_front_is_dominated_by_the_fronts_before_it_only() {
        for objectives in [1, 2, 3] {
            let values = some(objectives, 60);
            let values = views(&values);
            let fronts = fronts(&values, 60);
            assert_eq!(fronts.iter().map(Vec::len).sum::<usize>(), 60);
            assert!(fronts.len() > 2);
            for (rank, front) in fronts.iter().enumerate() {
                for &i in front {
                    let by =
                        |others: &[usize]| others.iter().any(|&j| dominates(values[j], values[i]));
                    assert!(!by(front), "{objectives} objectives, front {rank}");
                    assert!(rank == 0 || by(&fronts[rank - 1]));
                }
            }
        }
    }

    #[test]
    fn the_least_crowded_of_a_front_are_kept_and_its_ends_first() {
        // Points on a line; the second and third are close together.
        let values: Vec<Vec<f64>> = [0.0, 1.0, 1.5, 5.0, 10.0]
            .iter()
            .map(|x| vec![*x, 10.0 - x])
            .collect();
        assert_eq!(best(&views(&values), 2), [0, 4]);
        assert_eq!(best(&views(&values), 3), [0, 3, 4]);
        assert_eq!(best(&views(&values), 4), [0, 2, 3, 4]);
        assert_eq!(best(&views(&values), 9), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn of_thousands_the_first_front_is_found_in_turns() {
        // A front of 12 among 1,500.
        let mut values: Vec<Vec<f64>> = (0..1500)
            .map(|i| vec![20.0 + f64::from(i % 40), 20.0 + f64::from(i % 7), 30.0])
            .collect();
        let front: Vec<usize> = (0..12).map(|i| i * 120 + 7).collect();
        for (x, &i) in front.iter().enumerate() {
            values[i] = vec![x as f64, 11.0 - x as f64, 1.0];
        }
        assert_eq!(best(&views(&values), 12), front);
        let six = best(&views(&values), 6);
        assert!(six.len() == 6 && six.iter().all(|i| front.contains(i)));
    }

    #[test]
    fn infinite_values_are_worse_and_no_reason_to_stop() {
        let values = vec![
            vec![f64::INFINITY, f64::INFINITY],
            vec![1.0, f64::INFINITY],
            vec![2.0, 0.0],
            vec![0.5, f64::INFINITY],
        ];
        assert_eq!(fronts(&views(&values), 4), [vec![2, 3], vec![1], vec![0]]);
        assert_eq!(best(&views(&values), 3), [1, 2, 3]);
    }
}
