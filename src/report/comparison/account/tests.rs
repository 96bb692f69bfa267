//! Tests of the sections on scripted results: every figure against a value computed by hand.

use std::sync::OnceLock;

mod pages;

use super::fixture::{compared, results};
use super::*;
use crate::compare::Comparison;
use crate::plan::Language;
use crate::report::comparison::scene::Scene;
use crate::report::section::Section;
use crate::report::table::{Row, Table};
use crate::results::ResultSet;
use crate::results::testing::assert_starts_with;

/// The sections of the scripted results, from before to after, in English; computed once for several tests.
fn whole() -> &'static [Section] {
    static SECTIONS: OnceLock<Vec<Section>> = OnceLock::new();
    SECTIONS.get_or_init(|| sections(&results(), "before", "after"))
}

/// The sections of `before` against `after`, in English.
fn sections(set: &ResultSet, before: &str, after: &str) -> Vec<Section> {
    spoken(set, before, after, Language::English)
}

fn spoken(set: &ResultSet, before: &str, after: &str, language: Language) -> Vec<Section> {
    let comparison = compared(set, before, after);
    let scene = &Scene::of(&comparison, language);
    let decision = crate::report::comparison::sections::summary::section(scene);
    let others = crate::report::comparison::sections::comparison_sections(scene);
    decision.into_iter().chain(others).collect()
}

fn table<'s>(sections: &'s [Section], id: &str) -> &'s Table {
    let mut tables = sections.iter().flat_map(|section| &section.tables);
    tables
        .find(|table| table.id == id)
        .expect("a table of this name")
}

/// The row that begins with `name`.
fn row<'t>(table: &'t Table, name: &str) -> &'t Row {
    let found = table.rows.iter().find(|row| row.fields[0].text == name);
    found.unwrap_or_else(|| panic!("no row {name} in {}: {:?}", table.id, table.rows))
}

fn names(table: &Table) -> Vec<&str> {
    let rows = table.rows.iter();
    rows.map(|row| &*row.fields[0].text).collect()
}

/// The texts of the row that begins with `name`, without that name.
fn texts<'t>(table: &'t Table, name: &str) -> Vec<&'t str> {
    row(table, name).texts().split_off(1)
}

/// The unrounded number of the field with index `place` in the row `name`.
fn value(table: &Table, name: &str, place: usize) -> f64 {
    row(table, name).fields[place].value.expect("a number")
}

fn is_near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-6 * expected.abs(),
        "{value} is not {expected}"
    );
}

#[test]
fn fewer_samples_are_told_apart_from_faster_ones() {
    let table = table(whole(), "summary");
    // Medians are those of blocks 2 and 3: × 1.025. One validation: 1600 × 0.2 ms and 1280 × 0.2 ms.
    assert_eq!(
        texts(table, "one validation")[..3],
        ["328 ms", "262 ms", "0.800×"]
    );
    assert_eq!(texts(table, "validation, per sample")[2], "1.000×");
}

#[test]
fn without_a_cycle_the_samples_of_a_validation_are_not_known() {
    let mut set = results();
    for cell in &mut set.plan.cells {
        cell.spec["validation"]["cycle"] = false.into();
    }
    let all = sections(&set, "before", "after");
    let names = names(table(&all, "summary"));
    assert!(names.contains(&"one validation") && !names.contains(&"validation, per sample"));
}

#[test]
fn single_factors_multiply() {
    let comparison = compared(&results(), "before", "after");
    let scene = Scene::of(&comparison, Language::English);
    let matched = scene.matched_cells().next().expect("a pair");
    let taken = effects::FactorEffects::of(&matched).expect("factors");
    // Whole run: 0.5 + 2.0 + 1.6, 0.5 + 3.0 + 2.0, 0.5 + 2.0 + 0.96 s; time per sample: 30 ÷ 20 and 20 ÷ 20.
    for (figure, product) in [
        (figure::ComparedQuantity::SampleTime, 1.5),
        (figure::ComparedQuantity::WholeRun, 5.5 * 3.46 / 4.1 / 4.1),
    ] {
        is_near(taken.product(&figure).expect("a product").value, product);
    }
}

#[test]
fn every_changed_setting_is_listed_with_its_factor() {
    let settings = table(whole(), "settings");
    let layers = settings
        .rows
        .iter()
        .find(|row| row.fields[1].text == "model.layers");
    let texts = layers.expect("a changed setting").texts();
    assert_eq!(texts[..4], ["Model", "model.layers", "4", "6"]);
}

#[test]
fn a_cell_of_another_value_does_not_measure_the_factor() {
    let measured = |layers: u64| {
        let mut set = results();
        set.plan.cells[1].spec["model"]["layers"] = layers.into();
        let comparison = compared(&set, "before", "after");
        let scene = Scene::of(&comparison, Language::English);
        let matched = scene.matched_cells().next().expect("a pair");
        let taken = effects::FactorEffects::of(&matched).expect("factors");
        taken.measured().count()
    };
    assert_eq!(measured(8) + 1, measured(6));
}

#[test]
fn a_phase_can_do_no_more_than_its_share_of_the_step() {
    let table = table(whole(), "phases");
    // Forward: half of 20 ms, × 33 ÷ 20; at most 1 ÷ 0.5.
    assert_eq!(texts(table, "forward")[..2], ["10.2 ms", "50.0"]);
    is_near(value(table, "forward", 5), 1.65);
    is_near(value(table, "forward", 6), 2.0);
    is_near(value(table, "optimizer", 6), 1.0 / 0.95);
    assert_eq!(texts(table, "mean step")[1], "100.0");
    assert_eq!(texts(table, "mean step")[5..], ["–"]);
}

#[test]
fn steps_of_other_size_are_held_against_each_other_by_sample() {
    let mut set = results();
    set.plan.cells[3].spec["train"]["batch-size"] = 64.into();
    let all = sections(&set, "before", "after");
    let table = table(&all, "phases");
    // 33 ÷ 64 against 20 ÷ 32.
    is_near(value(table, "mean step", 5), 33.0 / 64.0 / (20.0 / 32.0));
    assert_starts_with(&table.about, "Mean times of a sample");
}

#[test]
fn time_to_the_loss_that_both_reach() {
    let all = whole();
    let table = table(all, "summary");
    let name = "training until the loss that both reach (val_loss ≤ 0.7000)";
    // Before reaches 0.7 in epoch 4 of 4, after in epoch 3: 2.0 and 3.3 × 3 ÷ 4, × 1.025.
    assert_eq!(texts(table, name)[..3], ["2.05 s", "2.54 s", "1.238×"]);
    assert_eq!(texts(table, name)[3], "1.24× slower");
}

#[test]
fn a_target_that_a_side_does_not_reach_is_not_reached() {
    let mut set = results();
    set.plan.report = serde_json::json!({"target": [{"metric": "val_loss", "value": 0.65}]});
    let all = sections(&set, "before", "after");
    let texts = texts(table(&all, "summary"), "training until val_loss ≤ 0.6500");
    assert_eq!(texts[..3], ["not reached: best 0.7000", "2.54 s", "–"]);
}

#[test]
fn what_was_measured_on_neither_side_has_no_row() {
    let mut set = results();
    set.change_times(|_, times| {
        times.checkpoint_bytes = None;
        times.assessment_s = None;
        times.peak_validation_bytes = None;
    });
    set.epochs
        .iter_mut()
        .for_each(|row| row.epoch.validation.clear());
    let all = sections(&set, "before", "after");
    let names = names(table(&all, "summary"));
    assert!(!names.contains(&"verification and selection"), "{names:?}");
    assert!(!names.contains(&"validation, whole run"), "{names:?}");
    // A section about cells that do not exist is left out.
    let nothing = ["search"];
    assert!(all.iter().all(|section| !nothing.contains(&&*section.id)));
}

#[test]
fn cost_is_core_time_times_the_assumed_price() {
    let mut set = results();
    set.plan.cost = serde_json::json!({"core-hour": 2.0, "gpu-hour": null, "currency": "credits"});
    for run in &mut set.blocks {
        run.exclusive = false;
    }
    let all = sections(&set, "before", "after");
    let table = table(&all, "summary");
    // Two threads kept: 2 × 4.1 s × 1.025 = 8.405 core-s, of 2 credits an hour: 0.004669.
    let price = texts(table, "price of a training run");
    assert_eq!(price[0], "0.00467 credits");
}

#[test]
fn a_value_that_changes_a_part_of_another_is_no_comparison_of_its_own() {
    let set = results();
    let values = ["network", "validation", "after"];
    let all = values.map(|value| compared(&set, "before", value)).to_vec();
    let names = |all: Vec<Comparison>| -> Vec<String> {
        let whole = without_contained_comparisons(all).into_iter();
        whole.map(|comparison| comparison.after.name).collect()
    };
    assert_eq!(names(all.clone()), ["after"]);
    assert_eq!(names(all[..2].to_vec()), ["network", "validation"]);
}
