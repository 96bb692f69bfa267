//! Both CUDA algorithms (cuDNN, im2col) against the CPU in all arithmetics, and the fallback when cuDNN does not
//! support a size.

use dfdx::tensor::Cpu;

use super::*;
use crate::device::Arithmetic;
use crate::device::cuda::{ConvolutionAlgorithm, set_convolution_algorithm};
use crate::ops::{Conv2dOptions, ConvAlgorithm, OpError, testing};

const ALGORITHMS: [ConvolutionAlgorithm; 2] = [
    ConvolutionAlgorithm::Library,
    ConvolutionAlgorithm::Products,
];

/// Batch, (height, width), kernel side, channels (in, out), and (stride, padding, dilation, groups).
type Case = (
    usize,
    (usize, usize),
    usize,
    (usize, usize),
    (usize, usize, usize, usize),
);

/// Single pixels and channels, sizes next to those of warps, tiles and tensor cores, and strides that skip pixels.
const CASES: [Case; 14] = [
    (1, (1, 1), 3, (1, 1), (1, 1, 1, 1)),
    (2, (5, 3), 3, (3, 5), (1, 1, 1, 1)),
    (3, (17, 31), 3, (1, 17), (2, 1, 1, 1)),
    (2, (33, 5), 5, (17, 1), (3, 2, 1, 1)),
    (1, (31, 33), 1, (3, 5), (2, 0, 1, 1)),
    (2, (8, 8), 3, (8, 16), (1, 1, 1, 1)),
    (1, (5, 5), 3, (33, 65), (1, 1, 1, 1)),
    (1, (2, 1), 3, (31, 257), (1, 2, 1, 1)),
    (5, (6, 7), 5, (9, 12), (2, 4, 1, 1)),
    // Dilated, in groups (of eight channels, which `f16` needs, and of other numbers), and depthwise.
    (2, (17, 9), 3, (5, 17), (1, 2, 2, 1)),
    (2, (9, 12), 3, (16, 32), (2, 1, 1, 2)),
    (1, (13, 12), 5, (33, 9), (2, 3, 3, 3)),
    (3, (17, 9), 3, (33, 33), (2, 1, 1, 33)),
    (2, (8, 15), 3, (17, 34), (1, 2, 2, 17)),
];

fn size((batch, input, kernel, channels, moves): Case) -> Conv2dSize {
    let (stride, padding, dilation, groups) = moves;
    let results = |input| (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    Conv2dSize {
        batch,
        input,
        output: (results(input.0), results(input.1)),
        kernel: (kernel, kernel),
        channels,
        options: Conv2dOptions {
            stride,
            padding,
            dilation,
            groups,
        },
        // The algorithm of the CPU, whose results are the reference.
        algorithm: ConvAlgorithm::Direct,
        arithmetic: Arithmetic::Single,
    }
}

/// The result, the input's gradient and the weight's gradient; both gradients are added to existing values.
fn all<D: Conv2dKernel>(device: &D, size: &Conv2dSize) -> Result<[Vec<f32>; 3]> {
    let (c, k) = size.channels;
    let upload = |len, seed| device.upload(testing::random_values(len, seed)).unwrap();
    let pixels = size.batch * size.input.0 * size.input.1;
    let weights = size.kernel.0 * size.kernel.1 * size.group_channels().0 * k;
    let held = |len, seed| PooledBuffer::<D>::new(upload(len, seed));
    let (x, weight) = (held(pixels * c, 1), held(weights, 2));
    let grad = held(size.output_shape().len(), 3);
    let y = device.conv2d(&x, &weight, Some(&upload(k, 4)), size)?;
    let (mut grad_x, mut grad_weight) = (upload(pixels * c, 5), upload(weights, 6));
    device.conv2d_backward_x(&grad, &weight, size, (&mut grad_x, Accumulate::Add))?;
    device.conv2d_backward_weight(&x, &grad, size, (&mut grad_weight, Accumulate::Add))?;
    Ok([y, grad_x, grad_weight].map(|values| device.download(&values).unwrap()))
}

/// Relative distance `‖actual − expected‖ / ‖expected‖` (L2 norms).
fn distance(actual: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(actual.len(), expected.len(), "number of values");
    let squares = |values: &mut dyn Iterator<Item = f32>| -> f64 {
        values.map(|value| f64::from(value).powi(2)).sum()
    };
    let error = squares(&mut actual.iter().zip(expected).map(|(a, e)| a - e));
    (error / squares(&mut expected.iter().copied())).sqrt()
}

/// Whether cuDNN refused the convolution. It is not documented for which sizes (odd channels, single pixels) cuDNN has
/// a deterministic algorithm; where it has none, training uses im2col. The stand-in for cuDNN supports all of
/// [`CASES`].
fn is_refusal(result: &Result<[Vec<f32>; 3]>) -> bool {
    let is_refusal = |error: &OpError| error.to_string().contains("cuDNN does not do");
    !cfg!(feature = "cuda-stand-in") && result.as_ref().is_err_and(is_refusal)
}

/// Whether neither cuDNN nor its stand-in has an `f16` algorithm: groups whose channels are not a multiple of eight.
fn is_uneven(size: &Conv2dSize) -> bool {
    let (c, k) = size.group_channels();
    let is_depthwise = size.is_depthwise();
    size.options.groups > 1 && !is_depthwise && (c % 8 != 0 || k % 8 != 0)
}

/// Panics unless both algorithms agree with the CPU within `tolerance` (relative) in every case, and give equal bits
/// when repeated. Cases that cuDNN refuses are skipped.
fn check(arithmetic: Arithmetic, tolerance: f64) {
    let device = testing::device();
    device.set_arithmetic(arithmetic).unwrap();
    for (case, algorithm) in CASES
        .iter()
        .flat_map(|case| ALGORITHMS.map(|algorithm| (case, algorithm)))
    {
        set_convolution_algorithm(Some(algorithm)).unwrap();
        let size = size(*case);
        let expected = all(&Cpu::open(0).unwrap(), &size).unwrap();
        let actual = all(&device, &size);
        let is_library = algorithm == ConvolutionAlgorithm::Library;
        if is_library && arithmetic == Arithmetic::Half && is_uneven(&size) {
            assert!(actual.is_err(), "{size:?}");
            continue;
        }
        if is_library && is_refusal(&actual) {
            continue;
        }
        let actual = actual.unwrap();
        for (what, (actual, expected)) in ["y", "grad_x", "grad_weight"]
            .iter()
            .zip(actual.iter().zip(&expected))
        {
            let distance = distance(actual, expected);
            assert!(
                distance < tolerance,
                "{algorithm:?}, {size:?}, {what}: {distance}"
            );
        }
        assert!(
            all(&device, &size).unwrap() == actual,
            "{algorithm:?}, {size:?}"
        );
    }
    set_convolution_algorithm(None).unwrap();
    device.set_arithmetic(Arithmetic::Single).unwrap();
}

#[test]
fn single_precision_is_that_of_the_cpu() {
    check(Arithmetic::Single, 3e-6);
}

#[test]
fn tf32_rounds_factors_to_ten_bits() {
    check(Arithmetic::Tf32, 1e-3);
}

#[test]
fn half_precision_rounds_factors_and_keeps_sums() {
    check(Arithmetic::Half, 3e-3);
}

/// With `f16` factors every algorithm rounds them. With TF32 rounding is optional: for sizes this small, cuDNN and
/// cuBLAS may choose an algorithm that does not use tensor cores and computes in `f32`. The stand-in always rounds.
#[test]
fn factors_are_rounded_where_the_arithmetic_rounds() {
    let (device, size) = (testing::device(), size(CASES[5]));
    for algorithm in ALGORITHMS {
        set_convolution_algorithm(Some(algorithm)).unwrap();
        let run = |arithmetic| {
            device.set_arithmetic(arithmetic).unwrap();
            all(&device, &size)
        };
        let single = run(Arithmetic::Single);
        for (arithmetic, least) in [
            (
                Arithmetic::Tf32,
                if cfg!(feature = "cuda-stand-in") {
                    1e-5
                } else {
                    0.0
                },
            ),
            (Arithmetic::Half, 1e-5),
        ] {
            let rounded = run(arithmetic);
            if is_refusal(&single) || is_refusal(&rounded) {
                continue;
            }
            let (rounded, single) = (rounded.unwrap(), single.as_ref().unwrap());
            for (rounded, exact) in rounded.iter().zip(single) {
                assert!(
                    distance(rounded, exact) >= least,
                    "{algorithm:?}, {arithmetic}"
                );
            }
        }
        device.set_arithmetic(Arithmetic::Single).unwrap();
    }
    set_convolution_algorithm(None).unwrap();
}

#[test]
fn parts_of_a_batch_give_the_whole() {
    let (device, cpu) = (testing::device(), Cpu::open(0).unwrap());
    let size = size(CASES[8]);
    let [y, grad_x, grad_weight] = all(&cpu, &size).unwrap();
    let (pixels, weights) = (5 * 6 * 7 * 9, 5 * 5 * 9 * 12);
    let upload = |len, seed| device.upload(testing::random_values(len, seed)).unwrap();
    let held = |len, seed| PooledBuffer::<Cuda>::new(upload(len, seed));
    let (x, weight, grad) = (upload(pixels, 1), held(weights, 2), held(y.len(), 3));
    let mut own = [
        device.uninit_buffer(y.len()).unwrap(),
        upload(pixels, 5),
        upload(weights, 6),
    ];
    // The windows of two images at a time, so that the last part has one image.
    let most = 2 * y.len() / (5 * 12) * 25 * 9;
    windows::forward(&x, &weight, &size, &mut own[0], most).unwrap();
    library::add_bias(Some(&upload(12, 4)), &size, &mut own[0]).unwrap();
    windows::backward_x(&grad, &weight, &size, (&mut own[1], true), most).unwrap();
    windows::backward_weight(&x, &grad, &size, (&mut own[2], true), most).unwrap();
    for (own, expected) in own.iter().zip([y, grad_x, grad_weight]) {
        assert!(distance(&device.download(own).unwrap(), &expected) < 1e-6);
    }
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn where_cudnn_refuses_products_take_over() {
    // The stand-in has no deterministic algorithm for 7×7 kernels, and refuses 9×9 kernels only at execution.
    let device = testing::device();
    for kernel in [7, 9] {
        let size = size((2, (5, 6), kernel, (3, 2), (1, kernel / 2, 1, 1)));
        let expected = all(&Cpu::open(0).unwrap(), &size).unwrap();
        for (actual, expected) in all(&device, &size).unwrap().iter().zip(&expected) {
            assert!(distance(actual, expected) < 1e-6, "{kernel}");
        }
        set_convolution_algorithm(Some(ConvolutionAlgorithm::Library)).unwrap();
        let refusal = all(&device, &size).unwrap_err().to_string();
        assert!(refusal.contains("cuDNN does not do Forward"), "{refusal}");
        set_convolution_algorithm(None).unwrap();
    }
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn a_failure_of_cudnn_is_an_error_without_fallback() {
    // The stand-in fails at execution with 11×11 kernels, and runs out of memory with 13×13 kernels.
    let device = testing::device();
    for (kernel, message) in [
        (11, "`cuda` failed: cuDNN failed in Forward of Convolution"),
        (13, "out of memory on `cuda`"),
    ] {
        let size = size((2, (5, 6), kernel, (3, 2), (1, kernel / 2, 1, 1)));
        for _ in 0..2 {
            let error = all(&device, &size).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn the_algorithm_of_every_convolution_is_recorded_for_the_results() {
    let device = testing::device();
    for (kernel, algorithm) in [
        (3, None),
        (5, Some(ConvolutionAlgorithm::Products)),
        (7, None),
        (9, None),
    ] {
        set_convolution_algorithm(algorithm).unwrap();
        all(
            &device,
            &size((2, (5, 6), kernel, (3, 2), (1, kernel / 2, 1, 1))),
        )
        .unwrap();
    }
    set_convolution_algorithm(None).unwrap();
    assert_eq!(
        device.convolutions(),
        "f32 cudnn-1/cudnn-1/cudnn-1: 2x5x6x3>2:3x3s1p1; \
         f32 im2col/im2col/im2col: 2x5x6x3>2:5x5s1p2 2x5x6x3>2:7x7s1p3 2x5x6x3>2:9x9s1p4"
    );
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn the_version_of_cudnn_is_told_where_it_may_compute() {
    let device = testing::device();
    let version = || {
        let libraries = device.facts().unwrap().libraries;
        let found = libraries.into_iter().find(|(name, _)| name == "cudnn");
        found.map(|(_, version)| version)
    };
    assert_eq!(version().as_deref(), Some("9.10.2"));
    set_convolution_algorithm(Some(ConvolutionAlgorithm::Products)).unwrap();
    assert_eq!(version(), None);
    set_convolution_algorithm(None).unwrap();
}
