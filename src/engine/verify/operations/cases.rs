//! All operations with their inputs, in one list, which a test compares with the existing kernels.

use super::fixed_points::fixed_points;
use super::paths::paths;
use super::trial::{Case, leaf, random, weight};
use super::updates::{memory, updates};
use crate::ops::{
    Activation, AttentionKind, Conv2dOptions, Kernels, add, add_silu, add_tanh, attention, blend,
    concat, conv2d, cross_attention, cross_entropy, distance, dropout, embedding, group_norm,
    layer_norm, linear, linear_residual, linear_transposed, mse, norm_residual, nudge, physics,
    silu, upsample_bilinear,
};

/// All cases, in the order in which they are reported.
pub(super) fn all<D: Kernels>() -> Vec<Case<D>> {
    let mut cases = memory();
    cases.extend(elementwise());
    cases.extend(products());
    cases.extend(images());
    cases.extend(sequences());
    cases.extend(losses());
    cases.extend(fixed_points());
    cases.extend(paths());
    cases.extend(updates());
    cases
}

fn elementwise<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("silu", "SiluKernel", |t| {
            t.gradients(&[leaf(t.pick([3, 5], [33, 1025]))], |pass, x| {
                silu(pass, &x[0])
            })
        }),
        Case::new("add", "AddKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
                add(pass, &x[0], &x[1])
            })
        }),
        Case::new("add_silu", "AddKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
                add_silu(pass, &x[0], &x[1])
            })
        }),
        Case::new("add_tanh", "AddKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
                add_tanh(pass, &x[0], &x[1])
            })
        }),
        Case::new("blend", "BlendKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
                blend(pass, (&x[0], 0.3), (&x[1], 0.7))
            })
        }),
        Case::new("distance", "BlendKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.values(&[leaf(shape), leaf(shape)], |pass, x| {
                Ok(vec![distance(pass, &x[0], &x[1])? as f32])
            })
        }),
        Case::new("concat", "ConcatKernel", |t| {
            let rows = t.pick(2, 1025);
            t.gradients(&[leaf([rows, 5]), leaf([rows, 31])], |pass, x| {
                concat(pass, &x[0], &x[1])
            })
        }),
        Case::new("dropout", "DropoutKernel", |t| {
            t.gradients(&[leaf(t.pick([3, 5], [33, 1025]))], |pass, x| {
                dropout(pass, &x[0], 0.3)
            })
        }),
    ]
}

fn products<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("linear", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97));
            let leaves = [
                leaf([rows, inputs]),
                weight([inputs, outputs], inputs),
                leaf([outputs]),
            ];
            let activation = t.pick(Activation::Tanh, Activation::Gelu);
            t.gradients(&leaves, |pass, x| {
                linear(pass, &x[0], &x[1], Some(&x[2]), activation)
            })
        }),
        Case::new("linear_residual", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97));
            let leaves = [
                leaf([rows, outputs]),
                leaf([rows, inputs]),
                weight([inputs, outputs], inputs),
                leaf([outputs]),
            ];
            t.gradients(&leaves, |pass, x| {
                linear_residual(pass, &x[0], &x[1], &x[2], &x[3])
            })
        }),
        Case::new("linear_transposed", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97));
            let leaves = [
                leaf([rows, outputs]),
                weight([inputs, outputs], outputs),
                leaf([rows, inputs]),
            ];
            t.gradients(&leaves, |pass, x| {
                linear_transposed(pass, &x[0], &x[1], Some(&x[2]))
            })
        }),
        Case::new("nudge", "LinearKernel", |t| {
            let rows = t.pick(3, 65);
            let labels: Vec<usize> = (0..rows).map(|row| row % 10).collect();
            let leaves = [leaf([rows, 33]), weight([33, 10], 33), leaf([10])];
            t.values(&leaves, |pass, x| {
                let nudged = nudge(pass, &x[0], (&x[1], &x[2]), &labels, 0.7)?;
                Ok(nudged.to_host(pass.device())?)
            })
        }),
    ]
}

fn images<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("conv2d", "Conv2dKernel", |t| {
            let (batch, side, channels, kernels) = t.pick((1, 4, 2, 3), (3, 13, 17, 33));
            let leaves = [
                leaf([batch, side, side, channels]),
                weight([3, 3, channels, kernels], 9 * channels),
                leaf([kernels]),
            ];
            let options = Conv2dOptions {
                stride: t.pick(1, 2),
                padding: 1,
            };
            t.gradients(&leaves, |pass, x| {
                conv2d(pass, &x[0], &x[1], Some(&x[2]), options)
            })
        }),
        Case::new("group_norm", "GroupNormKernel", |t| {
            let (batch, side, channels, groups) = t.pick((2, 2, 4, 2), (3, 11, 48, 8));
            let leaves = [
                leaf([batch, side, side, channels]),
                leaf([channels]),
                leaf([channels]),
                leaf([batch, channels]),
            ];
            let activation = t.pick(Activation::Relu, Activation::Silu);
            t.gradients(&leaves, |pass, x| {
                let shift = Some(&x[3]);
                group_norm(pass, &x[0], &x[1], &x[2], groups, shift, activation)
            })
        }),
        Case::new("norm_residual", "NormResidualKernel", |t| {
            let (batch, side, channels, groups) = t.pick((2, 2, 4, 2), (3, 11, 48, 8));
            let image = [batch, side, side, channels];
            let leaves = [leaf(image), leaf([channels]), leaf([channels]), leaf(image)];
            t.gradients(&leaves, |pass, x| {
                norm_residual(pass, &x[0], (&x[1], &x[2], groups), &x[3], 0.3)
            })
        }),
        Case::new("upsample_bilinear", "UpsampleKernel", |t| {
            let shape = t.pick([1, 2, 3, 2], [3, 9, 7, 33]);
            t.gradients(&[leaf(shape)], |pass, x| upsample_bilinear(pass, &x[0]))
        }),
    ]
}

fn sequences<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("attention", "AttentionKernel", |t| {
            let shape = t.pick([1, 3, 12], [3, 49, 96]);
            t.gradients(&[leaf(shape)], |pass, x| attention(pass, &x[0], 2))
        }),
        Case::new("cross_attention", "CrossAttentionKernel", |t| {
            let (batch, queries, keys, features) = t.pick((1, 2, 3, 4), (3, 37, 65, 32));
            let leaves = [
                leaf([batch, queries, features]),
                leaf([batch, keys, features]),
                leaf([batch, keys, features]),
            ];
            t.gradients(&leaves, |pass, x| {
                cross_attention(pass, &x[0], &x[1], &x[2], 2, AttentionKind::Softmax)
            })
        }),
        Case::new("cross_attention (linear)", "CrossAttentionKernel", |t| {
            let (batch, queries, keys, features) = t.pick((1, 2, 3, 4), (3, 65, 37, 32));
            let leaves = [
                leaf([batch, queries, features]),
                leaf([batch, keys, features]),
                leaf([batch, keys, features]),
            ];
            t.gradients(&leaves, |pass, x| {
                cross_attention(pass, &x[0], &x[1], &x[2], 2, AttentionKind::Linear)
            })
        }),
        Case::new("layer_norm", "LayerNormKernel", |t| {
            let (rows, features) = t.pick((2, 5), (67, 129));
            let leaves = [leaf([rows, features]), leaf([features]), leaf([features])];
            t.gradients(&leaves, |pass, x| {
                layer_norm(pass, &x[0], &x[1], &x[2], 1e-5)
            })
        }),
        Case::new("embedding", "EmbeddingKernel", |t| {
            let (rows, features, count) = t.pick((4, 3, 5), (31, 65, 257));
            let indices: Vec<usize> = (0..count).map(|i| i * i % rows).collect();
            t.gradients(&[leaf([rows, features])], |pass, x| {
                embedding(pass, &x[0], &indices)
            })
        }),
    ]
}

fn losses<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("mse", "MseKernel", |t| {
            let shape = t.pick([3, 5], [33, 1025]);
            t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
                mse(pass, &x[0], &x[1])
            })
        }),
        Case::new("cross_entropy", "CrossEntropyKernel", |t| {
            let (rows, classes) = t.pick((2, 3), (257, 33));
            let labels: Vec<usize> = (0..rows).map(|row| 7 * row % classes).collect();
            t.gradients(&[leaf([rows, classes])], |pass, x| {
                cross_entropy(pass, &x[0], &labels)
            })
        }),
        Case::new("physics", "PhysicsKernel", |t| {
            let shape = t.pick([2, 5], [33, 129]);
            let alpha_bars = random(shape[0], 5)
                .iter()
                .map(|x| 0.5 + 0.4 * x)
                .collect::<Vec<_>>();
            t.gradients(&[leaf(shape), leaf(shape), leaf(shape)], |pass, x| {
                physics(pass, &x[0], &x[1], &x[2], &alpha_bars, 0.3)
            })
        }),
    ]
}
