//! Tests of dilation and groups: against PyTorch, finite differences, the definition, and plain convolutions.

use super::tests::{moves, on_each_algorithm, run, tolerance};
use super::*;
use crate::ops::testing;

const fn spread(stride: usize, padding: usize, dilation: usize, groups: usize) -> Conv2dOptions {
    Conv2dOptions {
        stride,
        padding,
        dilation,
        groups,
    }
}

/// A convolution with the result and gradients that PyTorch computes.
struct Example {
    options: Conv2dOptions,
    x: [usize; 4],
    weight: [usize; 4],
    y: &'static [f32],
    grad_x: &'static [f32],
    grad_weight: &'static [f32],
    grad_bias: &'static [f32],
}

/// Test values: `((torch.arange(n) * factor) % modulus - shift) / divisor`.
fn pattern(len: usize, [factor, modulus, shift, divisor]: [usize; 4]) -> Vec<f32> {
    let value = |i| ((i * factor % modulus) as f32 - shift as f32) / divisor as f32;
    (0..len).map(value).collect()
}

const EXAMPLES: [Example; 5] = [
    // Computed in PyTorch by:
    // p = lambda shape, f, m, s, d: (((torch.arange(float(math.prod(shape))) * f) % m - s) / d).reshape(shape)
    // x = p(x_shape, 7, 11, 5, 4).requires_grad_(); w = p(weight_shape, 5, 9, 4, 8).requires_grad_()
    // b = p((K,), 1, 3, 1, 2).requires_grad_()
    // y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), b, stride, padding, dilation, groups)
    // y = y.permute(0, 2, 3, 1); y.backward(p(y.shape, 3, 7, 3, 2)); print(y, x.grad, w.grad, b.grad)
    // Dilation 2.
    Example {
        options: spread(1, 2, 2, 1),
        x: [1, 3, 4, 2],
        weight: [3, 3, 2, 1],
        y: &[
            -0.46875, -1.5, 0.15625, -0.09375, -0.625, 0.1875, 0.25, -1.21875, -0.5625, -0.09375,
            0.625, -1.21875,
        ],
        grad_x: &[
            0.0625, 1.4375, -1.0, 0.25, 0.0, -0.3125, -0.75, 1.0625, -0.0625, -0.25, 0.1875, -0.25,
            0.125, -0.625, -0.125, 1.125, -0.125, -0.4375, -0.25, -0.125, -0.1875, 0.0625, 0.0,
            -1.0,
        ],
        grad_weight: &[
            0.125, 1.0, 0.125, 2.25, 1.5, 0.0, -1.375, 0.875, -2.25, -1.375, -3.0, 1.125, -1.125,
            2.0, 2.875, -2.125, -1.125, 0.375,
        ],
        grad_bias: &[0.5],
    },
    // Two groups.
    Example {
        options: spread(1, 0, 1, 2),
        x: [1, 2, 3, 4],
        weight: [2, 2, 2, 4],
        y: &[
            0.46875, -0.78125, -0.28125, 0.125, -1.125, 0.78125, 0.0, 0.125,
        ],
        grad_x: &[
            0.75, 0.375, -0.6875, -0.4375, -0.625, -1.0, -0.1875, -0.1875, 0.5, 0.5, 0.625, 0.375,
            -0.75, 0.5625, -0.8125, -0.5625, 0.6875, -0.8125, -0.1875, -0.1875, -0.625, 0.5, 0.75,
            0.5,
        ],
        grad_weight: &[
            2.125, -0.25, -0.25, -1.25, -1.5, 0.75, 1.875, -0.625, -1.375, 1.0, 1.375, -0.125,
            1.875, -0.75, -0.625, 1.875, -1.5, 0.75, 1.875, -0.625, 1.75, -1.0, -0.125, 1.375,
            1.875, -0.75, -0.625, 1.875, -1.75, 0.25, -1.25, -0.25,
        ],
        grad_bias: &[-0.5, -1.0, 2.0, -2.0],
    },
    // Depthwise, stride 1.
    Example {
        options: spread(1, 1, 1, 2),
        x: [1, 3, 3, 2],
        weight: [3, 3, 1, 2],
        y: &[
            -0.6875, -0.71875, -0.5625, -0.1875, -0.78125, 0.96875, 0.78125, 0.375, 0.3125,
            0.28125, -0.1875, 0.78125, -0.46875, 0.4375, -0.71875, -1.03125, -0.0625, -0.59375,
        ],
        grad_x: &[
            -0.375, -0.4375, -0.1875, -0.3125, 0.375, 1.5, 0.9375, 1.75, 0.25, 0.75, 0.9375,
            -1.0625, 0.375, -0.4375, -0.1875, -0.875, -0.375, 0.125,
        ],
        grad_weight: &[
            -2.75, 1.625, -0.625, 1.0, 1.125, -2.625, -0.75, -0.875, -1.5, -0.75, 0.5, -2.5,
            -0.125, -1.25, -2.625, 3.0, 1.75, 1.75,
        ],
        grad_bias: &[0.0, -0.5],
    },
    // Depthwise, stride 2.
    Example {
        options: spread(2, 1, 1, 3),
        x: [1, 4, 3, 3],
        weight: [3, 3, 1, 3],
        y: &[
            -0.84375, -0.1875, -0.15625, -1.0625, 0.15625, 0.3125, -0.40625, -0.4375, 0.3125, -0.5,
            -0.375, 0.21875,
        ],
        grad_x: &[
            -0.375, 0.0, 0.5625, 0.4375, 0.125, 0.375, -0.125, -0.25, -0.375, -0.25, 0.375, 0.5625,
            -0.375, -0.6875, 0.0, 0.25, -0.125, 0.0, 0.125, 0.375, 0.0, -0.8125, -0.8125, -0.375,
            0.375, 0.125, 0.375, 0.125, 0.375, 0.0, -0.8125, -0.8125, -0.375, 0.375, 0.125, 0.375,
        ],
        grad_weight: &[
            0.75, 0.25, 1.25, 0.75, 0.75, 1.0, 0.25, 0.75, 0.0, -1.0, 0.875, 1.25, 0.625, 0.875,
            0.5, -2.0, 1.875, -1.125, -1.75, -0.875, -1.5, -3.5, -2.5, -3.375, -1.25, -1.125,
            1.875,
        ],
        grad_bias: &[0.0, -1.0, 1.5],
    },
    // Depthwise, two result channels per input channel.
    Example {
        options: spread(2, 1, 1, 2),
        x: [1, 3, 3, 2],
        weight: [3, 3, 1, 4],
        y: &[
            -1.1875, -0.375, 0.3125, 0.03125, -0.40625, -0.28125, 1.03125, -0.8125, -0.96875,
            1.1875, 0.78125, -0.75, 0.0, -0.53125, -0.03125, -0.84375,
        ],
        grad_x: &[
            -0.75, -0.8125, 1.0625, -0.1875, 0.5, -0.4375, 0.375, 1.0625, -1.375, 1.625, 0.9375,
            0.6875, 0.0, 0.375, 0.0, -0.0625, -0.5, 0.75,
        ],
        grad_weight: &[
            1.0, -0.5, -1.125, 0.0, 0.25, 1.375, 1.875, 0.0, 0.0, -1.5, -0.375, 0.75, -1.75, 1.125,
            0.25, -1.875, 2.875, 0.125, -0.875, 0.375, 0.75, 1.875, 1.75, -0.375, -1.0, 1.0, 0.375,
            -1.125, -1.75, 0.25, -0.625, 1.875, 1.5, 0.0, 1.125, -0.375,
        ],
        grad_bias: &[-1.5, 1.0, 0.0, -1.0],
    },
];

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    on_each_algorithm(|algorithm| {
        for example in EXAMPLES {
            let (x, weight) = (Shape::from(example.x), Shape::from(example.weight));
            let x_values = pattern(x.len(), [7, 11, 5, 4]);
            let weights = pattern(weight.len(), [5, 9, 4, 8]);
            let bias = pattern(example.weight[3], [1, 3, 1, 2]);
            let (y, grads) = testing::backward(
                &[
                    (&x_values, x),
                    (&weights, weight),
                    (&bias, [bias.len()].into()),
                ],
                &pattern(example.y.len(), [3, 7, 3, 2]),
                run(algorithm, example.options),
            );
            testing::assert_close(&y, example.y, tolerance(algorithm));
            let expected = [example.grad_x, example.grad_weight, example.grad_bias];
            for (grad, expected) in grads.iter().zip(expected) {
                testing::assert_close(grad, expected, tolerance(algorithm));
            }
        }
    });
}

/// (Height, width), kernel side, channels (in, out), and groups.
type Dimensions = ((usize, usize), usize, (usize, usize), usize);

/// Convolutions without and with groups, depthwise with one and with several results per channel; some numbers of
/// channels are no multiple of a vector.
const SHAPES: [Dimensions; 8] = [
    ((7, 9), 3, (3, 5), 1),
    ((6, 11), 3, (6, 4), 2),
    ((5, 6), 2, (6, 9), 3),
    ((7, 12), 3, (5, 5), 5),
    ((9, 23), 3, (19, 19), 19),
    ((8, 9), 5, (3, 6), 3),
    ((4, 5), 1, (4, 4), 4),
    ((1, 1), 3, (2, 2), 2),
];

/// Calls `check` for each of [`SHAPES`] with strides and dilations from 1 to 3 and three paddings, where the kernel
/// fits.
fn each_case(mut check: impl FnMut(&Conv2dSize)) {
    for (input, kernel, channels, groups) in SHAPES {
        for (stride, dilation, around) in (0..27).map(|n| (n / 9 + 1, n / 3 % 3 + 1, n % 3)) {
            let extent = dilation * (kernel - 1) + 1;
            let padding = [0, extent / 2, extent - 1][around];
            if input.0 + 2 * padding < extent || input.1 + 2 * padding < extent {
                continue;
            }
            let result = |input| (input + 2 * padding - extent) / stride + 1;
            check(&Conv2dSize {
                batch: 2,
                input,
                output: (result(input.0), result(input.1)),
                kernel: (kernel, kernel),
                channels,
                options: spread(stride, padding, dilation, groups),
                algorithm: ConvAlgorithm::Auto,
                arithmetic: Arithmetic::Single,
            });
        }
    }
}

/// The convolution by its definition in f64: the result and the gradients of `x` and `weight`.
fn definition(x: &[f32], weight: &[f32], grad: &[f32], size: &Conv2dSize) -> [Vec<f32>; 3] {
    let Conv2dSize {
        input: (h, w),
        output: (ho, wo),
        kernel: (kh, kw),
        channels: (c, k),
        options,
        ..
    } = *size;
    let (each_in, each_out) = size.group_channels();
    let mut results = [grad.len(), x.len(), weight.len()].map(|len| vec![0.0_f64; len]);
    let [y, grad_x, grad_weight] = &mut results;
    for (n, tap) in (0..grad.len()).flat_map(|n| (0..kh * kw).map(move |tap| (n, tap))) {
        let (b, i, j, f) = (n / k / wo / ho, n / k / wo % ho, n / k % wo, n % k);
        let row = i * options.stride + tap / kw * options.dilation;
        let column = j * options.stride + tap % kw * options.dilation;
        let (p, rows, columns) = (options.padding, h + options.padding, w + options.padding);
        if !(p..rows).contains(&row) || !(p..columns).contains(&column) {
            continue;
        }
        let pixel = ((b * h + row - p) * w + column - p) * c + f / each_out * each_in;
        for channel in 0..each_in {
            let (from, at) = (pixel + channel, (tap * each_in + channel) * k + f);
            y[n] += f64::from(x[from]) * f64::from(weight[at]);
            grad_x[from] += f64::from(grad[n]) * f64::from(weight[at]);
            grad_weight[at] += f64::from(grad[n]) * f64::from(x[from]);
        }
    }
    results.map(|values| values.into_iter().map(|value| value as f32).collect())
}

#[test]
fn values_and_gradients_are_those_of_the_definition() {
    on_each_algorithm(|algorithm| {
        each_case(|size| {
            let ((h, w), (c, k)) = (size.input, size.channels);
            let shapes: [Shape; 2] = [
                [size.batch, h, w, c].into(),
                [size.kernel.0, size.kernel.1, size.group_channels().0, k].into(),
            ];
            let [x, weight] = [0, 1].map(|i| testing::random_values(shapes[i].len(), i as u64));
            let grad = testing::random_values(size.output_shape().len(), 2);
            let (values, grads) = testing::backward(
                &[(&x, shapes[0]), (&weight, shapes[1])],
                &grad,
                run(algorithm, size.options),
            );
            let [y, grad_x, grad_weight] = definition(&x, &weight, &grad, size);
            for (actual, expected) in [
                (&values, &y),
                (&grads[0], &grad_x),
                (&grads[1], &grad_weight),
            ] {
                testing::assert_close(actual, expected, tolerance(algorithm));
            }
        });
    });
}

/// Each case: `[B, H, W, C]` of the input; side of the kernel and output channels; options. Large enough for several
/// threads and partial weight gradients.
#[test]
fn one_and_two_threads_give_the_same_bits() {
    let cases = [
        ([3, 33, 17, 17], (3, 5), spread(1, 2, 2, 1)),
        ([3, 33, 31, 24], (3, 36), spread(1, 1, 1, 3)),
        ([3, 33, 31, 37], (3, 37), spread(1, 1, 1, 37)),
        ([2, 65, 33, 40], (5, 40), spread(2, 2, 1, 40)),
        ([2, 33, 33, 21], (3, 42), spread(1, 1, 1, 21)),
    ];
    on_each_algorithm(|algorithm| {
        for (x, (kernel, k), options) in cases {
            let weight = [kernel, kernel, x[3] / options.groups, k];
            testing::check_thread_invariance(
                &[x.into(), weight.into(), [k].into()],
                run(algorithm, options),
            );
        }
    });
}

#[test]
fn gradients_replace_what_memory_held_and_add_to_what_was_written() {
    let cases = [
        ([2, 13, 11, 33], (3, 17), spread(2, 2, 2, 1)),
        ([2, 17, 9, 36], (3, 24), spread(2, 1, 1, 4)),
        ([2, 17, 19, 37], (3, 37), spread(2, 1, 1, 37)),
        ([2, 17, 19, 37], (3, 74), spread(3, 0, 2, 37)),
    ];
    on_each_algorithm(|algorithm| {
        for (x, (kernel, k), options) in cases {
            let weight = [kernel, kernel, x[3] / options.groups, k];
            let [a, b] = [(x, 1), (weight, 2)]
                .map(|(shape, seed)| testing::random_values(shape.iter().product(), seed));
            let leaves: [(&[f32], Shape); 2] = [(&a, x.into()), (&b, weight.into())];
            let results = testing::forward(&leaves, run(algorithm, options)).len();
            let grad = testing::random_values(results, 3);
            let (_, once) = testing::backward(&leaves, &grad, run(algorithm, options));
            let (_, twice) = testing::backward(&leaves, &grad, |pass, v| {
                let [first, second] = [(); 2].map(|()| run(algorithm, options)(pass, v));
                crate::ops::add(pass, &first?, &second?)
            });
            for (once, twice) in once.iter().zip(&twice) {
                let wanted: Vec<f32> = once.iter().map(|value| 2.0 * value).collect();
                testing::assert_close(twice, &wanted, 1e-4);
            }
        }
    });
}

#[test]
fn work_is_that_of_the_groups() {
    let device = testing::device();
    let flop = |channels: usize, groups| {
        let make = |shape: [usize; 4]| {
            Var::constant(&device, vec![0.0; shape.iter().product()], shape).unwrap()
        };
        let (x, weight) = (make([1, 5, 4, 6]), make([3, 3, channels, 12]));
        let mut pass = Pass::recording(&device);
        let options = spread(1, 1, 1, groups);
        conv2d(&mut pass, &x, &weight, None, options).unwrap();
        pass.work().forward
    };
    assert_eq!(flop(6, 1), 2 * 20 * 12 * 6 * 9);
    assert_eq!(flop(3, 2), 2 * 20 * 12 * 3 * 9);
    assert_eq!(flop(1, 6), 2 * 20 * 12 * 9);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let device = testing::device();
    let refused = |x: [usize; 4], weight: [usize; 4], options| {
        let [x, weight] = [x, weight]
            .map(|shape| Var::constant(&device, vec![0.0; shape.iter().product()], shape).unwrap());
        conv2d(&mut Pass::inference(&device), &x, &weight, None, options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused([1, 3, 3, 4], [3, 3, 2, 3], spread(1, 1, 1, 2)),
        "conv2d: 4 channels in and 3 out cannot be cut into 2 groups"
    );
    assert_eq!(
        refused([1, 3, 3, 5], [3, 3, 2, 4], spread(1, 1, 1, 2)),
        "conv2d: 5 channels in and 4 out cannot be cut into 2 groups"
    );
    assert_eq!(
        refused([1, 3, 3, 4], [3, 3, 4, 4], spread(1, 1, 1, 2)),
        "conv2d: images (1, 3, 3, 4) meet a weight (3, 3, 4, 4) in 2 groups"
    );
    assert_eq!(
        refused([1, 3, 3, 4], [3, 3, 4, 4], spread(1, 0, 2, 1)),
        "conv2d: a kernel of 3 × 3 with dilation 2 is larger than images (1, 3, 3, 4)"
    );
    assert_eq!(
        refused([1, 3, 3, 4], [3, 3, 4, 4], spread(1, 1, 0, 1)),
        "conv2d: stride 1 and padding 1 do not suit a kernel of 3 × 3 with dilation 0"
    );
}

#[test]
fn the_default_has_stride_one_and_nothing_else() {
    assert_eq!(Conv2dOptions::default(), moves(1, 0));
}
