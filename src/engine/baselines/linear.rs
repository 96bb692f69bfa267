//! Ridge and logistic regression.

use rayon::prelude::*;

use super::lbfgs::minimise;
use super::samples::{Goal, Predicted, Samples};
use crate::tasks::log_sum_exp;

/// Number of rows whose gradients are summed in one block. It does not depend on the number of threads, so that the
/// result does not either.
const BLOCK: usize = 256;
/// The fit stops when no component of the gradient of the mean loss has a larger absolute value.
const TOLERANCE: f64 = 1e-7;

/// The linear model `W x + b`.
pub(super) struct Linear {
    goal: Goal,
    /// Shape `(features + 1, outputs)`; the last row holds the intercepts.
    weights: Vec<f64>,
    /// Number of outputs: one per value, class or label, but a single one for two classes, since only the difference of
    /// their logits matters.
    outputs: usize,
}

/// Fits a linear model to all training rows. It minimises `Σ (W x + b - y)² / 2 + |W|² / 2` for values, and the sum of
/// cross-entropies plus `|W|² / 2` for classes. For labels, the cross-entropy is that of two classes (with and without
/// the label), summed over the labels.
///
/// With two classes, the first one's logit is 0, as in scikit-learn.
pub(super) fn fit(goal: Goal, train: &Samples) -> Linear {
    let outputs = match goal {
        Goal::Classes(2) => 1,
        other => other.outputs(),
    };
    let features = train.x.len() / train.rows;
    let model = |weights| Linear {
        goal,
        weights,
        outputs,
    };
    let n = train.rows as f64;
    let value = |weights: &[f64]| {
        let model = model(weights.to_vec());
        let rows: Vec<usize> = (0..train.rows).step_by(BLOCK).collect();
        let parts = rows.into_par_iter().map(|first| {
            let last = (first + BLOCK).min(train.rows);
            model.loss(train, first..last)
        });
        let parts: Vec<(f64, Vec<f64>)> = parts.collect();
        let mut sum = 0.0;
        let mut gradient = vec![0.0; weights.len()];
        for (loss, part) in parts {
            sum += loss;
            gradient
                .iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += part);
        }
        for (gradient, weight) in gradient.iter_mut().zip(&weights[..features * outputs]) {
            *gradient += weight;
            sum += weight * weight / 2.0;
        }
        for part in &mut gradient {
            *part /= n;
        }
        (sum / n, gradient)
    };
    let weights = minimise(vec![0.0; (features + 1) * outputs], TOLERANCE, value);
    model(weights)
}

impl Linear {
    fn outputs_of(&self, x: &[f32]) -> Vec<f64> {
        let rows = self.weights.chunks(self.outputs);
        let mut outputs = vec![0.0; self.outputs];
        for (x, weights) in x.iter().chain(&[1.0]).zip(rows) {
            for (output, weight) in outputs.iter_mut().zip(weights) {
                *output += f64::from(*x) * weight;
            }
        }
        outputs
    }

    /// Sum of the losses of `rows`, and its gradient with respect to the weights.
    fn loss(&self, samples: &Samples, rows: std::ops::Range<usize>) -> (f64, Vec<f64>) {
        let features = samples.x.len() / samples.rows;
        let mut sum = 0.0;
        let mut gradient = vec![0.0; self.weights.len()];
        for row in rows {
            let x = &samples.x[row * features..][..features];
            let mut errors = self.outputs_of(x);
            sum += match self.goal {
                Goal::Values(len) => squared(&mut errors, &samples.values[row * len..][..len]),
                Goal::Labels(len) => {
                    let labels = &samples.values[row * len..][..len];
                    let pairs = errors.iter_mut().zip(labels);
                    pairs
                        .map(|(error, label)| logistic(error, f64::from(*label)))
                        .sum()
                }
                Goal::Classes(2) => logistic(&mut errors[0], samples.labels[row] as f64),
                Goal::Classes(_) => softmax(&mut errors, samples.labels[row]),
            };
            let parts = gradient.chunks_mut(self.outputs);
            for (x, part) in x.iter().chain(&[1.0]).zip(parts) {
                for (part, error) in part.iter_mut().zip(&errors) {
                    *part += f64::from(*x) * error;
                }
            }
        }
        (sum, gradient)
    }

    pub(super) fn predict(&self, samples: &Samples) -> Predicted {
        let features = samples.x.len() / samples.rows;
        let rows = samples.x.par_chunks(features);
        let outputs = rows.flat_map_iter(|x| {
            let outputs = self.outputs_of(x);
            let first = (self.goal == Goal::Classes(2)).then_some(0.0);
            first.into_iter().chain(outputs).map(|output| output as f32)
        });
        Predicted {
            outputs: outputs.collect(),
            has_loss: true,
        }
    }
}

/// Returns `Σ (p - y)² / 2`, and replaces each prediction by the gradient with respect to it.
fn squared(predicted: &mut [f64], targets: &[f32]) -> f64 {
    let mut sum = 0.0;
    for (p, y) in predicted.iter_mut().zip(targets) {
        *p -= f64::from(*y);
        sum += *p * *p / 2.0;
    }
    sum
}

/// Returns the cross-entropy of the two logits 0 and `logit`, and replaces `logit` by the gradient with respect to it.
fn logistic(logit: &mut f64, is_second: f64) -> f64 {
    let all = log_sum_exp(&[0.0, *logit]);
    let loss = all - is_second * *logit;
    *logit = libm::exp(*logit - all) - is_second;
    loss
}

/// Returns the cross-entropy of the logits, and replaces each by the gradient with respect to it.
fn softmax(logits: &mut [f64], label: usize) -> f64 {
    let all = log_sum_exp(logits);
    let loss = all - logits[label];
    for logit in logits.iter_mut() {
        *logit = libm::exp(*logit - all);
    }
    logits[label] -= 1.0;
    loss
}
