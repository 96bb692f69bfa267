//! [`Outputs`]: a model's outputs for a batch, on the host, and the mean of several models' outputs (ensemble).

use crate::ops::Shape;

/// A model's outputs for a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    /// Values of the model's last operation, row-major.
    pub(super) values: Vec<f32>,
    /// Shape of `values`, the same for all models of one task and batch.
    pub(super) shape: Shape,
    /// What the values are, which determines how a mean of several models is computed.
    pub(super) meaning: OutputKind,
}

/// What a model's outputs are, which determines how the mean of several models' outputs is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Estimates of the target: the mean is taken value by value.
    Estimates,
    /// Class logits, with the classes in the last dimension: the mean is taken of the probabilities.
    Logits,
    /// One logit per label: the mean is taken of the probabilities that the label is present.
    LabelLogits,
    /// Random draws from a distribution: they have no meaningful mean.
    Draws,
}

impl Outputs {
    /// The values of the model's last operation, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The mean of several models' outputs for one batch; the result has the same meaning.
    ///
    /// Estimates: `Σ y_m / M`. Class logits: `log (Σ softmax(l_m) / M)`; the softmax of this is the mean of the
    /// probabilities, so loss and accuracy are computed from it as usual. Label logits: `log (Σ σ(l_m) / Σ σ(-l_m))`.
    /// `None` for no outputs, for draws, and for outputs of different shape or meaning.
    ///
    /// # Source
    /// Lakshminarayanan et al. 2017 (deep ensembles), §2.4.
    pub fn mean(members: &[Self]) -> Option<Self> {
        let first = members.first()?;
        let fit = |other: &Self| (other.shape, other.meaning) == (first.shape, first.meaning);
        if !members.iter().all(fit) {
            return None;
        }
        let all: Vec<&[f32]> = members.iter().map(|own| own.values.as_slice()).collect();
        let values = match first.meaning {
            OutputKind::Estimates => mean(&all),
            OutputKind::Logits => mean_logits(&all, first.shape.last()),
            OutputKind::LabelLogits => mean_label_logits(&all),
            OutputKind::Draws => return None,
        };
        Some(Self {
            values,
            ..first.clone()
        })
    }
}

/// Mean over members in f64, value by value.
fn mean(members: &[&[f32]]) -> Vec<f32> {
    let count = members.len() as f64;
    let value = |index: usize| {
        let values = members.iter().map(|own| f64::from(own[index]));
        (values.sum::<f64>() / count) as f32
    };
    (0..members[0].len()).map(value).collect()
}

/// Log of the mean probabilities, computed in log space so that a probability too small for f32 keeps its logarithm.
fn mean_logits(members: &[&[f32]], classes: usize) -> Vec<f32> {
    let normalised: Vec<Vec<f64>> = members
        .iter()
        .map(|own| own.chunks(classes).flat_map(log_softmax).collect())
        .collect();
    let log_count = libm::log(members.len() as f64);
    let value = |index: usize| {
        let logs: Vec<f64> = normalised.iter().map(|own| own[index]).collect();
        (log_sum_exp(&logs) - log_count) as f32
    };
    (0..members[0].len()).map(value).collect()
}

/// Logit of the mean probability of each label: as [`mean_logits`] of two classes of which the first has the logit 0.
fn mean_label_logits(members: &[&[f32]]) -> Vec<f32> {
    let value = |index: usize| {
        let log_mean = |sign: f32| {
            let logits = members.iter().map(|own| f64::from(sign * own[index]));
            let logs: Vec<f64> = logits.map(|logit| -log_sum_exp(&[0.0, -logit])).collect();
            log_sum_exp(&logs)
        };
        (log_mean(1.0) - log_mean(-1.0)) as f32
    };
    (0..members[0].len()).map(value).collect()
}

/// `log(1 + exp(x)) − y x`: the binary cross-entropy of the logit x and the label y.
pub(crate) fn logistic_loss(logit: f32, label: f32) -> f64 {
    let (logit, label) = (f64::from(logit), f64::from(label));
    log_sum_exp(&[0.0, logit]) - label * logit
}

/// Log-softmax of one row: `x_i − log Σ exp(x_j)`.
pub(crate) fn log_softmax(row: &[f32]) -> Vec<f64> {
    let row: Vec<f64> = row.iter().map(|logit| f64::from(*logit)).collect();
    let all = log_sum_exp(&row);
    row.iter().map(|logit| logit - all).collect()
}

/// `log Σ exp(x_i)`, computed without overflow.
pub(crate) fn log_sum_exp(values: &[f64]) -> f64 {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = values.iter().map(|value| libm::exp(value - max)).sum();
    max + libm::log(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(meaning: OutputKind, values: [f32; 4]) -> Outputs {
        Outputs {
            values: values.to_vec(),
            shape: [2, 2].into(),
            meaning,
        }
    }

    #[test]
    fn estimates_are_averaged_value_by_value() {
        let members = [[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, -3.0, 0.5]];
        let members = members.map(|values| outputs(OutputKind::Estimates, values));
        let mean = Outputs::mean(&members).unwrap();
        assert_eq!(mean.values, [2.0, 2.0, 0.0, 2.25]);
        assert_eq!(mean.shape, [2, 2].into());
    }

    #[test]
    fn of_logits_the_probabilities_are_averaged() {
        // Probabilities of the first model (1/2, 1/2) and (1/5, 4/5), of the second (3/4, 1/4) and (1/5, 4/5); the
        // second model's logits of the last row are both raised by 7.
        let log = |value: f64| libm::log(value) as f32;
        let first = [0.0, 0.0, 0.0, log(4.0)];
        let second = [log(3.0), 0.0, 7.0, 7.0 + log(4.0)];
        let members = [first, second].map(|values| outputs(OutputKind::Logits, values));
        let mean = Outputs::mean(&members).unwrap();
        for (found, expected) in mean.values.iter().zip([0.625, 0.375, 0.2, 0.8]) {
            assert!((found - log(expected)).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn of_labels_the_probabilities_are_averaged() {
        // Probabilities of the first model 1/2, 3/4, 1/5, 4/5; of the second 3/4, 1/4, 2/5, 4/5.
        let log = |value: f64| libm::log(value) as f32;
        let first = [0.0, log(3.0), -log(4.0), log(4.0)];
        let second = [log(3.0), -log(3.0), log(2.0 / 3.0), log(4.0)];
        let members = [first, second].map(|values| outputs(OutputKind::LabelLogits, values));
        let mean = Outputs::mean(&members).unwrap();
        for (found, expected) in mean.values.iter().zip([0.625, 0.5, 0.3, 0.8]) {
            let expected = log(expected / (1.0 - expected));
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let sure = outputs(OutputKind::LabelLogits, [500.0, -500.0, 5000.0, 0.0]);
        let mean = Outputs::mean(&[sure.clone(), sure.clone()]).unwrap();
        assert_eq!(mean.values, sure.values);
    }

    #[test]
    fn a_probability_below_every_float_keeps_its_logarithm() {
        let sure = outputs(OutputKind::Logits, [0.0, -5000.0, 0.0, -4000.0]);
        let mean = Outputs::mean(&[sure.clone(), sure]).unwrap();
        assert_eq!(mean.values, [0.0, -5000.0, 0.0, -4000.0]);
    }

    #[test]
    fn draws_and_outputs_that_do_not_fit_have_no_mean() {
        let values = [1.0; 4];
        assert_eq!(Outputs::mean(&[]), None);
        assert_eq!(Outputs::mean(&[outputs(OutputKind::Draws, values)]), None);
        let other = Outputs {
            shape: [4, 1].into(),
            ..outputs(OutputKind::Estimates, values)
        };
        let members = [outputs(OutputKind::Estimates, values), other];
        assert_eq!(Outputs::mean(&members), None);
        let members = [OutputKind::Estimates, OutputKind::Logits].map(|one| outputs(one, values));
        assert_eq!(Outputs::mean(&members), None);
    }
}
