//! The list of all test cases; those of images, paths, fixed points and in-place updates are in modules of their own.

use super::fixed_points::fixed_points;
use super::images::images;
use super::paths::paths;
use super::updates::{memory, updates};
use super::{Case, NamedValues, Trial, batch, leaf, random, weight};
use crate::ops::{
    Activation, AttentionKind, AttentionOptions, BinaryTargets, Conv2dOptions, CrossEntropyOptions,
    ErrorTerm, Kernels, Pass, Result, Var, activate, add, add_silu, add_tanh, attention,
    binary_cross_entropy, blend, concat, conv2d, cross_attention, cross_entropy_with_targets,
    distance, dropout, embedding, layer_norm, linear, linear_residual, linear_transposed,
    mean_error, nudge, physics_terms, prepend, projections, rms_norm, slice, transpose,
};

/// The test cases: all operations with their inputs.
pub fn cases<D: Kernels>() -> Vec<Case<D>> {
    let mut cases = memory();
    cases.extend(elementwise());
    cases.extend(products());
    cases.extend(convolutions());
    cases.extend(images());
    cases.extend(sequences());
    cases.extend(losses());
    cases.extend(fixed_points());
    cases.extend(paths());
    cases.extend(updates());
    cases
}

fn elements<D: Kernels>(t: &Trial<'_, D>) -> [usize; 2] {
    t.pick([3, 5], [33, 1025], [70, 1001])
}

fn activated<D: Kernels>(t: &Trial<'_, D>, activation: Activation) -> Result<NamedValues> {
    t.gradients(&[batch(elements(t))], |pass, x| {
        activate(pass, &x[0], activation)
    })
}

/// Values and gradients of `f`, an operation on two tensors of one shape.
fn combined<D: Kernels>(
    t: &Trial<'_, D>,
    f: impl Fn(&mut Pass<D>, &Var<D>, &Var<D>) -> Result<Var<D>>,
) -> Result<NamedValues> {
    let shape = elements(t);
    t.gradients(&[batch(shape), batch(shape)], |pass, x| {
        f(pass, &x[0], &x[1])
    })
}

fn elementwise<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("silu", "ActivateKernel", |t| activated(t, Activation::Silu)),
        Case::new("relu", "ActivateKernel", |t| activated(t, Activation::Relu)),
        Case::new("tanh", "ActivateKernel", |t| activated(t, Activation::Tanh)),
        Case::new("gelu", "ActivateKernel", |t| activated(t, Activation::Gelu)),
        Case::new("sigmoid", "ActivateKernel", |t| {
            activated(t, Activation::Sigmoid)
        }),
        Case::new("leaky_relu", "ActivateKernel", |t| {
            activated(t, Activation::LeakyRelu)
        }),
        Case::new("softplus", "ActivateKernel", |t| {
            activated(t, Activation::Softplus)
        }),
        Case::new("add", "AddKernel", |t| combined(t, add)),
        Case::new("add_silu", "AddKernel", |t| combined(t, add_silu)),
        Case::new("add_tanh", "AddKernel", |t| combined(t, add_tanh)),
        Case::new("blend", "BlendKernel", |t| {
            combined(t, |pass, x, y| blend(pass, (x, 0.3), (y, 0.7)))
        }),
        Case::new("distance", "BlendKernel", |t| {
            let shape = elements(t);
            t.values(&[leaf(shape), leaf(shape)], |pass, x| {
                Ok(vec![distance(pass, &x[0], &x[1])? as f32])
            })
        }),
        Case::new("concat", "ConcatKernel", |t| {
            let rows = t.pick(2, 1025, 5001);
            t.gradients(&[batch([rows, 5]), batch([rows, 31])], |pass, x| {
                concat(pass, &x[0], &x[1])
            })
        }),
        Case::new("dropout", "DropoutKernel", |t| {
            t.gradients(&[batch(elements(t))], |pass, x| {
                dropout(pass, &x[0], t.dropout(0.3))
            })
        }),
    ]
}

fn products<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("linear", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97), (700, 131, 65));
            let leaves = [
                batch([rows, inputs]),
                weight([inputs, outputs], inputs),
                leaf([outputs]),
            ];
            let activation = t.pick(Activation::Tanh, Activation::Gelu, Activation::Silu);
            t.gradients(&leaves, |pass, x| {
                linear(pass, &x[0], &x[1], Some(&x[2]), activation)
            })
        }),
        Case::new("linear_residual", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97), (700, 131, 65));
            let leaves = [
                batch([rows, outputs]),
                batch([rows, inputs]),
                weight([inputs, outputs], inputs),
                leaf([outputs]),
            ];
            t.gradients(&leaves, |pass, x| {
                linear_residual(pass, &x[0], &x[1], &x[2], &x[3])
            })
        }),
        Case::new("linear_transposed", "LinearKernel", |t| {
            let (rows, inputs, outputs) = t.pick((3, 4, 5), (129, 65, 97), (700, 131, 65));
            let leaves = [
                batch([rows, outputs]),
                weight([inputs, outputs], outputs),
                batch([rows, inputs]),
            ];
            t.gradients(&leaves, |pass, x| {
                linear_transposed(pass, &x[0], &x[1], Some(&x[2]))
            })
        }),
        Case::new("projections", "ProjectionsKernel", projected),
        Case::new("nudge", "LinearKernel", |t| {
            let rows = t.pick(3, 65, 257);
            let labels: Vec<usize> = (0..rows).map(|row| row % 10).collect();
            let leaves = [leaf([rows, 33]), weight([33, 10], 33), leaf([10])];
            t.values(&leaves, |pass, x| {
                let nudged = nudge(pass, &x[0], (&x[1], &x[2]), &labels, 0.7)?;
                Ok(nudged.to_host(pass.device())?)
            })
        }),
    ]
}

/// Values and gradients of `projections` with two inputs and two layers.
fn projected<D: Kernels>(t: &Trial<'_, D>) -> Result<NamedValues> {
    let (rows, outputs) = t.pick((3, [4, 5]), (129, [65, 97]), (700, [131, 65]));
    let mut leaves = vec![batch([rows, 7]), batch([rows, 33])];
    for outputs in outputs {
        for inputs in [7, 33] {
            leaves.extend([weight([inputs, outputs], inputs), leaf([outputs])]);
        }
    }
    t.gradients(&leaves, |pass, x| {
        let pair = |at: usize| [x[at].clone(), x[at + 1].clone()];
        let layers = [vec![pair(2), pair(4)], vec![pair(6), pair(8)]];
        let results = projections(pass, &x[..2], &layers)?;
        concat(pass, &results[0], &results[1])
    })
}

/// Values and gradients of a convolution with bias: `count` images of `side × side` pixels and `channels` channels, a
/// filter of `kernel × kernel` and `outputs` channels.
fn convolution<D: Kernels>(
    t: &Trial<'_, D>,
    [count, side, channels]: [usize; 3],
    (kernel, outputs): (usize, usize),
    options: Conv2dOptions,
) -> Result<NamedValues> {
    let each = channels / options.groups;
    let leaves = [
        batch([count, side, side, channels]),
        weight([kernel, kernel, each, outputs], kernel * kernel * each),
        leaf([outputs]),
    ];
    t.gradients(&leaves, |pass, x| {
        conv2d(pass, &x[0], &x[1], Some(&x[2]), options)
    })
}

/// Options of a convolution with a 3 × 3 filter that keeps the image size, or halves it for
/// [`Size::Middle`](super::Size).
fn strided<D: Kernels>(t: &Trial<'_, D>) -> Conv2dOptions {
    Conv2dOptions {
        stride: t.pick(1, 2, 1),
        padding: 1,
        ..Conv2dOptions::default()
    }
}

fn convolutions<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("conv2d", "Conv2dKernel", |t| {
            let (count, side, channels, kernels) =
                t.pick((2, 4, 2, 3), (3, 13, 17, 33), (4, 17, 48, 33));
            convolution(t, [count, side, channels], (3, kernels), strided(t))
        }),
        Case::new("conv2d (dilated)", "Conv2dKernel", |t| {
            let (count, side, channels, kernels) =
                t.pick((2, 4, 2, 3), (3, 13, 17, 33), (4, 17, 33, 17));
            let options = Conv2dOptions {
                padding: 2,
                dilation: 2,
                ..strided(t)
            };
            convolution(t, [count, side, channels], (3, kernels), options)
        }),
        Case::new("conv2d (groups)", "Conv2dKernel", |t| {
            let (count, side, channels, kernels) =
                t.pick((2, 4, 4, 6), (3, 13, 34, 22), (4, 17, 34, 66));
            let options = Conv2dOptions {
                groups: 2,
                ..strided(t)
            };
            convolution(t, [count, side, channels], (3, kernels), options)
        }),
        Case::new("conv2d (depthwise)", "Conv2dKernel", |t| {
            let (count, side, channels) = t.pick((2, 4, 3), (3, 13, 33), (4, 45, 37));
            let options = Conv2dOptions {
                groups: channels,
                ..strided(t)
            };
            convolution(t, [count, side, channels], (3, channels), options)
        }),
        Case::new("conv2d (depthwise, two results)", "Conv2dKernel", |t| {
            let (count, side, channels) = t.pick((2, 4, 2), (3, 13, 17), (4, 45, 19));
            let options = Conv2dOptions {
                stride: t.pick(2, 1, 2),
                padding: t.pick(1, 2, 2),
                dilation: 1,
                groups: channels,
            };
            convolution(
                t,
                [count, side, channels],
                (t.pick(3, 5, 5), 2 * channels),
                options,
            )
        }),
    ]
}

fn attend<D: Kernels>(t: &Trial<'_, D>, causal: bool, dropout: f32) -> Result<NamedValues> {
    let shape = t.pick([2, 3, 12], [3, 49, 96], [3, 130, 96]);
    let options = AttentionOptions {
        heads: 2,
        causal,
        dropout,
    };
    t.gradients(&[batch(shape)], |pass, x| attention(pass, &x[0], options))
}

/// Values and gradients of cross-attention with two heads, for these numbers of samples, queries, keys and features.
fn attend_across<D: Kernels>(
    t: &Trial<'_, D>,
    [count, queries, keys, features]: [usize; 4],
    kind: AttentionKind,
) -> Result<NamedValues> {
    let source = batch([count, keys, features]);
    let leaves = [batch([count, queries, features]), source, source];
    t.gradients(&leaves, |pass, x| {
        cross_attention(pass, &x[0], &x[1], &x[2], 2, kind)
    })
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn sequences<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("transpose", "TransposeKernel", |t| {
            let (count, tokens, features) = t.pick((2, 3, 2), (3, 49, 33), (5, 130, 65));
            t.gradients(&[batch([count, tokens, features])], |pass, x| {
                let batch = x[0].shape().dims()[0];
                let shape = [batch, features, tokens];
                transpose(pass, &x[0], [batch, tokens, features, 1], shape)
            })
        }),
        Case::new("transpose_runs", "TransposeKernel", |t| {
            let (count, tokens, features) = t.pick((2, 3, 2), (3, 49, 11), (5, 130, 22));
            t.gradients(&[batch([count, tokens, features, 3])], |pass, x| {
                let batch = x[0].shape().dims()[0];
                let shape = [batch, features, tokens, 3];
                transpose(pass, &x[0], [batch, tokens, features, 3], shape)
            })
        }),
        Case::new("slice", "ConcatKernel", |t| {
            let shape = t.pick([2, 3, 2], [3, 49, 33], [5, 130, 65]);
            t.gradients(&[batch(shape)], |pass, x| {
                slice(pass, &x[0], 1, shape[1] - 2)
            })
        }),
        Case::new("prepend", "ConcatKernel", |t| {
            let shape = t.pick([2, 3, 2], [3, 49, 33], [5, 130, 65]);
            t.gradients(&[batch(shape), leaf([shape[2]])], |pass, x| {
                prepend(pass, &x[0], &x[1])
            })
        }),
        Case::new("attention", "AttentionKernel", |t| attend(t, false, 0.0)),
        Case::new("attention_causal", "AttentionKernel", |t| {
            attend(t, true, 0.0)
        }),
        Case::new("attention_dropout", "AttentionKernel", |t| {
            attend(t, true, t.dropout(0.3))
        }),
        Case::new("cross_attention", "CrossAttentionKernel", |t| {
            let sizes = t.pick([2, 2, 3, 4], [3, 37, 65, 32], [200, 12, 14, 8]);
            attend_across(t, sizes, AttentionKind::Softmax)
        }),
        Case::new("cross_attention (linear)", "CrossAttentionKernel", |t| {
            let sizes = t.pick([2, 2, 3, 4], [3, 65, 37, 32], [200, 12, 14, 8]);
            attend_across(t, sizes, AttentionKind::Linear)
        }),
        Case::new("layer_norm", "LayerNormKernel", |t| {
            let (rows, features) = t.pick((2, 5), (67, 129), (2100, 33));
            let leaves = [batch([rows, features]), leaf([features]), leaf([features])];
            t.gradients(&leaves, |pass, x| {
                layer_norm(pass, &x[0], &x[1], &x[2], 1e-5)
            })
        }),
        Case::new("rms_norm", "RmsNormKernel", |t| {
            let (rows, features) = t.pick((2, 5), (67, 129), (2100, 33));
            t.gradients(&[batch([rows, features]), leaf([features])], |pass, x| {
                rms_norm(pass, &x[0], &x[1], 1e-5)
            })
        }),
        Case::new("embedding", "EmbeddingKernel", |t| {
            let (rows, features, count) = t.pick((4, 3, 5), (31, 65, 257), (31, 65, 1025));
            let indices: Vec<usize> = (0..count).map(|i| i * i % rows).collect();
            t.gradients(&[leaf([rows, features])], |pass, x| {
                embedding(pass, &x[0], &indices)
            })
        }),
    ]
}

fn mean_errors<D: Kernels>(t: &Trial<'_, D>, term: ErrorTerm) -> Result<NamedValues> {
    let shape = elements(t);
    t.gradients(&[leaf(shape), leaf(shape)], |pass, x| {
        mean_error(pass, term, &x[0], &x[1])
    })
}

fn classified<D: Kernels>(
    t: &Trial<'_, D>,
    label_smoothing: f64,
    is_weighted: bool,
) -> Result<NamedValues> {
    let (rows, classes) = t.pick((2, 3), (257, 33), (7001, 10));
    let labels: Vec<usize> = (0..rows).map(|row| 7 * row % classes).collect();
    let weighed = if is_weighted { classes } else { 0 };
    let options = CrossEntropyOptions {
        label_smoothing,
        weights: (0..weighed).map(|class| 0.5 + class as f64).collect(),
    };
    t.gradients(&[leaf([rows, classes])], |pass, x| {
        cross_entropy_with_targets(pass, &x[0], &labels, &options)
    })
}

fn losses<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("mse", "MeanErrorKernel", |t| {
            mean_errors(t, ErrorTerm::Squared)
        }),
        Case::new("l1", "MeanErrorKernel", |t| {
            mean_errors(t, ErrorTerm::Absolute)
        }),
        Case::new("huber", "MeanErrorKernel", |t| {
            mean_errors(t, ErrorTerm::Huber { delta: 0.5 })
        }),
        Case::new("cross_entropy", "CrossEntropyKernel", |t| {
            classified(t, 0.0, false)
        }),
        Case::new("cross_entropy_smoothed", "CrossEntropyKernel", |t| {
            classified(t, 0.1, false)
        }),
        Case::new("cross_entropy_weighted", "CrossEntropyKernel", |t| {
            classified(t, 0.1, true)
        }),
        Case::new("binary_cross_entropy", "BroadcastKernel", |t| {
            let (rows, labels) = t.pick((2, 3), (257, 33), (7001, 10));
            let targets: Vec<f32> = (0..rows * labels)
                .map(|at| f32::from(7 * at % 5 < 2))
                .collect();
            let weights: Vec<f64> = (0..labels).map(|label| 0.5 + label as f64).collect();
            t.gradients(&[leaf([rows, labels])], |pass, x| {
                let device = pass.device();
                let targets = BinaryTargets::new(device, &targets, [rows, labels], &weights)?;
                binary_cross_entropy(pass, &x[0], &targets)
            })
        }),
        Case::new("physics", "PhysicsKernel", |t| {
            let shape = t.pick([2, 5], [33, 129], [30, 2501]);
            let alpha_bars = random(shape[0], 5)
                .iter()
                .map(|x| 0.5 + 0.4 * x)
                .collect::<Vec<_>>();
            t.gradients(&[leaf(shape), leaf(shape), leaf(shape)], |pass, x| {
                physics_terms(pass, &x[0], &x[1], &x[2], &alpha_bars, 0.3)
            })
        }),
    ]
}
