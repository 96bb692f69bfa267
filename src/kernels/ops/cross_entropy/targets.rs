//! [`ClassTargets`]: the classes of rows, with label smoothing and weights.

use crate::ops::{OpError, Result};

/// Label smoothing and weights of classes, as the arguments of PyTorch's `CrossEntropyLoss`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CrossEntropyOptions {
    /// ε: the fraction of each target that is spread over all classes alike, from 0 to 1.
    pub label_smoothing: f64,
    /// Weight of every class, above 0; empty if all are 1.
    pub weights: Vec<f64>,
}

impl CrossEntropyOptions {
    fn is_plain(&self) -> bool {
        self.label_smoothing == 0.0 && self.weights.is_empty()
    }
}

/// The target distribution of B rows over K classes: a row with label y has the weight `spread[c] + [c = y] own[y]` for
/// class c.
#[derive(Debug, Clone)]
pub struct ClassTargets {
    /// Label of every row, from 0 to K - 1.
    pub labels: Vec<usize>,
    /// Number of classes K.
    pub classes: usize,
    /// The sum of the labels' weights, by which the sum over rows is divided.
    pub divisor: f64,
    /// Target weights by class; `None` (without smoothing and class weights) means 1 for the label and 0 for others.
    pub shares: Option<ClassTargetWeights>,
}

/// Target weights by class, with label smoothing and class weights.
#[derive(Debug, Clone)]
pub struct ClassTargetWeights {
    /// `(1 - ε) w[c]` of every class.
    pub own: Vec<f32>,
    /// `ε w[c] / K` of every class.
    pub spread: Vec<f32>,
    /// The sum of `spread`; 0 without smoothing.
    pub spread_sum: f32,
}

impl ClassTargets {
    /// Targets of `labels`.
    ///
    /// # Errors
    /// [`OpError::Shape`] when there are no labels, a label is not below `classes`, or the number of weights is neither
    /// 0 nor `classes`.
    pub fn new(labels: &[usize], classes: usize, options: &CrossEntropyOptions) -> Result<Self> {
        let refused = |message| Err(OpError::shape("cross_entropy", message));
        if labels.is_empty() {
            return refused("there are no labels".to_owned());
        }
        if let Some(label) = labels.iter().find(|&&label| label >= classes) {
            return refused(format!("label {label} is not one of {classes} classes"));
        }
        let given = options.weights.len();
        if given != 0 && given != classes {
            return refused(format!("{given} weights do not fit {classes} classes"));
        }
        let weight = |class: usize| options.weights.get(class).copied().unwrap_or(1.0);
        Ok(Self {
            labels: labels.to_vec(),
            classes,
            divisor: labels.iter().map(|label| weight(*label)).sum(),
            shares: (!options.is_plain()).then(|| {
                let smoothing = options.label_smoothing;
                let weights = (0..classes).map(weight);
                let spread = weights
                    .clone()
                    .map(|weight| smoothing * weight / classes as f64);
                ClassTargetWeights {
                    own: weights
                        .map(|weight| ((1.0 - smoothing) * weight) as f32)
                        .collect(),
                    spread_sum: spread.clone().sum::<f64>() as f32,
                    spread: spread.map(|share| share as f32).collect(),
                }
            }),
        })
    }
}
