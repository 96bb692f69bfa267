use super::is_not_comparable;
use super::summary::text;
use crate::compare::golden::{across, batch_sizes, branches};

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
