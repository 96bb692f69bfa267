use super::pairs::Kernel;
use super::*;
use crate::ops::path_batch::add_value_slopes;
use crate::ops::path_batch::golden::{G2, P, Q, R2};
use crate::ops::testing::{self, parse_numbers};

fn kernel(order: u32) -> Kernel {
    Kernel { sigma: 1.0, order }
}

fn options(order: u32) -> SignatureKernelOptions {
    SignatureKernelOptions {
        sigma: 1.0,
        order,
        points: usize::MAX,
        paths: usize::MAX,
    }
}

#[track_caller]
fn assert_golden(found: f64, golden: f64) {
    assert!((found - golden).abs() < 1e-9, "{found} instead of {golden}");
}

#[test]
fn kernels_are_the_golden_ones() {
    let paths = PathBatch::reference_paths(&[P, Q]);
    let (p, q) = (paths.path(0), paths.path(1));
    for (order, cross, own) in [
        (0, 1.775_797_904_8, 4.533_376_405_4),
        (1, 1.796_907_305_7, 4.646_797_288_8),
        (2, 1.799_222_209_9, 4.653_898_164_2),
        (4, 1.799_333_190_9, 4.652_297_351_6),
    ] {
        let values = kernel(order).values(&[(p, q), (p, p), (q, p)]);
        assert_golden(values[0], cross);
        assert_golden(values[1], own);
        assert_golden(values[2], cross);
    }
}

/// dk(P,Q)/dP of the reference paths (accurate to 2e-8) by central differences in 60-digit arithmetic (`golden.py`).
#[test]
fn slopes_are_the_golden_ones() {
    const ORDER_0: &str =
        "-0.8106236502862478 0.4291808900774815 0.2130450523910121 -0.04557550233939824
        -0.1355324390478946 0.3689063832845366 -0.2352211299754164 0.0563790822771307
        0.6022651151729285 0.1736551151074594";
    const ORDER_2: &str =
        "-0.8400852829013186 0.3682508438359049 0.2284814062497143 -0.01553637251402903
        -0.1348794796371017 0.3534939247138572 -0.2290155098607514 0.09846744709391327
        0.6184533047489897 0.1836283463962371";
    let paths = PathBatch::reference_paths(&[P, Q]);
    let (p, q) = (paths.path(0), paths.path(1));
    for (order, golden) in [(0, ORDER_0), (2, ORDER_2)] {
        let slopes = kernel(order).slopes(&[(p, q), (q, p)], &[1.0, 2.0]);
        for (at, golden) in parse_numbers::<f64>(golden).into_iter().enumerate() {
            assert!((slopes[0].0[at] - golden).abs() < 1e-12, "{order} {at}");
            assert!(
                (slopes[1].1[at] - 2.0 * golden).abs() < 2e-12,
                "{order} {at}"
            );
        }
    }
}

#[test]
fn losses_are_the_golden_ones() {
    let (real, generated) = (
        PathBatch::reference_paths(&[P, R2]),
        PathBatch::reference_paths(&[Q, G2]),
    );
    let loss = |statistic, order| {
        SignatureKernelLoss::new(statistic, options(order), &real).value(&generated)
    };
    assert_golden(loss(KernelStatistic::Mmd, 4), -0.125_660_240_4);
    assert_golden(loss(KernelStatistic::Mmd, 0), -0.118_823_173_7);
    assert_golden(loss(KernelStatistic::Scoring, 4), -2.796_319_959_7);
}

/// A loss that uses the first eleven of sixteen points of at most five paths.
fn loss(statistic: KernelStatistic) -> Rc<SignatureKernelLoss> {
    let rows: Vec<f32> = (0..7)
        .flat_map(|path| {
            let times = (0..16).map(|i| i as f32 / 15.0);
            times
                .chain(testing::random_values(16, 50 + path))
                .collect::<Vec<_>>()
        })
        .collect();
    let options = SignatureKernelOptions {
        sigma: 0.8,
        order: 1,
        points: 11,
        paths: 5,
    };
    Rc::new(SignatureKernelLoss::new(
        statistic,
        options,
        &PathBatch::from_rows(&rows, 16),
    ))
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for statistic in [KernelStatistic::Mmd, KernelStatistic::Scoring] {
        let loss = loss(statistic);
        testing::check_gradients(&[[6, 15].into()], |pass, v| {
            loss_of_signature_kernels(pass, &v[0], &loss)
        });
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let values = testing::random_values(6 * 15, 1);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let output = PathBatch::generated(&values, 15);
            let options = SignatureKernelOptions {
                paths: 6,
                ..options(2)
            };
            let loss = SignatureKernelLoss::new(KernelStatistic::Mmd, options, &output);
            (loss.value(&output), loss.slopes(&output))
        })
    };
    assert!(run(1) == run(2));
}

#[test]
fn what_the_loss_does_not_see_has_no_gradient() {
    let loss = loss(KernelStatistic::Mmd);
    let (_, grads) = testing::backward(
        &[(&testing::random_values(6 * 15, 1), [6, 15].into())],
        &[1.0],
        |pass, v| loss_of_signature_kernels(pass, &v[0], &loss),
    );
    for (at, grad) in grads[0].iter().enumerate() {
        let is_seen = at / 15 < 5 && at % 15 < 10;
        assert_eq!(*grad != 0.0, is_seen, "{at}");
    }
}

#[test]
fn one_generated_path_is_compared_with_real_ones_alone() {
    let loss = loss(KernelStatistic::Scoring);
    let output = testing::random_values(15, 3);
    let value = testing::forward(&[(&output, [1, 15].into())], |pass, v| {
        loss_of_signature_kernels(pass, &v[0], &loss)
    });
    let generated = loss.seen(&output, 15);
    let kernel = loss
        .kernel
        .values(&[(generated.path(0), loss.real.path(0))]);
    testing::assert_close(&value, &[-2.0 * kernel[0] as f32], 1e-6);
}

#[test]
fn not_a_number_stays_one() {
    let loss = loss(KernelStatistic::Mmd);
    let mut output = testing::random_values(30, 3);
    output[4] = f32::NAN;
    let value = testing::forward(&[(&output, [2, 15].into())], |pass, v| {
        loss_of_signature_kernels(pass, &v[0], &loss)
    });
    assert!(value[0].is_nan());
}

/// A loss against `real` paths of `steps + 1` points, and the output of a model for `batch` generated paths.
fn problem(
    statistic: KernelStatistic,
    (real, batch, steps, order): (u64, usize, usize, u32),
) -> (Rc<SignatureKernelLoss>, Vec<f32>) {
    let rows = (0..real).flat_map(|path| {
        let times = (0..=steps).map(|i| i as f32 / steps as f32);
        times
            .chain(testing::random_values(steps + 1, 50 + path))
            .collect::<Vec<_>>()
    });
    let real = PathBatch::from_rows(&rows.collect::<Vec<_>>(), steps + 1);
    let loss = SignatureKernelLoss::new(statistic, options(order), &real);
    (Rc::new(loss), testing::random_values(batch * steps, 3))
}

/// Grids of one cell, of fewer and of more rows than a GPU block has threads, and even and odd numbers of generated
/// paths.
#[test]
fn values_and_gradients_of_all_sizes_are_those_of_the_host() {
    use KernelStatistic::{Mmd, Scoring};
    for (statistic, size) in [
        (Mmd, (3, 2, 1, 0)),
        (Mmd, (5, 4, 9, 0)),
        (Mmd, (3, 5, 33, 1)),
        (Scoring, (2, 3, 10, 2)),
        (Scoring, (1, 1, 27, 5)),
    ] {
        let (_, batch, steps, _) = size;
        let (loss, output) = problem(statistic, size);
        let (value, grads) =
            testing::backward(&[(&output, [batch, steps].into())], &[0.5], |pass, v| {
                loss_of_signature_kernels(pass, &v[0], &loss)
            });
        let generated = loss.seen(&output, steps);
        let mut gradient = vec![0.0; output.len()];
        let slopes = loss.slopes(&generated);
        add_value_slopes(&mut gradient, steps, &slopes, steps + 1, 0.5);
        testing::assert_close(&value, &[loss.value(&generated) as f32], 1e-6);
        testing::assert_close(&grads[0], &gradient, 1e-6);
    }
}

/// Runs the threads of a block in order and in reverse, where a missing barrier would change the results.
#[cfg(feature = "cuda-stand-in")]
#[test]
fn the_order_of_threads_changes_nothing() {
    let (loss, output) = problem(KernelStatistic::Mmd, (3, 3, 20, 1));
    let run = |backwards| {
        crate::device::cuda::set_reverse_execution(backwards);
        let leaves: [(&[f32], _); 1] = [(&output, [3, 20].into())];
        let found = testing::backward(&leaves, &[1.0], |pass, v| {
            loss_of_signature_kernels(pass, &v[0], &loss)
        });
        crate::device::cuda::set_reverse_execution(false);
        found
    };
    assert!(run(false) == run(true));
}
