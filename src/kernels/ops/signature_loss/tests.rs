use super::signatures::signatures_backward;
use super::*;
use crate::ops::path_batch::add_value_slopes;
use crate::ops::path_batch::golden::{G2, P, Q, R2};
use crate::ops::testing;

const RULES: [RbfStatistic; 3] = [
    RbfStatistic::Scoring,
    RbfStatistic::TruncatedMmd,
    RbfStatistic::SimplifiedScoring,
];

fn all(real: &PathBatch) -> Vec<Rc<SignatureLoss>> {
    let rules = RULES.map(|rule| SignatureLoss::rbf(rule, 1.0, real));
    std::iter::once(SignatureLoss::t_statistic(real))
        .chain(rules)
        .map(Rc::new)
        .collect()
}

/// `count` paths of `points` points each.
fn real(count: u64, points: usize) -> PathBatch {
    let rows = (0..count).flat_map(|path| {
        let times = (0..points).map(|i| i as f32 / (points - 1) as f32);
        let values = testing::random_values(points, 50 + path);
        times.chain(values).collect::<Vec<_>>()
    });
    PathBatch::from_rows(&rows.collect::<Vec<_>>(), points)
}

#[test]
fn losses_are_the_golden_ones() {
    let generated = PathBatch::reference_paths(&[Q, G2]);
    let golden = [
        -0.139_302_467_4,
        -0.605_912_007_2,
        0.707_765_871_7,
        0.738_904_307_1,
    ];
    for (loss, golden) in all(&PathBatch::reference_paths(&[P, R2]))
        .iter()
        .zip(golden)
    {
        let (value, _) = loss.value(&generated);
        assert!((value - golden).abs() < 1e-9, "{value} instead of {golden}");
    }
}

#[test]
fn gradients_of_rules_are_those_of_finite_differences() {
    for loss in &all(&real(5, 7))[1..] {
        testing::check_gradients(&[[3, 6].into()], |pass, v| {
            signature_loss(pass, &v[0], loss)
        });
    }
}

/// The gradient treats the dilation as a constant, so it cannot be compared with finite differences of the loss.
#[test]
fn the_gradient_of_the_t_statistic_is_that_of_pytorch() {
    // From benches/peers, in double precision:
    // g = torch.tensor([[-.3, .4, .1, -.6], [.1, -.5, -.2, .3]], requires_grad=True)
    // paths.TStatistic(golden.REAL)(paths.to_paths(g)).backward()
    let loss = &all(&PathBatch::reference_paths(&[P, R2]))[0];
    let output = [-0.3, 0.4, 0.1, -0.6, 0.1, -0.5, -0.2, 0.3];
    let (_, grads) = testing::backward(&[(&output, [2, 4].into())], &[1.0], |pass, v| {
        signature_loss(pass, &v[0], loss)
    });
    testing::assert_close(
        &grads[0],
        &testing::parse_numbers(
            "0.03956691 0.058128817 0.057369127 -1.0899321 0.027532465 0.024159704 0.03453881
             -1.1707925",
        ),
        1e-6,
    );
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let real = real(20, 40);
    let output = testing::random_values(70 * 39, 1);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let losses = all(&real).into_iter().map(|loss| {
                let leaves: [(&[f32], _); 1] = [(&output, [70, 39].into())];
                testing::backward(&leaves, &[1.0], |pass, v| {
                    signature_loss(pass, &v[0], &loss)
                })
            });
            losses.collect::<Vec<_>>()
        })
    };
    assert!(run(1) == run(2));
}

#[test]
fn equal_distributions_are_no_infinite_slope() {
    let generated = PathBatch::generated(&testing::random_values(12, 1), 6);
    let loss = SignatureLoss::rbf(RbfStatistic::TruncatedMmd, 1.0, &generated);
    let (value, saved) = loss.value(&generated);
    assert!((value - 1e-4).abs() < 1e-12, "{value}");
    assert!(loss.slopes(&saved).iter().all(|slope| *slope == 0.0));
}

#[test]
fn not_a_number_stays_one() {
    for loss in all(&real(3, 7)) {
        let value = testing::forward(&[(&[f32::NAN; 12], [2, 6].into())], |pass, v| {
            signature_loss(pass, &v[0], &loss)
        });
        assert!(value[0].is_nan());
    }
}

#[test]
fn paths_of_another_length_are_refused() {
    let device = testing::device();
    let output = Var::constant(&device, vec![0.0; 10], [2, 5]).unwrap();
    let loss = &all(&real(3, 7))[0];
    let error = signature_loss(&mut Pass::inference(&device), &output, loss).unwrap_err();
    let expected = "signature_loss: an output (2, 5) for real paths of 7 points";
    assert_eq!(error.to_string(), expected);
}

/// More paths than a GPU block has warps, more pairs than it has threads, and paths with more points than it has
/// threads.
#[test]
fn values_and_gradients_of_all_sizes_are_those_of_the_host() {
    for (count, batch, steps) in [(40, 37, 6), (3, 2, 150), (5, 1, 1)] {
        let rows = (0..count).flat_map(|path| {
            let times = (0..=steps).map(|i| i as f32 / steps as f32);
            let values = testing::random_values(steps + 1, 50 + path);
            times
                .chain(values.into_iter().map(|value| 0.2 * value))
                .collect::<Vec<_>>()
        });
        let real = PathBatch::from_rows(&rows.collect::<Vec<_>>(), steps + 1);
        let output: Vec<f32> = testing::random_values(batch * steps, 3)
            .iter()
            .map(|v| 0.2 * v)
            .collect();
        let generated = PathBatch::generated(&output, steps);
        for loss in all(&real) {
            let (value, grads) =
                testing::backward(&[(&output, [batch, steps].into())], &[0.5], |pass, v| {
                    signature_loss(pass, &v[0], &loss)
                });
            let (expected, saved) = loss.value(&generated);
            let slopes = signatures_backward(&generated, &loss.slopes(&saved));
            let mut gradient = vec![0.0; output.len()];
            add_value_slopes(&mut gradient, steps, &slopes, steps + 1, 0.5);
            testing::assert_close(&value, &[expected as f32], 1e-6);
            testing::assert_close(&grads[0], &gradient, 1e-6);
        }
    }
}

/// Runs the threads of a block in order and in reverse, where a missing barrier would change the results.
#[cfg(feature = "cuda-stand-in")]
#[test]
fn the_order_of_threads_changes_nothing() {
    let output = testing::random_values(37 * 6, 1);
    let run = |backwards| {
        crate::device::cuda::set_reverse_execution(backwards);
        let losses = all(&real(20, 7)).into_iter().map(|loss| {
            let leaves: [(&[f32], _); 1] = [(&output, [37, 6].into())];
            testing::backward(&leaves, &[1.0], |pass, v| {
                signature_loss(pass, &v[0], &loss)
            })
        });
        let found = losses.collect::<Vec<_>>();
        crate::device::cuda::set_reverse_execution(false);
        found
    };
    assert!(run(false) == run(true));
}
