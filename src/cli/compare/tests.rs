use super::summary::text;
use super::{baseline, is_not_comparable};
use crate::compare::golden::{across, batch_sizes, branches, main};
use crate::report::comparison_answer;

#[test]
fn a_branch_is_summed_up() {
    insta::assert_snapshot!(text(&branches(), false));
    assert!(!is_not_comparable(&branches()));
}

#[test]
fn an_axis_is_summed_up() {
    insta::assert_snapshot!(text(&batch_sizes(), false));
}

#[test]
fn other_machines_are_told_at_every_ratio() {
    let refused = across(false);
    assert!(is_not_comparable(&refused));
    assert!(!text(&refused, false).contains('×'));
    let text = text(&across(true), false);
    insta::assert_snapshot!(text);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ratios = flat.matches('×').count();
    assert!(ratios > 3);
    assert_eq!(flat.matches("across environments").count(), ratios + 1);
}

#[test]
fn colours_are_for_terminals() {
    let plain = text(&branches(), false);
    assert!(!plain.contains('\x1b'));
    let coloured = text(&branches(), true);
    assert!(coloured.contains("\x1b[31mslower"), "{coloured}");
    let without = coloured
        .replace("\x1b[31m", "")
        .replace("\x1b[32m", "")
        .replace("\x1b[33m", "")
        .replace("\x1b[0m", "");
    assert_eq!(without, plain);
}

#[test]
fn the_last_lines_are_the_answer_of_the_page() {
    for comparison in [branches(), batch_sizes(), across(true)] {
        let text = text(&comparison, false);
        let (_, last) = text.split_once("\nAnswer\n").expect("an answer");
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(flat(last), flat(&comparison_answer(&comparison).join(" ")));
    }
}

#[test]
fn the_baseline_of_the_treatment_is_the_side_before() {
    let mut side = main();
    let axes = &side.set.plan.axes;
    let place = axes
        .iter()
        .position(|axis| axis.name == "batch-size")
        .expect("an axis");
    side.set.plan.compare = serde_json::json!({"treatment": "batch-size", "baseline": "16"});
    assert_eq!(
        baseline(&side, place, Some("batch-size")).as_deref(),
        Some("16")
    );
    // Along another axis than the treatment its baseline says nothing.
    assert_eq!(baseline(&side, place, Some("workers")), None);
    side.set.plan.compare["baseline"] = "17".into();
    assert_eq!(baseline(&side, place, Some("batch-size")), None);
}
