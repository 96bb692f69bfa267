//! Tests of the convolution: against PyTorch, finite differences, the definition, and other calls of itself.

use super::*;
use crate::ops::testing;

const SAME: Conv2dOptions = moves(1, 1);
const HALF: Conv2dOptions = moves(2, 1);

pub(super) const fn moves(stride: usize, padding: usize) -> Conv2dOptions {
    Conv2dOptions {
        stride,
        padding,
        dilation: 1,
        groups: 1,
    }
}

/// All algorithms of the CPU; [`on_each_algorithm`] runs those of a GPU.
#[cfg(not(feature = "cuda"))]
const ALGORITHMS: [ConvAlgorithm; 5] = [
    ConvAlgorithm::Auto,
    ConvAlgorithm::Direct,
    ConvAlgorithm::Winograd2,
    ConvAlgorithm::Winograd4,
    ConvAlgorithm::Winograd5,
];

pub(super) fn run(
    algorithm: ConvAlgorithm,
    options: Conv2dOptions,
) -> impl Fn(
    &mut Pass<testing::TestDevice>,
    &[Var<testing::TestDevice>],
) -> Result<Var<testing::TestDevice>> {
    move |pass, v| conv2d_with_algorithm(algorithm, pass, &v[0], &v[1], v.get(2), options)
}

/// Runs a test with every convolution algorithm of the device.
pub(super) fn on_each_algorithm(test: impl Fn(ConvAlgorithm)) {
    #[cfg(feature = "cuda")]
    {
        use crate::device::cuda::{ConvolutionAlgorithm, set_convolution_algorithm};
        testing::device();
        for algorithm in [
            ConvolutionAlgorithm::Library,
            ConvolutionAlgorithm::Products,
        ] {
            set_convolution_algorithm(Some(algorithm)).unwrap();
            test(ConvAlgorithm::Auto);
        }
        set_convolution_algorithm(None).unwrap();
    }
    #[cfg(not(feature = "cuda"))]
    ALGORITHMS.into_iter().for_each(test);
}

pub(super) fn tolerance(algorithm: ConvAlgorithm) -> f32 {
    if matches!(
        algorithm,
        ConvAlgorithm::Winograd4 | ConvAlgorithm::Winograd5
    ) {
        5e-5
    } else {
        1e-5
    }
}

/// The convolution by its definition, term by term.
fn naive(x: &[f32], weight: &[f32], size: &Conv2dSize) -> Vec<f32> {
    let Conv2dSize {
        batch,
        input: (h, w),
        output: (ho, wo),
        kernel: (kh, kw),
        channels: (c, k),
        options,
        ..
    } = *size;
    let mut y = Vec::new();
    for (b, i, j, f) in
        (0..batch * ho * wo * k).map(|n| (n / k / wo / ho, n / k / wo % ho, n / k % wo, n % k))
    {
        let mut sum = 0.0;
        for (r, s, ch) in (0..kh * kw * c).map(|n| (n / c / kw, n / c % kw, n % c)) {
            let (row, column) = (i * options.stride + r, j * options.stride + s);
            if let (Some(row), Some(column)) = (
                row.checked_sub(options.padding),
                column.checked_sub(options.padding),
            ) && row < h
                && column < w
            {
                sum += f64::from(x[((b * h + row) * w + column) * c + ch])
                    * f64::from(weight[((r * kw + s) * c + ch) * k + f]);
            }
        }
        y.push(sum as f32);
    }
    y
}

#[test]
fn values_are_those_of_the_definition() {
    on_each_algorithm(|algorithm| {
        let shapes = [
            (2, 5, 3, 3),
            (1, 1, 1, 3),
            (3, 17, 5, 3),
            (2, 6, 7, 3),
            (2, 7, 9, 5),
            (3, 4, 5, 1),
        ];
        for (batch, h, w, kernel) in shapes {
            for (stride, padding) in [
                (1, kernel / 2),
                (2, kernel / 2),
                (3, kernel / 2),
                (1, 0),
                (2, 0),
                (1, kernel - 1),
            ] {
                if h + 2 * padding < kernel || w + 2 * padding < kernel {
                    continue;
                }
                let options = moves(stride, padding);
                let output = (
                    (h + 2 * padding - kernel) / stride + 1,
                    (w + 2 * padding - kernel) / stride + 1,
                );
                let (c, k) = (3, 5);
                let size = Conv2dSize {
                    batch,
                    input: (h, w),
                    output,
                    kernel: (kernel, kernel),
                    channels: (c, k),
                    options,
                    algorithm: ConvAlgorithm::Auto,
                    arithmetic: Arithmetic::Single,
                };
                let (x, weight) = (
                    testing::random_values(batch * h * w * c, 1),
                    testing::random_values(kernel * kernel * c * k, 2),
                );
                let leaves: [(&[f32], Shape); 2] = [
                    (&x, [batch, h, w, c].into()),
                    (&weight, [kernel, kernel, c, k].into()),
                ];
                testing::assert_close(
                    &testing::forward(&leaves, run(algorithm, options)),
                    &naive(&x, &weight, &size),
                    tolerance(algorithm),
                );
            }
        }
    });
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    on_each_algorithm(|algorithm| {
        // x = ((torch.arange(16.) - 6) / 4).reshape(1, 1, 4, 4).requires_grad_()
        // w = ((torch.arange(18.) - 9) / 8).reshape(2, 1, 3, 3).requires_grad_()
        // b = torch.tensor([.5, -1.], requires_grad=True)
        // y = F.conv2d(x, w, b, stride=2, padding=1); y.backward(((torch.arange(8.) - 3) / 2).reshape(1, 2, 2, 2))
        // print(y.permute(0, 2, 3, 1), x.grad.permute(0, 2, 3, 1), w.grad.permute(2, 3, 1, 0), b.grad)
        let x: Vec<f32> = (0..16).map(|i| (i as f32 - 6.0) / 4.0).collect();
        let torch_weight: Vec<f32> = (0..18).map(|i| (i as f32 - 9.0) / 8.0).collect();
        let weight = crate::ops::Layout::Convolution.from_torch(&torch_weight, [2, 1, 3, 3].into());
        let (y, grads) = testing::backward(
            &[
                (&x, [1, 4, 4, 1].into()),
                (&weight, [3, 3, 1, 2].into()),
                (&[0.5, -1.0], [2].into()),
            ],
            &[-1.5, 0.5, -1.0, 1.0, -0.5, 1.5, 0.0, 2.0],
            run(algorithm, HALF),
        );
        testing::assert_close(
            &y,
            &[
                2.21875, -3.21875, 2.5, -2.375, -0.0625, 2.65625, -2.6875, 5.9375,
            ],
            1e-6,
        );
        testing::assert_close(
            &grads[0],
            &[
                1.1875, 2.1875, 1.125, 1.125, 1.5, 2.625, 1.375, 1.625, 1.0625, 1.9375, 1.0, 1.25,
                1.4375, 3.0625, 1.75, 2.0,
            ],
            1e-6,
        );
        testing::assert_close(
            &grads[1],
            &[
                0.0, -0.5, 0.25, -0.75, 0.125, 0.125, 1.25, 0.25, 3.0, 1.0, 2.25, 2.25, 0.25, 3.25,
                0.0, 6.0, -0.75, 7.25,
            ],
            1e-6,
        );
        testing::assert_close(&grads[2], &[-3.0, 5.0], 1e-6);
    });
}

#[test]
fn gradients_are_those_of_finite_differences() {
    on_each_algorithm(|algorithm| {
        let cases: [(Conv2dOptions, [usize; 4], [usize; 4]); 7] = [
            (SAME, [2, 3, 5, 3], [3, 3, 3, 5]),
            (SAME, [1, 1, 1, 1], [3, 3, 1, 1]),
            (HALF, [2, 5, 3, 3], [3, 3, 3, 5]),
            (HALF, [1, 4, 6, 1], [3, 3, 1, 17]),
            (moves(3, 2), [2, 7, 8, 1], [5, 5, 1, 3]),
            (moves(2, 0), [2, 5, 4, 3], [1, 1, 3, 5]),
            (moves(1, 0), [1, 3, 3, 17], [1, 1, 17, 5]),
        ];
        for (options, x, weight) in cases {
            testing::check_gradients(
                &[x.into(), weight.into(), [weight[3]].into()],
                run(algorithm, options),
            );
        }
    });
}

#[test]
fn a_batch_is_its_samples() {
    on_each_algorithm(|algorithm| {
        for options in [SAME, HALF] {
            testing::check_batch_invariance(
                4,
                &[[4, 5, 7, 5].into(), [3, 3, 5, 3].into(), [3].into()],
                run(algorithm, options),
            );
        }
    });
}

#[test]
fn gradients_replace_what_memory_held_and_add_to_what_was_written() {
    // Large enough to reuse memory; kernels and strides that skip pixels; channels that do not fill a vector.
    let cases = [
        (SAME, [2, 13, 11, 33], [3, 3, 33, 17]),
        (SAME, [1, 9, 8, 65], [3, 3, 65, 130]),
        (HALF, [2, 17, 9, 33], [3, 3, 33, 17]),
        (HALF, [2, 17, 9, 33], [1, 1, 33, 130]),
    ];
    on_each_algorithm(|algorithm| {
        for (options, x, weight) in cases {
            let options = Conv2dOptions {
                padding: options.padding.min(weight[0] / 2),
                ..options
            };
            let [a, b] = [(x, 1), (weight, 2)]
                .map(|(shape, seed)| testing::random_values(shape.iter().product(), seed));
            let leaves: [(&[f32], _); 2] = [(&a, x.into()), (&b, weight.into())];
            let results = testing::forward(&leaves, run(algorithm, options)).len();
            let weights = testing::random_values(results, 3);
            let once = testing::backward(&leaves, &weights, run(algorithm, options));
            let (_, twice) = testing::backward(&leaves, &weights, |pass, v| {
                let both = [(); 2].map(|()| run(algorithm, options)(pass, v));
                let [first, second] = both;
                crate::ops::add(pass, &first?, &second?)
            });
            for (once, twice) in once.1.iter().zip(&twice) {
                let wanted: Vec<f32> = once.iter().map(|value| 2.0 * value).collect();
                testing::assert_close(twice, &wanted, 1e-4);
            }
            assert_eq!(
                testing::backward(&leaves, &weights, run(algorithm, options)),
                once
            );
        }
    });
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    // The first shape sums partial weight gradients, the second computes the weight gradient in blocks of rows.
    let direct = [
        (SAME, [3, 33, 17, 17], [3, 3, 17, 5]),
        (SAME, [2, 5, 5, 96], [3, 3, 96, 65]),
        (HALF, [2, 17, 33, 17], [3, 3, 17, 33]),
    ];
    // The transformed filter of the last case does not fit into a cache.
    let winograd = [
        (SAME, [3, 33, 17, 17], [3, 3, 17, 5]),
        (SAME, [2, 17, 31, 48], [3, 3, 48, 33]),
        (SAME, [1, 9, 10, 130], [3, 3, 130, 128]),
    ];
    on_each_algorithm(|algorithm| {
        let cases = match algorithm {
            ConvAlgorithm::Auto | ConvAlgorithm::Direct => direct,
            ConvAlgorithm::Winograd2 | ConvAlgorithm::Winograd4 | ConvAlgorithm::Winograd5 => {
                winograd
            }
        };
        for (options, x, weight) in cases {
            testing::check_thread_invariance(
                &[x.into(), weight.into(), [weight[3]].into()],
                run(algorithm, options),
            );
        }
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 12], [1, 2, 2, 3]).unwrap();
    let refused = |weight: [usize; 4], options| {
        let weight = Var::constant(&device, vec![0.0; weight.iter().product()], weight).unwrap();
        conv2d(&mut Pass::inference(&device), &x, &weight, None, options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused([3, 3, 2, 1], SAME),
        "conv2d: images (1, 2, 2, 3) meet a weight (3, 3, 2, 1)"
    );
    assert_eq!(
        refused([3, 3, 3, 1], moves(1, 0)),
        "conv2d: a kernel of 3 × 3 is larger than images (1, 2, 2, 3)"
    );
}
