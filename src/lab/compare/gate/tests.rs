//! Classification as regression, change, unclear, or no finding.

use super::*;
use crate::compare::NotComparableReason;
use crate::compare::testing::{comparison, fact, key, pair, quality, row};
use crate::results::Direction;

use FailOn::{Change, CpuTime, Energy, Memory, Regression, Unclear, Work};

/// The findings in a comparison of one pair.
fn found(pair: CellPair, kinds: &[FailOn]) -> Vec<(FailOn, &'static str)> {
    let comparison = Comparison {
        cells: vec![pair],
        matrix: None,
        added: Vec::new(),
        removed: Vec::new(),
        ..comparison()
    };
    words(&violations(&comparison, kinds))
}

fn words(violations: &[Violation]) -> Vec<(FailOn, &'static str)> {
    let word = |finding: &Finding| match finding {
        Finding::Slower { .. } => "slower",
        Finding::CostsMore { .. } => "costs more",
        Finding::WorseQuality(_) => "worse quality",
        Finding::FactsChanged(_) => "other fact",
        Finding::WorkChanged(_) => "other work",
        Finding::StatusChanged { .. } => "other status",
        Finding::Added => "added",
        Finding::Removed => "removed",
        Finding::TimeUndecided(_) => "time not told",
        Finding::QualityUndecided(_) => "quality not told",
    };
    let pairs = violations.iter();
    pairs.map(|v| (v.what, word(&v.finding))).collect()
}

#[test]
fn each_kind_names_its_own_and_in_plan_order() {
    let comparison = comparison();
    let of = |kinds: &[FailOn]| words(&violations(&comparison, kinds));
    assert_eq!(of(&[]), []);
    let regressions = [(Regression, "slower"), (Regression, "slower")];
    assert_eq!(of(&[Regression]), regressions);
    let changes = [
        (Change, "other fact"),
        (Change, "added"),
        (Change, "removed"),
    ];
    assert_eq!(of(&[Change]), changes);
    let unclear = [(Unclear, "quality not told"), (Unclear, "time not told")];
    assert_eq!(of(&[Unclear]), unclear);
    assert_eq!(of(&[Work]), [(Work, "other work")]);
    assert_eq!(of(&[Memory]), [(Memory, "costs more")]);
    assert_eq!(of(&[CpuTime, Energy]), []);
    let all = [
        (Regression, "slower"),
        (Regression, "slower"),
        (Unclear, "quality not told"),
        (Change, "other fact"),
        (Unclear, "time not told"),
        (Change, "added"),
        (Change, "removed"),
    ];
    assert_eq!(of(&[Unclear, Change, Regression]), all);
    let cells: Vec<Option<String>> = violations(&comparison, &[Regression])
        .into_iter()
        .map(|violation| violation.cell)
        .collect();
    assert_eq!(cells, [None, Some(key(0))]);
}

#[test]
fn a_faster_cell_and_a_better_loss_are_no_regression() {
    let better = CellPair {
        facts: vec![fact("final_loss", Direction::Lower, "0.5", "0.25")],
        quality: vec![quality("val_loss", QualityVerdict::Better)],
        ..pair(0, Verdict::Faster, 0.9)
    };
    assert_eq!(found(better.clone(), &[Regression, Unclear]), []);
    assert_eq!(found(better, &[Change]), [(Change, "other fact")]);
}

#[test]
fn a_cell_that_was_not_measured_or_not_measured_again_is_not_unclear() {
    let of = |reason| pair(0, Verdict::NotComparable(vec![reason]), 1.0);
    assert_eq!(
        found(of(NotComparableReason::NotMeasured(true, true)), &[Unclear]),
        []
    );
    assert_eq!(found(of(NotComparableReason::SameRuns), &[Unclear]), []);
    let unclear = [(Unclear, "time not told")];
    assert_eq!(
        found(
            of(NotComparableReason::NotMeasured(false, true)),
            &[Unclear]
        ),
        unclear
    );
}

#[test]
fn a_fact_within_its_tolerance_is_nothing() {
    let mut within = pair(0, Verdict::Same, 1.0);
    within.facts = vec![FactChange {
        tolerance: 2.0,
        is_within: true,
        ..fact("final_loss", Direction::Lower, "0.25", "0.5")
    }];
    assert_eq!(found(within, &[Regression, Change, Unclear]), []);
}

#[test]
fn only_the_verdict_over_seeds_decides_what_is_worse() {
    let mut pair = pair(0, Verdict::Same, 1.0);
    pair.facts = vec![fact("val_loss", Direction::Lower, "0.25", "0.5")];
    for (verdict, expected) in [
        (QualityVerdict::Worse, vec![(Regression, "worse quality")]),
        (QualityVerdict::NotTold, vec![(Unclear, "quality not told")]),
        (QualityVerdict::Better, vec![]),
        (
            QualityVerdict::TooFewSeeds(6),
            vec![(Unclear, "quality not told")],
        ),
    ] {
        pair.quality = vec![quality("val_loss", verdict)];
        let both = found(pair.clone(), &[Regression, Unclear]);
        assert_eq!(both, expected, "{verdict:?}");
        let change = [(Change, "other fact")];
        assert_eq!(found(pair.clone(), &[Change]), change, "{verdict:?}");
        let is_told = verdict == QualityVerdict::Worse;
        let again = found(pair.clone(), &[Regression, Change]);
        assert_eq!(again.contains(&change[0]), !is_told, "{verdict:?}");
    }
}

#[test]
fn a_row_that_is_not_done_any_more_is_a_regression() {
    let mut comparison = comparison();
    comparison.cells = vec![pair(0, Verdict::Same, 1.0)];
    comparison.matrix = None;
    row(&mut comparison.after.set, 0).status = Status::Diverged;
    let regression = [(Regression, "other status")];
    assert_eq!(words(&violations(&comparison, &[Regression])), regression);
    std::mem::swap(&mut comparison.before, &mut comparison.after);
    assert_eq!(words(&violations(&comparison, &[Regression])), []);
    let changes = words(&violations(&comparison, &[Change]));
    assert_eq!(changes[0], (Change, "other status"));
}
