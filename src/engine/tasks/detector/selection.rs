//! Selects voxels for photomultipliers, and measures the fraction of events that the selected voxels detect.

use std::cmp::Ordering;

use super::Detector;
use super::events::Events;
use super::scores::{MIN_HITS, Mean, hits};
use super::spec::SelectionSpec;
use crate::base::Seed;
use crate::datasets::OpenDataset;
use crate::ops::{HIT_THRESHOLD, Kernels};
use crate::tasks::{Assessment, TaskError};

const ROWS: usize = 256;

impl<D: Kernels> Detector<D> {
    pub(super) fn select(
        &self,
        device: &D,
        spec: &SelectionSpec,
        data: &OpenDataset,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        let (dataset, splits) = (&*data.dataset, &data.splits);
        let count = spec.events.min(splits.train.len());
        let events = Events::read(dataset, &splits.train[..count])?;
        let asked = self.prepare_noised_events(device, &events, spec.time, seed)?;
        let scores = [
            (spec.gradient, self.gradient_scores(device, &asked)?),
            (spec.ablation, self.ablation_scores(device, &asked, found)?),
            (spec.hit_rate, hit_rates(data)?),
        ];
        let ranked = ranking(&combine(&scores));
        let chosen = &ranked[..spec.pmts.min(ranked.len())];
        let (rate, limit) = detection(data, chosen)?;
        found.add_metric("selection_detection_rate", rate);
        found.add_metric("selection_detection_limit", limit);
        if spec.shapley_permutations > 0 {
            let orders = spec.shapley_permutations as u64;
            let shapley = ranking(&self.shapley_values(device, &asked, orders, seed, found)?);
            let top = spec.shapley_top.min(ranked.len());
            found.add_metric(
                "selection_shapley_overlap",
                overlap(&ranked[..top], &shapley[..top]),
            );
        }
        Ok(())
    }
}

/// For each voxel the weighted sum of its scores; each score is first divided by its largest absolute value.
fn combine(scores: &[(f64, Vec<f64>)]) -> Vec<f64> {
    let voxels = scores.first().map_or(0, |(_, score)| score.len());
    let mut sum = vec![0.0; voxels];
    for (weight, score) in scores {
        let largest = score
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        if largest > 0.0 {
            for (sum, value) in sum.iter_mut().zip(score) {
                *sum += weight * value / largest;
            }
        }
    }
    sum
}

/// Voxel indices by descending score; equal scores by ascending index.
fn ranking(scores: &[f64]) -> Vec<usize> {
    let mut voxels: Vec<usize> = (0..scores.len()).collect();
    voxels.sort_by(|a, b| {
        let order = scores[*b].partial_cmp(&scores[*a]);
        order.unwrap_or(Ordering::Equal) // the sort is stable, so equal scores stay in the order of their index
    });
    voxels
}

/// Fraction of the elements of `a` that are also in `b`.
fn overlap(a: &[usize], b: &[usize]) -> f64 {
    let shared = a.iter().filter(|voxel| b.contains(voxel)).count();
    shared as f64 / a.len().max(1) as f64
}

/// For each voxel the fraction of all training events that hit it.
fn hit_rates(data: &OpenDataset) -> Result<Vec<f64>, TaskError> {
    let mut rates = vec![0.0; data.dataset.target().values_len()];
    let share = 1.0 / data.splits.train.len().max(1) as f64;
    for rows in data.splits.train.chunks(ROWS) {
        for signal in Events::read(&*data.dataset, rows)?.signals() {
            for (rate, value) in rates.iter_mut().zip(signal) {
                *rate += if *value > HIT_THRESHOLD { share } else { 0.0 };
            }
        }
    }
    Ok(rates)
}

/// Fraction of validation events (training events if there are none) that hit at least six of the `chosen` voxels, and
/// fraction that hit at least six of all voxels.
fn detection(data: &OpenDataset, chosen: &[usize]) -> Result<(f64, f64), TaskError> {
    let splits = &data.splits;
    let rows = if splits.validation.is_empty() {
        &splits.train
    } else {
        &splits.validation
    };
    let (mut rate, mut limit) = (Mean::default(), Mean::default());
    for rows in rows.chunks(ROWS) {
        for signal in Events::read(&*data.dataset, rows)?.signals() {
            let seen = chosen
                .iter()
                .filter(|voxel| signal[**voxel] > HIT_THRESHOLD)
                .count();
            rate.add(f64::from(u8::from(seen >= MIN_HITS)));
            limit.add(f64::from(u8::from(hits(signal) >= MIN_HITS)));
        }
    }
    Ok((rate.value(), limit.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_scaled_to_their_maximum_before_weighting() {
        let scores = [(1.0, vec![100.0, 50.0, 0.0]), (2.0, vec![-1e-3, 0.0, 1e-3])];
        assert_eq!(combine(&scores), [-1.0, 0.5, 2.0]);
        assert_eq!(combine(&[(1.0, vec![0.0, 0.0])]), [0.0, 0.0]);
    }

    #[test]
    fn the_best_voxels_come_first_and_ties_by_index() {
        assert_eq!(ranking(&[0.5, 2.0, 0.5, -1.0]), [1, 0, 2, 3]);
        assert!((overlap(&[1, 0, 2, 7], &[2, 5, 1, 6]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn invalid_settings_are_reported() {
        let spec = SelectionSpec::default();
        assert_eq!(spec.check(1000, 7789), None);
        assert!(spec.check(500, 7789).unwrap().contains("times below 500"));
        assert!(
            spec.check(1000, 200)
                .unwrap()
                .contains("asks for 300 voxels")
        );
        let none = SelectionSpec {
            gradient: 0.0,
            ablation: 0.0,
            hit_rate: 0.0,
            ..spec
        };
        assert!(none.check(1000, 7789).is_some());
    }
}
