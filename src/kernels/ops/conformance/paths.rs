//! Test cases of operations on paths in time (series of times and values).

use std::rc::Rc;

use super::{Case, Leaf, NamedValues, Trial, batch, leaf, random, weight};
use crate::ops::{
    KernelStatistic, Kernels, Pass, PathBatch, RbfStatistic, Result, SignatureKernelLoss,
    SignatureKernelOptions, SignatureLoss, SignatureSize, Var, add, euler_maruyama,
    loss_of_signature_kernels, pointwise_network, signature_loss, signature_projection,
};

/// Number of points of a path in the cases of losses, for the sizes small, middle and large.
const POINTS: [usize; 3] = [4, 17, 17];

pub(super) fn paths<D: Kernels>() -> Vec<Case<D>> {
    let mut cases = generators();
    cases.extend(losses());
    cases
}

/// Test cases of operations that generate paths, and of those that read paths point by point.
fn generators<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("euler_maruyama", "EulerKernel", |t| {
            let (count, steps, hidden) = t.pick((2, 3, 4), (33, 9, 17), (9, 60, 32));
            let mut leaves = vec![batch([count, 1]), batch([count, steps])];
            leaves.extend(field(hidden));
            leaves.extend(field(hidden));
            t.gradients(&leaves, |pass, x| {
                let own = |start: usize| std::array::from_fn(|i| x[start + i].clone());
                euler_maruyama(pass, &x[0], &x[1], &[own(2), own(8)])
            })
        }),
        Case::new("signature_projection", "SignatureProjectionKernel", |t| {
            let (count, points, channels, depth) =
                t.pick((2, 3, 2, 2), (9, 13, 3, 4), (35, 70, 3, 3));
            let size = SignatureSize {
                batch: count,
                points,
                channels,
                depth,
            };
            let leaves = [
                batch([count, points, channels]),
                weight([size.entries(), 1], size.entries()),
                leaf([1]),
            ];
            t.gradients(&leaves, |pass, x| {
                signature_projection(pass, &x[0], &x[1], &x[2], depth)
            })
        }),
        Case::new("pointwise_network", "PointwiseKernel", |t| {
            let (rows, hidden) = t.pick((5, 6), (1025, 17), (40_000, 8));
            let mut leaves = vec![batch([rows, 2])];
            for (inputs, outputs) in [(2, hidden), (hidden, hidden), (hidden, 3)] {
                leaves.extend([weight([inputs, outputs], inputs), leaf([outputs])]);
            }
            // Biases are shifted so that no value before a ReLU is near 0: rounding could make it positive on one
            // device only.
            let distances = t.pick([3.0, 8.0], [3.0, 8.0], [3.0, 8.0]);
            t.gradients(&leaves, |pass, x| {
                let point = x[0].detach(pass.device())?;
                let mut layers = std::array::from_fn(|i| [1, 2].map(|at| x[2 * i + at].clone()));
                for ([_, bias], distance) in layers.iter_mut().zip(distances) {
                    *bias = away(pass, bias, distance)?;
                }
                pointwise_network(pass, &point, &layers)
            })
        }),
    ]
}

fn losses<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("kernel_loss", "SignatureKernelLossKernel", |t| {
            let (count, points) = (t.pick(3, 9, 9), t.pick(POINTS[0], POINTS[1], POINTS[2]));
            let statistic = t.pick(
                KernelStatistic::Scoring,
                KernelStatistic::Mmd,
                KernelStatistic::Mmd,
            );
            let options = SignatureKernelOptions {
                sigma: 1.0,
                order: 1,
                points,
                paths: count,
            };
            t.gradients(&[generated(count, points)], |pass, x| {
                let loss = SignatureKernelLoss::new(statistic, options, &real(count, points));
                loss_of_signature_kernels(pass, &x[0], &Rc::new(loss))
            })
        }),
        Case::new("signature_loss", "SignatureLossKernel", |t| {
            on_signatures(t, SignatureLoss::t_statistic)
        }),
        Case::new("signature_loss (rbf)", "SignatureLossKernel", |t| {
            on_signatures(t, |real| {
                SignatureLoss::rbf(RbfStatistic::Scoring, 1.0, real)
            })
        }),
    ]
}

fn on_signatures<D: Kernels>(
    t: &Trial<'_, D>,
    loss: fn(&PathBatch) -> SignatureLoss,
) -> Result<NamedValues> {
    let (count, points) = (t.pick(3, 33, 33), t.pick(POINTS[0], POINTS[1], POINTS[2]));
    t.gradients(&[generated(count, points)], |pass, x| {
        let loss = loss(&real(count, points));
        signature_loss(pass, &x[0], &Rc::new(loss))
    })
}

/// Inputs of one field (drift or diffusion) of Euler–Maruyama: weight and bias of every layer.
fn field(hidden: usize) -> [Leaf; 6] {
    [
        weight([2, hidden], 2),
        leaf([hidden]),
        weight([hidden, hidden], hidden),
        leaf([hidden]),
        weight([hidden, 1], hidden),
        leaf([1]),
    ]
}

/// `x` with `distance` added to the values at even indices and subtracted from those at odd ones.
fn away<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, distance: f32) -> Result<Var<D>> {
    let signs = [distance, -distance].into_iter().cycle();
    let shift = signs.take(x.shape().len()).collect();
    let shift = Var::constant(pass.device(), shift, x.shape())?;
    add(pass, x, &shift)
}

fn generated(count: usize, points: usize) -> Leaf {
    leaf([count, points - 1])
}

/// Reference paths for the losses.
fn real(count: usize, points: usize) -> PathBatch {
    let steps = points - 1;
    PathBatch::generated(&random(count * steps, 77), steps)
}
