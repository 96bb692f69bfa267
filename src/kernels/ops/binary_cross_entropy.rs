//! Binary cross-entropy of logits, composed of other operations.

use super::{
    Activation, Combine, Kernels, OpError, Pass, Result, Shape, Var, activate, add, broadcast,
    mean_positions,
};

/// Targets of [`binary_cross_entropy`] on a device: factors of the loss for a present and for an absent label.
#[derive(Debug, Clone)]
pub struct BinaryTargets<D: Kernels> {
    /// `w y`, the factors of `softplus(−x)`.
    present: Var<D>,
    /// `1 − y`, the factors of `softplus(x)`.
    absent: Var<D>,
    /// The constant −1, one value, to compute `−x`.
    minus: Var<D>,
}

impl<D: Kernels> BinaryTargets<D> {
    /// Targets y `(B, L)`, from 0 to 1. `pos_weight` are the weights w of the L labels where a label is present, as in
    /// PyTorch; if it is empty, all weights are 1.
    ///
    /// # Errors
    /// [`OpError::Shape`] when `labels` does not fill `shape`, or the number of weights is neither 0 nor L.
    pub fn new(device: &D, labels: &[f32], shape: [usize; 2], pos_weight: &[f64]) -> Result<Self> {
        let shape = Shape::from(shape);
        if ![0, shape.last()].contains(&pos_weight.len()) {
            let message = format!("{} weights of {} labels", pos_weight.len(), shape.last());
            return Err(OpError::shape(NAME, message));
        }
        let weight = |at: usize| match pos_weight.get(at % shape.last()) {
            Some(weight) => *weight as f32,
            None => 1.0,
        };
        let labels = labels.iter().enumerate();
        let (present, absent) = labels.map(|(at, y)| (weight(at) * y, 1.0 - y)).unzip();
        Ok(Self {
            present: Var::constant(device, present, shape)?,
            absent: Var::constant(device, absent, shape)?,
            minus: Var::constant(device, vec![-1.0], [1])?,
        })
    }
}

const NAME: &str = "binary_cross_entropy";

/// The mean over all values of `w y softplus(−x) + (1 − y) softplus(x)`, which is `−w y ln σ(x) − (1 − y) ln(1 −
/// σ(x))`: σ is the logistic function, `softplus(x) = max(x, 0) + ln(1 + exp(−|x|))`, which cannot overflow.
///
/// # Shapes
/// `(1)` from `logits: (B, L)` and targets of the same shape.
/// # Errors
/// [`OpError::Shape`] when the shapes differ or are empty.
/// # Source
/// PyTorch `F.binary_cross_entropy_with_logits(x, y, pos_weight=w)`.
pub fn binary_cross_entropy<D: Kernels>(
    pass: &mut Pass<D>,
    logits: &Var<D>,
    targets: &BinaryTargets<D>,
) -> Result<Var<D>> {
    let (x, y) = (logits.shape(), targets.present.shape());
    if x != y || x.is_empty() {
        let message = format!("logits {x} and targets {y} do not fit");
        return Err(OpError::shape(NAME, message));
    }
    let as_positions = [1, x.len(), 1];
    let minus = &targets.minus;
    let negative = broadcast(pass, logits, minus, as_positions, Combine::Multiply)?;
    let absent = weighted(pass, logits, &targets.absent)?;
    let present = weighted(pass, &negative, &targets.present)?;
    let losses = add(pass, &absent, &present)?.reshape(as_positions)?;
    mean_positions(pass, &losses)?.reshape([1])
}

/// `factors · softplus(x)`, elementwise.
fn weighted<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, factors: &Var<D>) -> Result<Var<D>> {
    let losses = activate(pass, x, Activation::Softplus)?;
    let dims = [1, 1, x.shape().len()];
    broadcast(pass, &losses, factors, dims, Combine::Multiply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers};

    const LABELS: [f32; 6] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    /// Soft labels, as those of two mixed samples.
    const SHARES: [f32; 6] = [1.0, 0.25, 0.7, 0.0, 0.0, 1.0];
    const WEIGHTS: [f64; 3] = [0.5, 2.0, 3.0];

    /// The loss of the logits `x` for `labels`; all weights are 1 if `weights` is empty.
    fn loss(
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        labels: &[f32],
        weights: &[f64],
    ) -> Result<Var<TestDevice>> {
        let shape = [x.shape().rows(), x.shape().last()];
        let targets = BinaryTargets::new(pass.device(), labels, shape, weights)?;
        binary_cross_entropy(pass, x, &targets)
    }

    // x = torch.tensor([[1., -2., .5], [0., 3., -.25]], requires_grad=True)
    // (3 * F.binary_cross_entropy_with_logits(x, y, pos_weight=w)).backward()   (PyTorch 2.15)
    #[track_caller]
    fn assert_pytorch(labels: &[f32], weights: &[f64], expected: f32, gradient: &[f32]) {
        let x = [1.0, -2.0, 0.5, 0.0, 3.0, -0.25];
        let (found, grads) = testing::backward(&[(&x, [2, 3].into())], &[3.0], |pass, x| {
            loss(pass, &x[0], labels, weights)
        });
        assert_close(&found, &[expected], 2e-7);
        assert_close(&grads[0], gradient, 2e-7);
    }

    #[test]
    fn value_and_gradient_are_those_of_pytorch() {
        // y = torch.tensor([[1., 0., 1.], [0., 0., 1.]])
        let gradient =
            parse_numbers("-0.1344707 0.05960146 -0.18877034 0.25 0.47628704 -0.28108823");
        assert_pytorch(&LABELS, &[], 0.913_656_8, &gradient);
        // w = torch.tensor([.5, 2., 3.])
        let gradient =
            parse_numbers("-0.06723535 0.05960146 -0.566311 0.25 0.47628704 -0.84326476");
        assert_pytorch(&LABELS, &WEIGHTS, 1.320_890_3, &gradient);
        // y = torch.tensor([[1., .25, .7], [0., 0., 1.]])
        let gradient =
            parse_numbers("-0.06723535 -0.17549817 -0.3030488 0.25 0.47628704 -0.84326476");
        assert_pytorch(&SHARES, &WEIGHTS, 1.470_438, &gradient);
    }

    #[test]
    fn large_logits_have_finite_losses() {
        // x = torch.tensor([[100., -100., 100., -100.]]); y = torch.tensor([[1., 0., 0., 1.]]); w = torch.tensor([1., 1., 1., 2.])
        let x = [100.0, -100.0, 100.0, -100.0];
        let (found, grads) = testing::backward(&[(&x, [1, 4].into())], &[1.0], |pass, x| {
            loss(pass, &x[0], &[1.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 2.0])
        });
        assert_close(&found, &[75.0], 1e-7);
        assert_close(&grads[0], &[0.0, 0.0, 0.25, -0.5], 1e-7);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let device = testing::device();
        let x = Var::constant(&device, vec![0.0; 6], [3, 2]).unwrap();
        let targets = BinaryTargets::new(&device, &LABELS, [2, 3], &[]).unwrap();
        let refused = binary_cross_entropy(&mut Pass::inference(&device), &x, &targets);
        let text = refused.unwrap_err().to_string();
        assert!(
            text.ends_with("logits (3, 2) and targets (2, 3) do not fit"),
            "{text}"
        );
        let refused = BinaryTargets::new(&device, &LABELS, [2, 3], &[1.0]);
        let text = refused.unwrap_err().to_string();
        assert!(text.ends_with("1 weights of 3 labels"), "{text}");
    }
}
