//! [`Verification`]: a model's errors against a reference, and whether they are within tolerance.

use std::collections::BTreeMap;

use serde::Serialize;

use super::files::{Reference, Untrained};
use crate::layers::checkpoint::Tensor;
use crate::ops::ConvAlgorithm;

/// A gradient whose norm is below this fraction of the norm of all gradients is rounding noise.
const NOISE: f64 = 1e-6;
/// If a gradient is only rounding noise (for parameters without effect on the output), its error is the difference
/// divided by this fraction of the norm of all gradients. The fraction times the tolerance is about the unit roundoff
/// of f32.
const NOISE_SCALE: f64 = 1e-4;
/// Reference losses below this are compared by the absolute difference divided by it.
const SMALL_LOSS: f64 = 1e-2;

/// Results of this program to compare with the reference: loss and gradients of the first step, weights after the last.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) loss: f64,
    pub(super) grads: Vec<Tensor>,
    pub(super) after: Vec<Tensor>,
    /// Loss in evaluation after the last step; `None` if the task computes no loss of its own in evaluation.
    pub(super) evaluation: Option<f64>,
    /// Algorithms that the convolutions used, from the most to the least accurate.
    pub(super) convolutions: Vec<ConvAlgorithm>,
}

/// Errors of a model against its reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// Loss of this program's model in the first step.
    pub loss: f64,
    /// Loss of the reference in the first step.
    pub reference_loss: f64,
    /// Error of the loss: `|loss - reference| / max(|reference|, 1e-2)`.
    pub loss_relative_error: f64,
    /// Largest gradient error of a parameter, before clipping: `‖g - g_ref‖ / ‖g_ref‖`. If `‖g_ref‖` is below
    /// `1e-6 ‖all g_ref‖`, it is rounding noise, and the error is `‖g - g_ref‖ / (1e-4 ‖all g_ref‖)`.
    pub gradient_relative_error: f64,
    /// Name of the parameter with the largest gradient error.
    pub gradient_worst: String,
    /// Largest error of a parameter's weights after three steps: `‖w - w_ref‖ / ‖w_ref‖`. Entries whose reference
    /// gradient is below `1e-6 ‖all g_ref‖` are left out: an adaptive optimizer amplifies rounding noise to a full
    /// step. Infinite if a frozen parameter differs at all.
    pub weights_after_relative_error: f64,
    /// Name of the parameter with the largest error of its weights.
    pub weights_after_worst: String,
    /// Largest relative error of weights that is accepted, given the algorithms of the convolutions.
    pub weights_after_tolerance: f64,
    /// Largest error of a running statistic after three steps: `‖s - s_ref‖ / ‖s_ref‖`; `None` if the model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics_relative_error: Option<f64>,
    /// Name of the running statistic with the largest error; empty if the model has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub statistics_worst: String,
    /// Error of the loss in evaluation after three steps, `|loss - reference| / max(|reference|, 1e-2)`; `None` if the
    /// reference has no such loss, or the task computes none of its own in evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation_relative_error: Option<f64>,
    /// Algorithms that the convolutions used, from the most to the least accurate; empty on a GPU, where cuDNN chooses.
    pub convolutions: Vec<ConvAlgorithm>,
    /// Number of parameters (values of all tensors without running statistics).
    pub parameters: u64,
    /// Whether every error is within its tolerance.
    pub passed: bool,
}

impl Verification {
    /// Largest relative error of the loss that is accepted.
    pub const LOSS_TOLERANCE: f64 = 1e-5;
    /// Largest relative error of running statistics that is accepted.
    pub const STATISTICS_TOLERANCE: f64 = 1e-5;
    /// Largest relative error of a gradient that is accepted.
    pub const GRADIENT_TOLERANCE: f64 = 1e-3;

    /// Largest relative error of weights that is accepted if convolutions used `algorithms`: the tolerance of the least
    /// accurate one.
    ///
    /// Each tolerance is the power of ten above the largest error measured on U-Nets (docs/verify.md). Errors of
    /// gradients reach the weights through an adaptive optimizer, whose steps do not become smaller with the gradient.
    pub fn weights_tolerance(algorithms: &[ConvAlgorithm]) -> f64 {
        if algorithms.contains(&ConvAlgorithm::Winograd5) {
            1e-3
        } else {
            1e-4
        }
    }

    /// For each compared quantity: its name, the error, the tolerance, and the parameter with the largest error (empty
    /// for losses).
    pub fn errors(&self) -> Vec<(&'static str, f64, f64, &str)> {
        let (gradient, weights) = (&self.gradient_worst, &self.weights_after_worst);
        let mut errors = vec![
            ("loss", self.loss_relative_error, Self::LOSS_TOLERANCE, ""),
            (
                "gradients",
                self.gradient_relative_error,
                Self::GRADIENT_TOLERANCE,
                gradient.as_str(),
            ),
            (
                "weights after 3 steps",
                self.weights_after_relative_error,
                self.weights_after_tolerance,
                weights.as_str(),
            ),
        ];
        // Statistics and the evaluation depend on the weights, whose tolerance is larger for some algorithms.
        let scale = self.weights_after_tolerance / Self::weights_tolerance(&[]);
        if let Some(error) = self.statistics_relative_error {
            let tolerance = scale * Self::STATISTICS_TOLERANCE;
            errors.push((
                "running statistics",
                error,
                tolerance,
                &self.statistics_worst,
            ));
        }
        if let Some(error) = self.evaluation_relative_error {
            errors.push(("evaluation", error, scale * Self::LOSS_TOLERANCE, ""));
        }
        errors
    }
}

/// Compares this program's results with the reference, whose tensor names have been checked.
pub(super) fn compare(reference: &Reference, own: Outcome, untrained: &Untrained) -> Verification {
    let Untrained { buffers, frozen } = untrained;
    let (statistics, trained): (Vec<Tensor>, Vec<Tensor>) = own
        .after
        .into_iter()
        .partition(|tensor| buffers.contains(&tensor.name));
    let mut grads = by_name(&reference.grads);
    // The other implementation may have computed gradients of frozen parameters.
    grads.retain(|name, _| !frozen.contains(*name));
    let all = grads.values();
    let global = norm(all.flat_map(|tensor| tensor.values.iter().copied()));
    let floor = NOISE * global;
    let gradient = worst(&own.grads, |tensor| {
        let expected = grads.get(tensor.name.as_str())?;
        let norm = norm(expected.values.iter().copied());
        let scale = if norm < floor {
            NOISE_SCALE * global
        } else {
            norm
        };
        Some(ratio(distance(tensor, expected, |_| true), scale))
    });
    let weights = by_name(&reference.after);
    let after_error = worst(&trained, |tensor| {
        let expected = weights.get(tensor.name.as_str())?;
        if frozen.contains(&tensor.name) {
            let is_same = tensor.values == expected.values;
            return Some(if is_same { 0.0 } else { f64::INFINITY });
        }
        let gradient = grads.get(tensor.name.as_str())?;
        Some(error_after(tensor, expected, gradient, floor))
    });
    let of_statistics = statistics_error(&statistics, &weights);
    let loss_error = loss_error(own.loss, reference.loss);
    let evaluations = own.evaluation.zip(reference.evaluation);
    let mut verification = Verification {
        loss: own.loss,
        reference_loss: reference.loss,
        loss_relative_error: loss_error,
        gradient_relative_error: gradient.0,
        gradient_worst: gradient.1,
        weights_after_relative_error: after_error.0,
        weights_after_worst: after_error.1,
        weights_after_tolerance: Verification::weights_tolerance(&own.convolutions),
        convolutions: own.convolutions,
        statistics_relative_error: (!statistics.is_empty()).then_some(of_statistics.0),
        statistics_worst: of_statistics.1,
        evaluation_relative_error: evaluations
            .map(|(own, expected)| self::loss_error(own, expected)),
        parameters: trained
            .iter()
            .map(|tensor| tensor.values.len() as u64)
            .sum(),
        passed: false,
    };
    // Not `any(error > tolerance)`: an error that is NaN must not pass.
    let errors = verification.errors();
    verification.passed = errors
        .iter()
        .all(|(_, error, tolerance, _)| error <= tolerance);
    verification
}

/// Relative error of a parameter after the steps; entries whose gradient is below `floor` are left out.
fn error_after(own: &Tensor, expected: &Tensor, gradient: &Tensor, floor: f64) -> f64 {
    let counts = |index: usize| f64::from(gradient.values[index].abs()) >= floor;
    let kept = (0..expected.values.len()).filter(|index| counts(*index));
    let scale = norm(kept.map(|index| expected.values[index]));
    ratio(distance(own, expected, counts), scale)
}

fn statistics_error(own: &[Tensor], reference: &BTreeMap<&str, &Tensor>) -> (f64, String) {
    worst(own, |tensor| {
        let expected = reference.get(tensor.name.as_str())?;
        let scale = norm(expected.values.iter().copied());
        Some(ratio(distance(tensor, expected, |_| true), scale))
    })
}

fn loss_error(own: f64, expected: f64) -> f64 {
    (own - expected).abs() / expected.abs().max(SMALL_LOSS)
}

fn by_name(tensors: &[Tensor]) -> BTreeMap<&str, &Tensor> {
    tensors
        .iter()
        .map(|tensor| (tensor.name.as_str(), tensor))
        .collect()
}

/// The largest error and the tensor that has it. NaN counts as larger than every number, as does a missing error.
fn worst(tensors: &[Tensor], error: impl Fn(&Tensor) -> Option<f64>) -> (f64, String) {
    let mut worst = (0.0_f64, String::new());
    for tensor in tensors {
        let error = error(tensor).unwrap_or(f64::NAN);
        if error > worst.0 || error.is_nan() || worst.1.is_empty() {
            worst = (error, tensor.name.clone());
        }
        if error.is_nan() {
            break;
        }
    }
    worst
}

/// `‖a - b‖` over the entries for whose index `counts` returns true.
fn distance(a: &Tensor, b: &Tensor, counts: impl Fn(usize) -> bool) -> f64 {
    let pairs = a.values.iter().zip(&b.values).enumerate();
    let kept = pairs.filter(|(index, _)| counts(*index));
    let squares = kept.map(|(_, (a, b))| (f64::from(*a) - f64::from(*b)).powi(2));
    squares.sum::<f64>().sqrt()
}

fn norm(values: impl Iterator<Item = f32>) -> f64 {
    let squares = values.map(|value| f64::from(value).powi(2));
    squares.sum::<f64>().sqrt()
}

/// `error / scale`; 0 if `error` is 0, even if `scale` is 0 too.
fn ratio(error: f64, scale: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / scale }
}
