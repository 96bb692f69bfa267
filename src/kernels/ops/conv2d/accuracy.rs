//! Errors of the CPU's convolution algorithms against sums in f64, on odd sizes and on the shapes of models.

use super::*;
use crate::ops::testing::{self, random_values};

const ALGORITHMS: [ConvAlgorithm; 4] = [
    ConvAlgorithm::Direct,
    ConvAlgorithm::Winograd2,
    ConvAlgorithm::Winograd4,
    ConvAlgorithm::Winograd5,
];

/// Result, gradient of the input, and gradient of the filter.
type Results<T> = [Vec<T>; 3];

/// Batch, height and width, channels in and out, padding of a 3×3 convolution with stride 1.
#[derive(Debug, Clone, Copy)]
struct Case(usize, (usize, usize), (usize, usize), usize);

impl Case {
    fn output(self) -> (usize, usize) {
        let Self(_, (h, w), _, padding) = self;
        (h + 2 * padding - 2, w + 2 * padding - 2)
    }

    /// Input, filter, and gradient of the result; deterministic test values.
    fn values(self) -> [Vec<f32>; 3] {
        let (Self(batch, (h, w), (c, k), _), (ho, wo)) = (self, self.output());
        [
            random_values(batch * h * w * c, 1),
            random_values(9 * c * k, 2),
            random_values(batch * ho * wo * k, 3),
        ]
    }

    fn run(self, algorithm: ConvAlgorithm) -> Results<f32> {
        let Self(batch, (h, w), (c, k), padding) = self;
        let [x, weight, grad] = self.values();
        let options = Conv2dOptions {
            padding,
            ..Conv2dOptions::default()
        };
        let leaves: [(&[f32], Shape); 2] = [
            (&x, [batch, h, w, c].into()),
            (&weight, [3, 3, c, k].into()),
        ];
        let (y, grads) = testing::backward(&leaves, &grad, |pass, v| {
            conv2d_with_algorithm(algorithm, pass, &v[0], &v[1], None, options)
        });
        let [grad_x, grad_weight] = grads.try_into().unwrap();
        [y, grad_x, grad_weight]
    }

    /// The convolution and its gradients, computed in f64 from their definition.
    fn exact(self) -> Results<f64> {
        let (Self(batch, (h, w), (c, k), padding), (ho, wo)) = (self, self.output());
        let [x, weight, grad] = self
            .values()
            .map(|v| v.into_iter().map(f64::from).collect::<Vec<_>>());
        let mut results = [grad.len(), x.len(), weight.len()].map(|len| vec![0.0; len]);
        let [y, grad_x, grad_weight] = &mut results;
        let places = (0..batch * ho * wo).flat_map(|at| (0..9).map(move |tap| (at, tap)));
        for (at, tap) in places {
            let (row, column) = (at / wo % ho + tap / 3, at % wo + tap % 3);
            let inside =
                (padding..h + padding).contains(&row) && (padding..w + padding).contains(&column);
            if !inside {
                continue;
            }
            let pixel = (at / wo / ho * h + row - padding) * w + column - padding;
            for channel in 0..c {
                let (from, filter) = (pixel * c + channel, (tap * c + channel) * k);
                let mut sum = 0.0;
                for to in 0..k {
                    y[at * k + to] += x[from] * weight[filter + to];
                    sum += grad[at * k + to] * weight[filter + to];
                    grad_weight[filter + to] += x[from] * grad[at * k + to];
                }
                grad_x[from] += sum;
            }
        }
        results
    }

    /// For each of the three results (y and both gradients), the largest error relative to its largest value.
    fn errors(self, algorithm: ConvAlgorithm) -> [f64; 3] {
        let (results, exact) = (self.run(algorithm), self.exact());
        [0, 1, 2].map(|i| {
            let largest = exact[i].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let difference = results[i].iter().zip(&exact[i]);
            let error = difference.fold(0.0, |m: f64, (r, e)| m.max((f64::from(*r) - e).abs()));
            error / largest.max(1e-3)
        })
    }

    /// Prints the three errors of an algorithm; panics if one of them is not below the algorithm's bound.
    fn check(self, algorithm: ConvAlgorithm) {
        let (errors, bound) = (self.errors(algorithm), bound(algorithm));
        println!("{self:?}, {algorithm:?}: {}", told(errors));
        assert!(
            errors.iter().all(|e| *e < bound),
            "{self:?}, {algorithm:?}: {}",
            told(errors)
        );
    }
}

fn told([y, grad_x, grad_weight]: [f64; 3]) -> String {
    format!("{y:.1e} / {grad_x:.1e} / {grad_weight:.1e}")
}

/// Upper bound of an algorithm's error relative to the largest value, as [`Case::errors`] measures it.
fn bound(algorithm: ConvAlgorithm) -> f64 {
    match algorithm {
        ConvAlgorithm::Auto | ConvAlgorithm::Direct | ConvAlgorithm::Winograd2 => 1e-6,
        ConvAlgorithm::Winograd4 => 1e-5,
        ConvAlgorithm::Winograd5 => 2e-5,
    }
}

#[test]
fn odd_sizes_are_as_accurate_as_any() {
    let cases = [
        Case(1, (1, 1), (1, 1), 1),
        Case(2, (3, 1), (3, 5), 1),
        Case(1, (5, 3), (17, 1), 1),
        Case(3, (17, 5), (5, 17), 1),
        Case(1, (31, 33), (3, 5), 1),
        Case(2, (33, 17), (1, 3), 1),
        Case(1, (3, 3), (5, 3), 0),
        Case(2, (6, 31), (17, 33), 0),
        Case(1, (1, 5), (3, 17), 2),
    ];
    for case in cases {
        for algorithm in ALGORITHMS {
            case.check(algorithm);
        }
    }
}

/// Shapes with few tiles and many channels, which transform the filter block by block: partial blocks, every padding.
#[test]
fn few_tiles_of_many_channels_are_as_accurate_as_any() {
    let cases = [
        Case(2, (5, 7), (130, 131), 1),
        Case(1, (7, 9), (131, 193), 0),
        Case(3, (1, 3), (193, 129), 2),
    ];
    for case in cases {
        for algorithm in &ALGORITHMS[1..] {
            case.check(*algorithm);
        }
    }
}

/// Prints the table of `winograd`'s documentation (`cargo test --lib accuracy -- --nocapture`) and checks its bounds.
#[test]
fn errors_of_the_shapes_of_models_are_bounded() {
    let cases = [
        Case(1, (40, 40), (16, 16), 1),
        Case(1, (20, 20), (64, 64), 1),
        Case(2, (10, 10), (128, 64), 1),
        Case(1, (10, 10), (256, 64), 1),
    ];
    for case in cases {
        for algorithm in ALGORITHMS {
            case.check(algorithm);
        }
    }
}
