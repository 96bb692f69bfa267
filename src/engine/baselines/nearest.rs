//! The nearest training row.

use rayon::prelude::*;

use super::samples::{Goal, Predicted, Samples};

/// Number of independent partial sums of a distance, so that the compiler can vectorise.
const LANES: usize = 8;

/// Predicts for each sample the target of the training row with the smallest Euclidean distance (of equally near rows,
/// the first). The outputs are its values, or 1 for its class and 0 for the other classes, or 1 for its labels and -1
/// for the other labels.
pub(super) fn predict(goal: Goal, train: &Samples, samples: &Samples) -> Predicted {
    let features = train.x.len() / train.rows;
    let rows = samples.x.par_chunks(features);
    let outputs = rows.flat_map_iter(|x| {
        let nearest = nearest(x, &train.x);
        match goal {
            Goal::Values(len) => train.values[nearest * len..][..len].to_vec(),
            Goal::Labels(len) => {
                let labels = train.values[nearest * len..][..len].iter();
                labels.map(|label| 2.0 * label - 1.0).collect()
            }
            Goal::Classes(classes) => {
                let mut outputs = vec![0.0; classes];
                outputs[train.labels[nearest]] = 1.0;
                outputs
            }
        }
    });
    Predicted {
        outputs: outputs.collect(),
        has_loss: false,
    }
}

fn nearest(x: &[f32], all: &[f32]) -> usize {
    let mut best = (f32::INFINITY, 0);
    for (place, other) in all.chunks_exact(x.len()).enumerate() {
        let distance = squared_distance(x, other);
        if distance < best.0 {
            best = (distance, place);
        }
    }
    best.1
}

fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_lanes.remainder().iter().zip(b_lanes.remainder());
    let rest: f32 = rest.map(|(a, b)| (a - b) * (a - b)).sum();
    for (a, b) in a_lanes.zip(b_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (a - b) * (a - b);
        }
    }
    sums.iter().sum::<f32>() + rest
}
