//! Every verdict, with an input that leads to it.

use super::*;
use crate::compare::floor::CellNoiseFloor;
use crate::compare::{Judgement, NotComparableReason, ThresholdSource};
use crate::compare::{Test, UnclearReason, Verdict};

/// One comparison without a threshold.
pub(super) const ALONE: VerdictOptions = VerdictOptions {
    threshold: None,
    comparisons: 1,
};

/// Ten runs that scatter by about one percent, in arbitrary order.
const NOISE: [f64; 10] = [
    1.003, 0.991, 1.012, 0.997, 1.006, 0.988, 1.001, 1.009, 0.994, 0.999,
];

fn cell(runs: usize, effect: f64, design: Design) -> Samples {
    let other = |run: usize| NOISE[(run * 7 + 3) % 10];
    Samples {
        key: "model=a".into(),
        before: (0..runs).map(|run| 10.0 * NOISE[run % 10]).collect(),
        after: (0..runs).map(|run| 10.0 * effect * other(run)).collect(),
        design,
        floor: CellNoiseFloor::default(),
        drifts: true,
        comparable: Ok(()),
    }
}

fn between(floor: f64, mut cell: Samples) -> Samples {
    cell.floor.between = Some(floor);
    cell
}

fn only(cell: Samples, threshold: Option<f64>) -> Judgement {
    let asked = VerdictOptions { threshold, ..ALONE };
    judge(&[cell], asked).cells.remove(0)
}

#[test]
fn a_clear_effect_in_one_session_is_named() {
    let slower = only(cell(10, 1.1, Design::Interleaved), None);
    assert_eq!(slower.verdict, Verdict::Slower);
    assert_eq!((slower.runs, slower.test), ((10, 10), Some(Test::SignFlip)));
    let faster = only(cell(10, 0.9, Design::Interleaved), None);
    assert_eq!(faster.verdict, Verdict::Faster);
    assert!(faster.ratio.is_some_and(|ratio| ratio.high < 1.0));
}

#[test]
fn same_needs_an_interval_within_the_threshold_or_within_a_small_detectable_effect() {
    let found = only(cell(10, 1.0, Design::Interleaved), None);
    assert_eq!(found.verdict, Verdict::Same);
    assert!(
        found.detectable.is_some_and(|effect| effect < 0.05),
        "{found:?}"
    );
    let mut wide = cell(10, 1.0, Design::Interleaved);
    for (run, time) in wide.after.iter_mut().enumerate() {
        *time *= if run % 2 == 0 { 1.3 } else { 0.75 };
    }
    assert_eq!(
        only(wide, None).verdict,
        Verdict::Unclear(UnclearReason::WideInterval)
    );
}

#[test]
fn an_effect_below_the_threshold_is_the_same_and_one_at_it_is_unclear() {
    let small = || cell(10, 1.03, Design::Interleaved);
    assert_eq!(only(small(), Some(0.01)).verdict, Verdict::Slower);
    assert_eq!(only(small(), Some(0.10)).verdict, Verdict::Same);
    let at = only(small(), Some(0.032));
    assert_eq!(
        at.verdict,
        Verdict::Unclear(UnclearReason::AtThreshold(0.032))
    );
    assert_eq!(at.threshold.source, ThresholdSource::Manifest);
}

#[test]
fn too_few_runs_say_how_many_are_needed() {
    let cells: Vec<Samples> = (0..8).map(|_| cell(3, 1.5, Design::Interleaved)).collect();
    let found = judge(&cells, ALONE);
    assert_eq!((found.needed_runs, found.cells[0].p), (6, None));
    assert!(
        found
            .cells
            .iter()
            .all(|cell| cell.verdict == Verdict::TooFewRuns(6))
    );
    let matrix = found.matrix.expect("eight cells");
    assert_eq!((matrix.verdict, matrix.cells), (Verdict::Slower, 8));
    let none = only(cell(0, 1.0, Design::Interleaved), None);
    assert_eq!((none.verdict, none.ratio), (Verdict::TooFewRuns(4), None));
}

#[test]
fn runs_that_suffice_for_a_test_but_not_for_an_interval_never_say_same() {
    let found = only(cell(5, 1.0, Design::Interleaved), None);
    assert_eq!(found.verdict, Verdict::Unclear(UnclearReason::FewRuns));
}

#[test]
fn the_values_of_an_axis_share_their_five_percent() {
    let judged = |comparisons| {
        let asked = VerdictOptions {
            comparisons,
            ..ALONE
        };
        let found = judge(&[cell(6, 1.1, Design::Interleaved)], asked);
        (
            found.cells[0].p_holm,
            found.cells[0].verdict.clone(),
            found.needed_runs,
        )
    };
    // Six pairs of one sign have p = 2 / 64, and as two samples p = 0.00216. That is significant after correction for
    // twelve comparisons, but not for thirty.
    assert_eq!(judged(1), (Some(2.0 / 64.0), Verdict::Slower, 4));
    let (p, verdict, needed) = judged(12);
    assert!(p.is_some_and(|p| (0.0259..0.026).contains(&p)), "{p:?}");
    assert_eq!((verdict, needed), (Verdict::Slower, 6));
    assert_eq!(judged(30), (None, Verdict::TooFewRuns(7), 7));
}

#[test]
fn needed_runs_follow_holms_first_step() {
    // The smallest p-value, 2 / C(2n, n), is 0.1 at n = 3, 0.0286 at 4, 0.0079 at 5, 0.00216 at 6 and 0.00058 at 7.
    let needed: Vec<usize> = [1, 2, 5, 6, 8, 20, 30]
        .map(|cells| needed_runs(cells, 1))
        .to_vec();
    assert_eq!(needed, [4, 5, 5, 6, 6, 6, 7]);
    assert_eq!((needed_pairs(1, 1), needed_pairs(20, 1)), (6, 10));
}

#[test]
fn two_sessions_need_a_measured_floor_and_an_effect_above_it() {
    let apart = || cell(10, 1.1, Design::Sessions);
    let found = only(apart(), Some(0.01));
    assert_eq!(
        found.verdict,
        Verdict::Unclear(UnclearReason::NoSessionFloor)
    );
    let found = only(between(0.15, apart()), Some(0.01));
    assert_eq!(
        found.verdict,
        Verdict::Unclear(UnclearReason::WithinSessionFloor(0.15))
    );
    assert_eq!(found.threshold.source, ThresholdSource::MeasuredBetween);
    let found = only(between(0.05, apart()), Some(0.2));
    assert_eq!(
        found.verdict,
        Verdict::Unclear(UnclearReason::AtThreshold(0.2))
    );
    let found = only(between(0.05, apart()), None);
    assert_eq!(
        (found.verdict, found.test),
        (Verdict::Slower, Some(Test::MannWhitney))
    );
    let mut noisy = between(0.01, cell(6, 1.05, Design::Sessions));
    noisy
        .after
        .iter_mut()
        .step_by(2)
        .for_each(|time| *time *= 0.8);
    noisy
        .after
        .iter_mut()
        .skip(1)
        .step_by(2)
        .for_each(|time| *time *= 1.3);
    assert_eq!(
        only(noisy, None).verdict,
        Verdict::Unclear(UnclearReason::SessionNoise)
    );
}

#[test]
fn what_cannot_be_compared_has_neither_ratio_nor_test() {
    let reasons = vec![NotComparableReason::NotMeasured(true, false)];
    let refused = Samples {
        comparable: Err(reasons.clone()),
        ..cell(10, 1.1, Design::Interleaved)
    };
    let found = judge(&[refused, cell(10, 1.1, Design::Interleaved)], ALONE);
    assert_eq!(found.cells[0].verdict, Verdict::NotComparable(reasons));
    assert_eq!((found.cells[0].ratio, found.cells[0].p), (None, None));
    // A single cell is left; a matrix test would only repeat it.
    assert_eq!((found.matrix, found.needed_runs), (None, 4));
}

#[test]
fn thresholds_are_the_manifests_or_measured_or_two_percent() {
    let plain = cell(10, 1.0, Design::Interleaved);
    let of = |cell: &Samples, manifest| {
        let found = threshold(cell.design(), manifest, cell.floor);
        (found.value, found.source)
    };
    assert_eq!(of(&plain, None), (0.02, ThresholdSource::Default));
    assert_eq!(of(&plain, Some(0.05)), (0.05, ThresholdSource::Manifest));
    let mut measured = plain;
    measured.floor.within = Some(0.03);
    assert_eq!(of(&measured, None), (0.03, ThresholdSource::MeasuredWithin));
}

#[test]
fn pairs_of_unequal_number_are_two_sets() {
    let mut uneven = cell(10, 1.1, Design::Interleaved);
    uneven.after.pop();
    let found = only(uneven, None);
    assert_eq!(found.design, Design::Sessions);
}

#[test]
fn the_matrix_has_an_interval_from_six_runs_and_says_the_same_with_evidence() {
    let cells: Vec<Samples> = (0..4)
        .map(|index| Samples {
            key: format!("cell={index}"),
            ..cell(10, 1.0, Design::Interleaved)
        })
        .collect();
    let matrix = judge(&cells, ALONE).matrix.expect("four cells");
    assert_eq!(matrix.verdict, Verdict::Same);
    assert!(matrix.detectable.is_some_and(|effect| effect < 0.05));
    assert!(matrix.ratio.low < 1.0 && matrix.ratio.high > 1.0);
}
