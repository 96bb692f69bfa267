//! The rules of [`super::super::evidence`] and R12, R18, shown to fail on planted violations.

use std::collections::HashMap;

use super::super::subject::{Subject, printed};
use super::{broken, caught, caught_in, caught_in_template, caught_in_template_of, told};
use crate::report::Report;
use crate::report::table::{Column, ColumnKind, Entry};
use crate::results::golden::ddpm;
use crate::results::testing::assert_ends_with;
use crate::results::{self, ResultSet, Status};

#[test]
fn r9_dispersion() {
    caught_in("R9", |report| {
        let fields = report
            .shown_mut("speed")
            .rows
            .iter_mut()
            .flat_map(|row| &mut row.fields);
        fields.for_each(|field| field.interval = None);
    });
    told(
        |set| {
            set.blocks.retain(|run| run.block == 0);
            set.timings = results::timings(&set.blocks);
        },
        "n = 1",
    );
    caught("R9", |set| {
        for interval in set
            .timings
            .iter_mut()
            .flat_map(|row| row.values.values_mut())
        {
            interval.kind = results::IntervalKind::Single;
        }
    });
}

#[test]
fn r10_extrapolation() {
    let mut set = crate::report::tests::scaling::sizes();
    assert_eq!(broken("R10", &Subject::of(&set)), [""; 0]);
    let report = Report::of(&set);
    for plant in [
        |column: &mut Column, _: &mut Entry| column.provenance = "measured (n = 5)".into(),
        |_: &mut Column, entry: &mut Entry| entry.interval = None,
    ] {
        let mut planted = report.clone();
        let table = planted.shown_mut("scaling");
        let last = table.columns.len() - 1;
        plant(&mut table.columns[last], &mut table.rows[0].fields[last]);
        assert!(!broken("R10", &Subject::with(&set, &planted, None)).is_empty());
    }
    // A fit to two sizes has no error estimate, so nothing is extrapolated.
    set.plan.cells.truncate(2);
    let report = Report::of(&set);
    let scaling = report.table_or_panic("scaling");
    assert_eq!(
        scaling.rows[0].fields.last().map(|entry| &*entry.text),
        Some("–")
    );
}

#[test]
fn r11_environment() {
    let lacks = |set: &mut ResultSet| {
        for environment in set.environments.values_mut() {
            environment.must_match.remove("cpu_model");
        }
    };
    caught("R11", lacks);
    told(lacks, "of environment 5f3a9c01 is unknown: cpu model");
    let mut set = ddpm();
    lacks(&mut set);
    for file in ["macros.md.j2", "macros.html.j2"] {
        caught_in_template_of(&set, "R11", file, ("{{ reason }}", ""));
    }
}

#[test]
fn r12_numbers_and_letters() {
    for (from, to) in [
        ("{{ report.summary }}.", "{{ -0.0 }} of all"),
        ("{{ title }}", "{{ title|replace(\"D\", \"\u{fffd}\") }}"),
    ] {
        for file in ["macros.md.j2", "macros.html.j2"] {
            caught_in_template("R12", file, from, to);
        }
    }
    caught_in("R12", |report| {
        report.shown_mut("speed").rows[0].fields[2] = Entry::value(3.5, "3.5");
    });
    told(
        |set| set.plan.title = "Größe 10 µs – 深".into(),
        "Größe 10 µs – 深",
    );
}

/// The golden results along the number of workers as a treatment.
fn treatment(set: &mut ResultSet) {
    set.plan.compare = serde_json::json!({ "treatment": "workers" });
}

#[test]
fn r13_factors_of_a_treatment() {
    told(treatment, "workers 4 instead of 0");
    let further = |set: &mut ResultSet| {
        treatment(set);
        set.plan.cells[1].spec["train"] = serde_json::json!({ "batch-size": 8, "clip": 2.0 });
    };
    caught("R13", further);
    told(further, "train.clip");
    let mut set = ddpm();
    set.plan.compare = serde_json::json!({ "treatment": "variant" });
    let sets = [("train.clip".to_owned(), serde_json::json!(2.0))];
    set.plan.variants.insert("after".into(), sets.into());
    assert_eq!(broken("R13", &Subject::of(&set)), [""; 0]);
    let mut silent = Report::of(&set);
    silent.themes.retain(|theme| theme.id != "treatments");
    assert!(!broken("R13", &Subject::with(&set, &silent, None)).is_empty());
}

#[test]
fn r14_direction() {
    caught_in("R14", |report| {
        let mut columns = report.shown_mut("speed").columns.iter_mut();
        let ratio = columns.find(|column| column.provenance.contains("baseline"));
        ratio.expect("a ratio").provenance = "derived (ratio)".into();
    });
}

#[test]
fn r15_runs_side_by_side() {
    let plant = |set: &mut ResultSet| {
        for run in &mut set.blocks {
            run.exclusive = false;
        }
    };
    caught("R15", plant);
    told(
        plant,
        "24 of 24 runs shared the machine with another run of Fieldtrial",
    );
}

#[test]
fn r16_cost() {
    let mut set = ddpm();
    set.plan.cost = serde_json::json!({ "core-hour": 0.05 });
    assert_eq!(broken("R16", &Subject::of(&set)), [""; 0]);
    // A report of only the finished runs, checked against all runs.
    let mut done = set.clone();
    done.blocks.retain(|run| run.status == Status::Done);
    assert!(done.blocks.len() < set.blocks.len());
    let report = Report::of(&done);
    assert!(!broken("R16", &Subject::with(&set, &report, None)).is_empty());
}

#[test]
fn r17_utilisation() {
    caught_in("R17", |report| {
        let place = report.shown_mut("phases").columns.len() - 1;
        report.shown_mut("phases").columns[place] =
            Column::derived("GPU", "%", "forward and backward phase ÷ step")
                .with_kind(ColumnKind::Utilisation);
    });
}

#[test]
fn r18_only_the_data() {
    for trace in ["2026-11-21T10:42:07", "at 10:42:07", "/home/user/x"] {
        caught_in_template("R18", "macros.md.j2", "{{ report.summary }}.", trace);
    }
    let texts = |report: &Report| -> Vec<String> {
        printed(report, None)
            .into_iter()
            .map(|text| text.whole)
            .collect()
    };
    // Rows in another order are the same data.
    let mut turned = ddpm();
    turned.runs.reverse();
    turned.epochs.reverse();
    turned.blocks.reverse();
    turned.timings.reverse();
    let (honest, turned) = (Report::of(&ddpm()), Report::of(&turned));
    assert_eq!(honest, turned);
    assert_eq!(texts(&honest), texts(&turned));
    // The check notices a section that iterates over a hash map.
    let unordered = || {
        let map: HashMap<usize, usize> = (0..64).map(|i| (i, i)).collect();
        let mut report = honest.clone();
        report
            .answer
            .sentences
            .push(format!("{:?}", map.keys().collect::<Vec<_>>()));
        texts(&report)
    };
    assert_ne!(unordered(), unordered());
}

#[test]
fn failed_runs_stay_in_the_counts() {
    let set = ddpm();
    let failed = set
        .blocks
        .iter()
        .filter(|run| run.status == Status::Oom)
        .count();
    let summary = Report::of(&set).summary;
    assert_ends_with(&summary, format!("{failed} of them failed"));
}
