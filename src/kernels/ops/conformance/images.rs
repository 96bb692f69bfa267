//! Test cases of operations on images.

use super::{Case, NamedValues, Trial, batch, leaf};
use crate::ops::{
    Activation, Combine, Kernels, Pool, PoolOptions, Result, Var, add, batch_norm,
    batch_norm_inference, broadcast, group_norm, mean_positions, norm_residual, pool,
    upsample_bilinear, upsample_nearest,
};

#[expect(clippy::too_many_lines, reason = "a list")]
pub(super) fn images<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("group_norm", "GroupNormKernel", |t| {
            let (count, side, channels, groups) =
                t.pick((2, 2, 4, 2), (3, 11, 48, 8), (5, 29, 17, 17));
            let leaves = [
                batch([count, side, side, channels]),
                leaf([channels]),
                leaf([channels]),
                batch([count, channels]),
            ];
            let activation = t.pick(Activation::Tanh, Activation::Silu, Activation::Silu);
            t.gradients(&leaves, |pass, x| {
                let shift = Some(&x[3]);
                group_norm(pass, &x[0], &x[1], &x[2], groups, shift, activation)
            })
        }),
        Case::new("norm_residual", "NormResidualKernel", |t| {
            let (count, side, channels, groups) =
                t.pick((2, 2, 4, 2), (3, 11, 48, 8), (5, 29, 17, 17));
            let image = [count, side, side, channels];
            let leaves = [
                batch(image),
                leaf([channels]),
                leaf([channels]),
                batch(image),
            ];
            t.gradients(&leaves, |pass, x| {
                norm_residual(pass, &x[0], (&x[1], &x[2], groups), &x[3], t.dropout(0.3))
            })
        }),
        Case::new("batch_norm", "BatchNormKernel", |t| {
            let (count, side, channels) = t.pick((3, 2, 2), (3, 11, 48), (5, 29, 17));
            let image = [count, side, side, channels];
            let leaves = [leaf(image), leaf([channels]), leaf([channels]), leaf(image)];
            let activation = t.pick(Activation::Tanh, Activation::Silu, Activation::Identity);
            t.gradients(&leaves, |pass, x| {
                let shift = t.pick(Some(&x[3]), Some(&x[3]), None);
                let y = batch_norm(pass, &x[0], &x[1], &x[2], shift, 1e-5, activation)?.0;
                add(pass, &y, &x[3])
            })
        }),
        Case::new("batch_norm_frozen", "BatchNormKernel", |t| {
            let (count, side, channels) = t.pick((3, 2, 2), (3, 11, 48), (5, 29, 17));
            let image = [count, side, side, channels];
            let leaves = [batch(image), leaf([channels]), leaf([channels])];
            t.gradients(&leaves, |pass, x| {
                let row = |value| Var::constant(pass.device(), vec![value; channels], [channels]);
                let (mean, variance) = (row(0.25)?, row(0.5)?);
                let (gamma, beta, silu) = (&x[1], &x[2], Activation::Silu);
                batch_norm_inference(pass, &x[0], gamma, beta, &mean, &variance, 1e-5, silu)
            })
        }),
        Case::new("max_pool2d", "PoolKernel", |t| pooled(t, Pool::Max)),
        Case::new("avg_pool2d", "PoolKernel", |t| pooled(t, Pool::Average)),
        Case::new("mean", "BroadcastKernel", |t| {
            let shape = t.pick([2, 2, 3, 2], [3, 9, 7, 33], [5, 65, 33, 19]);
            t.gradients(&[batch(shape)], |pass, x| mean_positions(pass, &x[0]))
        }),
        Case::new("mul", "BroadcastKernel", |t| {
            let (count, pixels, channels) = t.pick((2, 3, 2), (3, 63, 33), (5, 2145, 19));
            let leaves = [batch([count, pixels, channels]), batch([count, channels])];
            t.gradients(&leaves, |pass, x| {
                let batch = x[0].shape().dims()[0];
                broadcast(
                    pass,
                    &x[0],
                    &x[1],
                    [batch, pixels, channels],
                    Combine::Multiply,
                )
            })
        }),
        Case::new("add_row", "BroadcastKernel", |t| {
            let (count, len) = t.pick((2, 3), (5, 1025), (9, 40_001));
            t.gradients(&[batch([count, len]), leaf([len])], |pass, x| {
                let batch = x[0].shape().dims()[0];
                broadcast(pass, &x[0], &x[1], [1, batch, len], Combine::Add)
            })
        }),
        Case::new("upsample_nearest", "UpsampleKernel", |t| {
            let shape = t.pick([2, 2, 3, 2], [3, 9, 7, 33], [2, 32, 33, 19]);
            let factor = t.pick(2, 3, 2);
            t.gradients(&[batch(shape)], |pass, x| {
                upsample_nearest(pass, &x[0], factor)
            })
        }),
        Case::new("upsample_bilinear", "UpsampleKernel", |t| {
            let shape = t.pick([2, 2, 3, 2], [3, 9, 7, 33], [2, 32, 33, 19]);
            t.gradients(&[batch(shape)], |pass, x| upsample_bilinear(pass, &x[0]))
        }),
    ]
}

fn pooled<D: Kernels>(t: &Trial<'_, D>, how: Pool) -> Result<NamedValues> {
    let shape = t.pick([2, 4, 3, 2], [3, 9, 7, 33], [2, 33, 32, 19]);
    let options = PoolOptions {
        kernel: t.pick(2, 3, 3),
        stride: t.pick(2, 2, 1),
        padding: t.pick(0, 1, 1),
    };
    t.gradients(&[batch(shape)], |pass, x| pool(pass, &x[0], how, options))
}
