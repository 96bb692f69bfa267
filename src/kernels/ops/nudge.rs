//! One gradient step of a value on a classifier's loss: the nudged phase of equilibrium propagation.

use super::gemm::Accumulate;
use super::{
    Activation, ClassTargets, CrossEntropyOptions, Flops, Kernels, LinearSize, OpError, Pass,
    PooledBuffer, Result, Var,
};

/// `f - strength · dL/df`, with L the mean cross-entropy of `f · weight + bias`. The result is detached: it has no
/// gradient.
///
/// `dL/df = (softmax(f · weight + bias) - [class = label]) / B · weightᵀ`.
///
/// FLOPs: as a linear layer and a cross-entropy forward, backward to their input, and 1 per value.
///
/// # Shapes
/// As `f: (B, F)`; `weight: (F, K)` ([`super::Layout::Linear`]), `bias: (K)`, B labels below K.
/// # Errors
/// [`OpError::Shape`] when the shapes or labels do not fit each other.
/// # Source
/// Scellier & Bengio 2017, §2.2, with the loss of the readout as the cost.
pub fn nudge<D: Kernels>(
    pass: &mut Pass<D>,
    f: &Var<D>,
    (weight, bias): (&Var<D>, &Var<D>),
    labels: &[usize],
    strength: f32,
) -> Result<Var<D>> {
    let size = check(f, weight, bias, labels)?;
    let device = pass.device().clone();
    let identity = Activation::Identity;
    let (logits, _) = device.linear(
        f.held(),
        weight.held(),
        Some(bias.data()),
        size,
        identity,
        false,
    )?;
    let targets = ClassTargets::new(labels, size.outputs, &CrossEntropyOptions::default())?;
    let (_, probabilities) = device.cross_entropy(&logits, &targets)?;
    let (seed, values) = (device.upload(vec![-strength])?, size.rows * size.outputs);
    let mut slope = device.uninit_buffer(values)?;
    let slot = (&mut slope, Accumulate::Replace);
    device.cross_entropy_backward(&probabilities, &targets, &seed, slot)?;
    let mut nudged = f.data().clone();
    let slope = PooledBuffer::<D>::new(slope);
    device.linear_backward_x(&slope, weight.held(), size, (&mut nudged, Accumulate::Add))?;
    let work = Flops::new(4 * values * size.inputs + 9 * values + f.shape().len(), 0);
    let shape = f.shape();
    let nudged = Var::from_buffer(&device, nudged, shape, false)?;
    pass.count("nudge", work, shape.len(), &[f, weight, bias]);
    Ok(nudged)
}

fn check<D: Kernels>(
    f: &Var<D>,
    weight: &Var<D>,
    bias: &Var<D>,
    labels: &[usize],
) -> Result<LinearSize> {
    match (f.shape().dims(), weight.shape().dims()) {
        (&[rows, inputs], &[own, outputs])
            if inputs == own
                && bias.shape().dims() == [outputs]
                && labels.len() == rows
                && rows > 0
                && labels.iter().all(|label| *label < outputs) =>
        {
            Ok(LinearSize {
                rows,
                inputs,
                outputs,
            })
        }
        _ => {
            let (f, weight, bias) = (f.shape(), weight.shape(), bias.shape());
            let labels = labels.len();
            let message =
                format!("{f} does not fit a weight {weight}, a bias {bias} and {labels} labels");
            Err(OpError::shape("nudge", message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{cross_entropy, linear, testing};

    #[test]
    fn a_nudged_value_is_that_of_pytorch() {
        // f = torch.tensor([[1., -2., .5], [0., 3., -1.]], requires_grad=True)
        // w = torch.tensor([[.1, .2, .3], [-.4, .5, .6]]); b = torch.tensor([.5, -1.])
        // F.cross_entropy(F.linear(f, w, b), torch.tensor([1, 0])).backward(); f - .3 * f.grad
        let nudged = testing::forward(
            &[
                (&[1.0, -2.0, 0.5, 0.0, 3.0, -1.0], [2, 3].into()),
                (&[0.1, -0.4, 0.2, 0.5, 0.3, 0.6], [3, 2].into()),
                (&[0.5, -1.0], [2].into()),
            ],
            |pass, v| nudge(pass, &v[0], (&v[1], &v[2]), &[1, 0], 0.3),
        );
        let expected = testing::parse_numbers(
            "0.9309579 -1.9585748 0.5414253 0.021678787 2.986993 -1.0130073",
        );
        testing::assert_close(&nudged, &expected, 1e-6);
    }

    #[test]
    fn the_step_is_the_gradient_that_backward_gives() {
        let (f, weight, bias) = (
            testing::random_values(6 * 13, 1),
            testing::random_values(13 * 10, 2),
            testing::random_values(10, 3),
        );
        let labels = [3, 9, 0, 1, 3, 7];
        let leaves = [
            (f.as_slice(), [6, 13].into()),
            (weight.as_slice(), [13, 10].into()),
            (bias.as_slice(), [10].into()),
        ];
        let (_, grads) = testing::backward(&leaves, &[1.0], |pass, v| {
            let logits = linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Identity)?;
            cross_entropy(pass, &logits, &labels)
        });
        let nudged = testing::forward(&leaves, |pass, v| {
            nudge(pass, &v[0], (&v[1], &v[2]), &labels, 0.7)
        });
        let expected: Vec<f32> = f.iter().zip(&grads[0]).map(|(f, g)| f - 0.7 * g).collect();
        testing::assert_close(&nudged, &expected, 1e-6);
    }

    #[test]
    fn one_and_two_threads_give_the_same_bits() {
        let labels: Vec<usize> = (0..7001).map(|row| row % 10).collect();
        let (f, weight) = (
            testing::random_values(7001 * 33, 1),
            testing::random_values(330, 2),
        );
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                testing::forward(
                    &[
                        (&f, [7001, 33].into()),
                        (&weight, [33, 10].into()),
                        (&[0.1; 10], [10].into()),
                    ],
                    |pass, v| nudge(pass, &v[0], (&v[1], &v[2]), &labels, 0.7),
                )
            })
        };
        assert!(run(1) == run(2));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let device = testing::device();
        let f = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
        let weight = Var::constant(&device, vec![0.0; 6], [3, 2]).unwrap();
        let bias = Var::constant(&device, vec![0.0; 2], [2]).unwrap();
        let mut pass = Pass::inference(&device);
        let mut refused =
            |labels: &[usize]| nudge(&mut pass, &f, (&weight, &bias), labels, 1.0).unwrap_err();
        assert_eq!(
            refused(&[0]).to_string(),
            "nudge: (2, 3) does not fit a weight (3, 2), a bias (2) and 1 labels"
        );
        refused(&[0, 2]);
    }
}
