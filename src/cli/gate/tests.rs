//! Tests: findings are classified as regression, change, unclear or nothing, and each is one sentence.

use super::*;
use crate::compare::testing::{comparison, fact, key, memory_cost, pair, quality, row};
use crate::compare::{CostChange, NotComparableReason};
use crate::results::Direction;

use FailOn::{Change, CpuTime, Energy, Memory, Regression, Unclear, Work};

/// What the gate finds in a comparison of one pair of cells: the kind, and the part of the sentence that names it.
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
    let words = [
        ": slower",
        ": more",
        ", worse",
        ": changed",
        ": a step does other work",
        ": was ",
        ": added",
        ": removed",
        ": time per sample",
        "direction",
    ];
    let word = |text: &str| words.into_iter().find(|word| text.contains(word));
    let pairs = violations.iter();
    pairs
        .map(|(what, text)| (*what, word(text).expect(text)))
        .collect()
}

#[test]
fn each_kind_names_its_own_and_in_plan_order() {
    let comparison = comparison();
    let of = |kinds: &[FailOn]| words(&violations(&comparison, kinds));
    assert_eq!(of(&[]), []);
    let regressions = [(Regression, ": slower"), (Regression, ": slower")];
    assert_eq!(of(&[Regression]), regressions);
    let changes = [
        (Change, ": changed"),
        (Change, ": added"),
        (Change, ": removed"),
    ];
    assert_eq!(of(&[Change]), changes);
    let unclear = [(Unclear, "direction"), (Unclear, ": time per sample")];
    assert_eq!(of(&[Unclear]), unclear);
    assert_eq!(of(&[Work]), [(Work, ": a step does other work")]);
    assert_eq!(of(&[Memory]), [(Memory, ": more")]);
    assert_eq!(of(&[CpuTime, Energy]), []);
    let all = [
        (Regression, ": slower"),
        (Regression, ": slower"),
        (Unclear, "direction"),
        (Change, ": changed"),
        (Unclear, ": time per sample"),
        (Change, ": added"),
        (Change, ": removed"),
    ];
    assert_eq!(of(&[Unclear, Change, Regression]), all);
    let regressions = violations(&comparison, &[Regression]);
    assert!(regressions[0].1.starts_with(ALL_CELLS));
    assert!(regressions[1].1.starts_with(&key(0)));
}

#[test]
fn a_faster_cell_and_a_better_loss_are_no_regression() {
    let better = CellPair {
        facts: vec![fact("final_loss", Direction::Lower, "0.5", "0.25")],
        quality: vec![quality("val_loss", QualityVerdict::Better)],
        ..pair(0, Verdict::Faster, 0.9)
    };
    assert_eq!(found(better.clone(), &[Regression, Unclear]), []);
    assert_eq!(found(better, &[Change]), [(Change, ": changed")]);
}

#[test]
fn a_cell_that_was_not_measured_or_not_measured_again_is_not_unclear() {
    let of = |reason| pair(0, Verdict::NotComparable(vec![reason]), 1.0);
    assert_eq!(
        found(of(NotComparableReason::NotMeasured(true, true)), &[Unclear]),
        []
    );
    assert_eq!(found(of(NotComparableReason::SameRuns), &[Unclear]), []);
    let unclear = [(Unclear, ": time per sample")];
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
        (QualityVerdict::Worse, vec![(Regression, ", worse")]),
        (QualityVerdict::NotTold, vec![(Unclear, "direction")]),
        (QualityVerdict::Better, vec![]),
        (QualityVerdict::TooFewSeeds(6), vec![(Unclear, "direction")]),
    ] {
        pair.quality = vec![quality("val_loss", verdict)];
        let both = found(pair.clone(), &[Regression, Unclear]);
        assert_eq!(both, expected, "{verdict:?}");
        let change = [(Change, ": changed")];
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
    let regression = [(Regression, ": was ")];
    assert_eq!(words(&violations(&comparison, &[Regression])), regression);
    std::mem::swap(&mut comparison.before, &mut comparison.after);
    assert_eq!(words(&violations(&comparison, &[Regression])), []);
    let changes = words(&violations(&comparison, &[Change]));
    assert_eq!(changes[0], (Change, ": was "));
}

#[test]
fn each_cost_has_its_own_kind_and_only_more_of_it_is_a_finding() {
    for (cost, kind) in [
        (Cost::CpuTime, CpuTime),
        (Cost::GpuMemory, Memory),
        (Cost::Energy, Energy),
    ] {
        let of = |verdict| CellPair {
            costs: vec![CostChange {
                cost,
                ..memory_cost(verdict, 1.2)
            }],
            ..pair(0, Verdict::Same, 1.0)
        };
        let all = [Regression, Change, CpuTime, Memory, Energy];
        assert_eq!(found(of(Verdict::More), &all), [(kind, ": more")]);
        assert_eq!(found(of(Verdict::Less), &all), []);
    }
}

#[test]
fn a_cost_over_all_cells_comes_first() {
    let mut comparison = comparison();
    comparison.costs[0].matrix = comparison.matrix.clone();
    let matrix = comparison.costs[0].matrix.as_mut().expect("a matrix");
    matrix.verdict = Verdict::More;
    let found = violations(&comparison, &[Memory]);
    assert_eq!(found.len(), 2);
    assert!(
        found[0]
            .1
            .starts_with("all cells together: peak memory: more")
    );
}

#[test]
fn every_violation_is_one_line_with_its_values() {
    let comparison = comparison();
    let kinds = FailOn::value_variants();
    let found = violations(&comparison, kinds).into_iter();
    let lines = found.map(|(what, text)| format!("{}: ddpm: {text}", what.text()));
    let lines: Vec<String> = lines.collect();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    insta::assert_snapshot!(without_nbsp(&lines.join("\n")));
}

#[test]
fn an_annotation_escapes_special_characters() {
    let expected = "::error title=regression in a%3Ab::a=1,b=50%25: added";
    assert_eq!(annotation("a:b", Regression, "a=1,b=50%: added"), expected);
}
