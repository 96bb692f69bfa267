use super::super::testing::split_sizes;
use super::*;

const ALL: [PathProcess; 4] = [
    PathProcess::OrnsteinUhlenbeck,
    PathProcess::Brownian,
    PathProcess::Heston,
    PathProcess::RoughBergomi,
];

fn spec(process: PathProcess, samples: usize, points: usize) -> PathsSpec {
    PathsSpec {
        process,
        samples,
        points,
        seed: 7,
    }
}

/// Mean and variance of the values at the last point.
fn last(process: PathProcess) -> (f64, f64) {
    let (samples, points) = (20_000, 26);
    let table = spec(process, samples, points).generate();
    let ends = table
        .numbers()
        .chunks(2 * points)
        .map(|row| f64::from(row[2 * points - 1]));
    let mean = ends.clone().sum::<f64>() / samples as f64;
    let variance = ends.map(|end| (end - mean).powi(2)).sum::<f64>() / samples as f64;
    (mean, variance)
}

#[test]
fn samples_are_a_row_of_times_and_a_row_of_values() {
    for process in ALL {
        let table = spec(process, 3, 5).generate();
        assert_eq!(table.numbers().len(), 3 * 2 * 5);
        let start = match process {
            PathProcess::OrnsteinUhlenbeck | PathProcess::Brownian => 0.0,
            PathProcess::Heston | PathProcess::RoughBergomi => 1.0,
        };
        for sample in table.numbers().chunks(10) {
            assert_eq!(sample[..6], [0.0, 0.25, 0.5, 0.75, 1.0, start]);
        }
    }
}

#[test]
fn the_first_paths_are_the_same_on_every_machine() {
    let second = |process| spec(process, 2, 3).generate().numbers()[10..12].to_vec();
    let expected = [
        [0.860_637_6_f32, -0.021_916_095],
        [0.860_637_6, 0.408_402_7],
        [1.205_781, 1.236_305_5],
        [0.793_519_8, 0.722_565_2],
    ];
    assert_eq!(ALL.map(second), expected.map(Vec::from));
}

#[test]
fn a_larger_dataset_begins_with_the_smaller_one() {
    let small = spec(PathProcess::Heston, 3, 10).generate();
    let large = spec(PathProcess::Heston, 9, 10).generate();
    let small = small.numbers();
    assert_eq!(small, &large.numbers()[..small.len()]);
}

/// The expected variance is that of N Euler steps: `Δt (1 − q^N)/(1 − q)`, `q = (1 − Δt)²`; a standard error is 1 %.
#[test]
fn linear_processes_have_the_moments_of_their_law() {
    let (mean, variance) = last(PathProcess::Brownian);
    assert!(
        mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04,
        "{mean} {variance}"
    );
    let (mean, variance) = last(PathProcess::OrnsteinUhlenbeck);
    let dt: f64 = 1.0 / 25.0;
    let q = (1.0 - dt).powi(2);
    let expected = dt * (1.0 - q.powi(25)) / (1.0 - q);
    assert!(mean.abs() < 0.025, "{mean}");
    assert!(
        (variance / expected - 1.0).abs() < 0.04,
        "{variance} {expected}"
    );
}

/// `E S₁` is `e^0.05` for Heston and 1 for rough Bergomi; variances are near those of constant variances 0.04 and
/// 0.235².
#[test]
fn prices_have_the_means_of_their_law() {
    let (mean, variance) = last(PathProcess::Heston);
    assert!((mean - 0.05_f64.exp()).abs() < 0.006, "{mean}");
    assert!((0.03..0.055).contains(&variance), "{variance}");
    let (mean, variance) = last(PathProcess::RoughBergomi);
    assert!((mean - 1.0).abs() < 0.007, "{mean}");
    assert!((0.035..0.075).contains(&variance), "{variance}");
}

#[test]
fn validation_rows_follow_the_seed_and_training_rows_stay_in_order() {
    let open = spec(PathProcess::Brownian, 50, 4)
        .open(Seed(1), 0.2)
        .unwrap();
    let other = spec(PathProcess::Brownian, 50, 4)
        .open(Seed(2), 0.2)
        .unwrap();
    assert_ne!(open.splits.validation, other.splits.validation);
    assert!(open.splits.train.is_sorted());
    let facts = spec(PathProcess::Brownian, 50, 4).facts(0.2).unwrap();
    assert_eq!(open.splits.sizes(), [40, 10, 0]);
    assert_eq!(split_sizes(&facts), open.splits.sizes());
}
