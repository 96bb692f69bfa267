//! Classification: outputs are logits, targets are classes.

use super::goal::Goal;
use super::{OutputKind, ReferenceInputs, Score, TaskError, TaskParts};
use crate::loader::Batch;
use crate::losses::CrossEntropySpec;
use crate::ops::{
    ClassTargets, CrossEntropyOptions, Kernels, Pass, Result, Var, blend,
    cross_entropy_with_targets,
};

/// The classification goal: `classes` classes and the options of the cross-entropy.
pub(super) struct Classes {
    classes: usize,
    options: CrossEntropyOptions,
}

impl Classes {
    /// The goal for `classes` classes with the loss `spec`.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] if the loss does not fit the number of classes, or if balanced weights are asked for and
    /// the numbers of rows by class are missing.
    pub(super) fn new(
        spec: &CrossEntropySpec,
        classes: usize,
        parts: TaskParts<'_>,
    ) -> Result<Self, TaskError> {
        if let Some(misfit) = spec.incompatibility(classes) {
            return Err(TaskError::Misfit(misfit));
        }
        let weights = spec.class_weights(parts.rows_by_class);
        let weights = weights.map_err(TaskError::Misfit)?;
        let label_smoothing = spec.label_smoothing;
        let options = CrossEntropyOptions {
            label_smoothing,
            weights,
        };
        Ok(Self { classes, options })
    }
}

/// The labels of a batch, before mixing.
pub(super) struct Labels {
    own: Vec<usize>,
    /// Weight of a row's own label in its mixed target, [`Batch::own_share`]; `None` if targets are not mixed.
    own_share: Option<f64>,
}

/// Mean cross-entropy of mixed targets: weight `share` for class `labels[n]`, weight `1 - share` for the class of the
/// previous row (for the first row: of the last row).
///
/// The loss is `-1/B Σ_n Σ_c w[c] t(n, c) log p(n, c)`, with `p` the softmax and `t` the target after label smoothing.
/// It divides by the number of rows B; [`cross_entropy_with_targets`] divides by the sum of the labels' weights
/// instead.
///
/// # Shapes
/// `(1)` from `logits: (B, K)` and B labels.
/// # Errors
/// As [`cross_entropy_with_targets`].
/// # Source
/// PyTorch `F.cross_entropy(logits, one_hot * share + one_hot.roll(1, 0) * (1 - share), weight=w, label_smoothing=ε)`.
fn mixed_cross_entropy<D: Kernels>(
    pass: &mut Pass<D>,
    logits: &Var<D>,
    labels: &[usize],
    share: f64,
    options: &CrossEntropyOptions,
) -> Result<Var<D>> {
    let mut before = labels.to_vec();
    before.rotate_right(usize::from(!labels.is_empty()));
    let own = cross_entropy_with_targets(pass, logits, labels, options)?;
    let other = cross_entropy_with_targets(pass, logits, &before, options)?;
    // Both target lists contain the same labels in another order, so they have the same divisor.
    let divisor = ClassTargets::new(labels, logits.shape().last(), options)?.divisor;
    let mean = divisor / labels.len() as f64;
    let factors = [share, 1.0 - share].map(|share| (share * mean) as f32);
    blend(pass, (&own, factors[0]), (&other, factors[1]))
}

impl<D: Kernels> Goal<D> for Classes {
    type Host = Labels;
    type Targets = Labels;

    fn meaning(&self) -> OutputKind {
        OutputKind::Logits
    }

    fn of_batch(&self, batch: &mut Batch) -> Labels {
        Labels {
            own: indices(&batch.labels),
            own_share: batch.own_share,
        }
    }

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Labels {
        Labels {
            own: inputs.indices("label", &[], self.classes),
            own_share: None,
        }
    }

    fn upload(&self, _device: &D, labels: Labels, _rows: usize) -> Result<Labels> {
        Ok(labels)
    }

    fn loss(&self, pass: &mut Pass<D>, logits: &Var<D>, labels: &Labels) -> Result<Var<D>> {
        let (own, options) = (&labels.own, &self.options);
        match labels.own_share {
            None => cross_entropy_with_targets(pass, logits, own, options),
            Some(share) => mixed_cross_entropy(pass, logits, own, share, options),
        }
    }

    fn score(&self, device: &D, logits: &Var<D>, labels: &Labels, score: &mut Score) -> Result<()> {
        let logits = logits.to_host(device)?;
        score.add_classes(&logits, self.classes, &labels.own);
        Ok(())
    }
}

pub(super) fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|&label| label as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{self, assert_close, parse_numbers};

    const LABELS: [usize; 4] = [0, 2, 2, 1];

    fn options(label_smoothing: f64, weights: &[f64]) -> CrossEntropyOptions {
        let weights = weights.to_vec();
        CrossEntropyOptions {
            label_smoothing,
            weights,
        }
    }

    // x = torch.tensor([[1., 2., -1.], [.5, 0., 3.], [-2., .25, .5], [0., 1., -.5]]); one = F.one_hot(torch.tensor([0, 2, 2, 1])).float()
    // (2 * F.cross_entropy(x, one * .3 + one.roll(1, 0) * .7, weight=…, label_smoothing=…)).backward()   (PyTorch 2.15)
    #[track_caller]
    fn assert_pytorch(options: &CrossEntropyOptions, loss: f32, gradient: &[f32]) {
        let x = [
            1.0, 2.0, -1.0, 0.5, 0.0, 3.0, -2.0, 0.25, 0.5, 0.0, 1.0, -0.5,
        ];
        let (found, grads) = testing::backward(&[(&x, [4, 3].into())], &[2.0], |pass, x| {
            mixed_cross_entropy(pass, &x[0], &LABELS, 0.3, options)
        });
        assert_close(&found, &[loss], 2e-7);
        assert_close(&grads[0], gradient, 2e-7);
    }

    #[test]
    fn mixed_targets_are_those_of_pytorch() {
        // label_smoothing=0
        let gradient: Vec<f32> = parse_numbers(
            "-0.020251766 0.0026922822 0.017559515
              -0.31373927  0.021993238  0.29174605
              0.022055354    0.2092554 -0.23131076
               0.11561194   0.16426584  -0.2798778",
        );
        assert_pytorch(&options(0.0, &[]), 1.164_576_6, &gradient);
        // label_smoothing=0, weight=torch.tensor([.5, 2., 1.25])
        let gradient: Vec<f32> = parse_numbers(
            " 0.12610976 -0.15332697 0.027217248
             -0.14871098   0.0159451   0.1327659
             0.027569193  0.26156926 -0.28913844
              0.17052762  0.16354212 -0.33406976",
        );
        assert_pytorch(&options(0.0, &[0.5, 2.0, 1.25]), 1.107_384_2, &gradient);
        // label_smoothing=.1
        let gradient: Vec<f32> = parse_numbers(
            " -0.02191843 0.021025598 0.0008928478
              -0.29540595 0.005326571   0.29007939
             0.0053886864  0.19258873  -0.19797742
              0.098945275  0.16259918   -0.2615445",
        );
        assert_pytorch(&options(0.1, &[]), 1.209_993_4, &gradient);
        // label_smoothing=.1, weight=torch.tensor([.5, 2., 1.25])
        let gradient: Vec<f32> = parse_numbers(
            " 0.12138399   -0.1272411 0.005857129
             -0.13764063 -0.016233591  0.15387425
             0.019235859   0.22823592 -0.24747175
              0.15959302   0.15313783 -0.31273088",
        );
        assert_pytorch(&options(0.1, &[0.5, 2.0, 1.25]), 1.175_551, &gradient);
    }

    #[test]
    fn gradients_of_mixed_targets_equal_finite_differences() {
        for options in [options(0.0, &[]), options(0.1, &[0.5, 2.0, 1.25])] {
            testing::check_gradients(&[[4, 3].into()], |pass, x| {
                mixed_cross_entropy(pass, &x[0], &LABELS, 0.3, &options)
            });
        }
    }

    #[test]
    fn the_own_target_alone_is_the_plain_loss() {
        let x = testing::random_values(12, 3);
        let shapes = [(&x[..], [4, 3].into())];
        let plain = testing::forward(&shapes, |pass, x| {
            cross_entropy_with_targets(pass, &x[0], &LABELS, &CrossEntropyOptions::default())
        });
        let mixed = testing::forward(&shapes, |pass, x| {
            mixed_cross_entropy(pass, &x[0], &LABELS, 1.0, &CrossEntropyOptions::default())
        });
        assert_close(&mixed, &plain, 1e-7);
    }
}
