//! Tests of statements that reports once got wrong, each with results that would show the mistake again.

use serde_json::json;

use super::scaling::sizes;
use crate::base::statistics;
use crate::event::Status;
use crate::report::Report;
use crate::report::measure::Measure;
use crate::report::view::View;
use crate::results::golden::ddpm;
use crate::results::testing::{assert_contains, assert_ends_with, assert_starts_with};
use crate::results::{self, ResultSet, TIMINGS_COLUMNS, value};

/// The sentences of the section `id`.
fn points(report: &Report, id: &str) -> String {
    let mut sections = report.themes.iter().flat_map(|theme| &theme.sections);
    let found = sections.find(|section| section.id == id).expect(id);
    found.points.join("\n")
}

/// The second cell has the runs of the first: cells that ask for the same run share it.
fn shared() -> ResultSet {
    let mut set = ddpm();
    let keys: Vec<String> = set.plan.cells.iter().map(|cell| cell.key.clone()).collect();
    for (place, run) in set.blocks.iter_mut().enumerate() {
        run.session = Some("2026-11-21T09:30:00Z".into());
        (run.start_s, run.wall_s) = (Some(100.0 * place as f64), Some(36.0));
    }
    let own = set.blocks.iter().filter(|run| run.key == keys[0]);
    let mut runs: Vec<_> = own.cloned().collect();
    for run in &mut runs {
        run.key.clone_from(&keys[1]);
    }
    set.blocks.retain(|run| run.key != keys[1]);
    set.blocks.extend(runs);
    set.plan.cells[1].cell_hash = set.plan.cells[0].cell_hash.clone();
    set.timings = results::timings(&set.blocks);
    set
}

#[test]
fn d2_a_columns_unit_is_its_values_unit() {
    let set = ddpm();
    let view = View::of(&set);
    for name in TIMINGS_COLUMNS.iter().chain(&["best_loss", "val_loss"]) {
        let measure = Measure::of(name);
        for cell in &view.cells {
            if let Some(number) = measure.number(cell) {
                assert_eq!(measure.heading().unit, number.unit, "{name}");
            }
        }
    }
    // If one cell has no whole epoch, speed-ups are ratios of throughputs, not of epoch times.
    let mut set = set;
    let first = set.plan.cells[0].key.clone();
    for run in set.blocks.iter_mut().filter(|run| run.key == first) {
        run.times_mut().expect("a measured run").epoch_s = None;
    }
    set.timings = results::timings(&set.blocks);
    let report = Report::of(&set);
    let speed = report.table_or_panic("speed");
    let [pace, ratio] = ["throughput", "speed-up"].map(|heading| speed.column_index_of(heading));
    assert_eq!(speed.columns[pace].unit, "samples/s");
    let told = &speed.columns[ratio].provenance;
    assert_eq!(told, "derived (throughput ÷ that of the baseline)");
    let median = |key: &str| {
        let timing = set.timings.iter().find(|timing| timing.key == key);
        timing.expect("a timing").values["samples_per_s"].median
    };
    // Ratios are computed from the runs, because `timings.csv` has rounded medians.
    let of_runs = |key: &str| {
        let runs = set.blocks.iter().filter(|run| run.key == key);
        let values: Vec<f64> = runs.filter_map(|run| value(run, "samples_per_s")).collect();
        statistics::median(&values).expect("runs")
    };
    let all = speed.rows.iter().map(|row| of_runs(&row.key));
    let slowest = all.fold(f64::INFINITY, f64::min);
    for row in &speed.rows {
        assert_eq!(row.fields[pace].value, Some(median(&row.key)));
        assert_eq!(row.fields[ratio].value, Some(of_runs(&row.key) / slowest));
    }
}

#[test]
fn d6_numerator_and_denominator_of_a_rate_cover_the_same_window() {
    let mut set = ddpm();
    set.plan.report =
        json!({ "targets": [{ "name": "cores", "column": "core_share", "min": 0.8 }] });
    // The CPU seconds include profiled steps, the worker's wall seconds do not: 2.17 of 2 cores seem busy.
    for run in &mut set.blocks {
        run.cpu_s = run.times.as_deref().map(|times| times.total_s * 2.17);
        run.wall_s = None;
    }
    let report = Report::of(&set);
    let target = report.table_or_panic("targets").rows[0].missing.clone();
    assert!(target.is_some_and(|why| why.starts_with("not measured")));
    // The wall seconds of the whole process include profiled steps, too.
    for run in &mut set.blocks {
        run.wall_s = run.times.as_deref().map(|times| times.total_s * 1.2);
    }
    let report = Report::of(&set);
    // 2.17 ÷ 1.2 of 2 cores.
    assert_eq!(
        report.table_or_panic("targets").texts("measured"),
        ["90.4 %"]
    );
}

/// Results for several dataset sizes; the larger the dataset, the fewer epochs were trained.
fn sizes_of_other_epochs() -> ResultSet {
    let mut set = sizes();
    for (index, info) in set.plan.cells.iter().enumerate() {
        for row in set.runs.iter_mut().filter(|row| row.key == info.key) {
            row.facts.as_mut().expect("facts").epochs = 160 >> index;
        }
        let seconds = 0.01 * f64::from(1 << index) * [1.01, 0.99, 1.0, 1.02, 0.98][index];
        for run in set.blocks.iter_mut().filter(|run| run.key == info.key) {
            run.times_mut().expect("a measured run").epoch_s = Some(seconds);
        }
    }
    set.timings = results::timings(&set.blocks);
    set
}

#[test]
fn d7_a_ratio_has_one_definition_among_the_times_and_beside_its_prediction() {
    let mut set = ddpm();
    let axes = |place: usize| {
        let values = set.plan.axes.iter().zip(&set.plan.cells[place].axes);
        let values = values.map(|(axis, value)| (axis.name.clone(), json!(value)));
        serde_json::Value::Object(values.collect())
    };
    set.plan.report = json!({
        "baseline": axes(0),
        "predictions": [{
            "rule": "workers", "setting": "loader.workers", "from": "0", "to": "4", "origin": "any",
            "against": axes(0), "cell": axes(1), "column": "samples_per_s", "claim": "gain",
            "predicted": 1.1, "low": 1.05, "high": 1.15, "reasoning": "planted",
        }],
    });
    // Medians 9.5 and 9.99, a ratio of 1.05; the median of the pairs' ratios is 1.00.
    let planted = [[8.1, 10.3, 9.5], [10.07, 9.99, 9.1]];
    let keys: Vec<String> = set.plan.cells.iter().map(|cell| cell.key.clone()).collect();
    for run in &mut set.blocks {
        let place = keys[..2].iter().position(|key| *key == run.key);
        let block = run.block;
        let Some(times) = run.times_mut() else {
            continue;
        };
        times.epoch_s = None;
        if let Some(place) = place {
            times.samples_per_s = planted[place][block];
        }
    }
    set.timings = results::timings(&set.blocks);
    let report = Report::of(&set);
    let speed = report.table_or_panic("speed");
    let place = speed.rows.iter().position(|row| row.key == keys[1]);
    let speed_up = &speed.column("speed-up")[place.expect("a measured cell")];
    let measured = &report.table_or_panic("predictions").column("measured")[0];
    assert_eq!((&*speed_up.text, &*measured.text), ("1.05×", "1.05×"));
    assert_eq!(speed_up.value, measured.value);
}

#[test]
fn d9_training_that_ends_by_itself_is_not_carried_on_but_its_epochs_are() {
    let report = Report::of(&sizes_of_other_epochs());
    let scaling = report.table_or_panic("scaling");
    let times = scaling.texts("time");
    let carried = scaling.column("extrapolated, not measured");
    assert_eq!(times, ["training", "epoch"]);
    assert_eq!((&*carried[0].text, carried[0].value), ("–", None));
    assert!(carried[1].interval.is_some(), "{carried:?}");
}

#[test]
fn d9_fewer_epochs_are_not_taken_for_growth_below_proportional() {
    let report = Report::of(&sizes_of_other_epochs());
    let answer = report.answer.sentences.join(" ");
    assert!(!answer.contains("Training time grows"), "{answer}");
    assert!(answer.starts_with("Epoch time grows"), "{answer}");
    assert!(answer.contains(" after 10 to 160 epochs, grows to the power of"));
    let verdicts = points(&report, "section-scaling");
    assert_contains(&verdicts, " after 10 to 160 epochs, grows to the power of");
    let equal = points(&Report::of(&sizes()), "section-scaling");
    assert!(equal.contains("Training time grows with the number of samples to the power of 0.801"));
}

#[test]
fn d10_runs_that_cells_share_are_counted_once_everywhere() {
    let mut set = shared();
    set.plan.cost = json!({ "core-hour": 0.05 });
    // A run that belongs to one cell only.
    let (alone, mut runs) = (set.plan.cells[2].key.clone(), set.blocks.iter_mut());
    runs.find(|run| run.key == alone).expect("a run").exclusive = false;
    let report = Report::of(&set);
    // Eight cells of three runs; two of the cells share theirs.
    assert!(report.summary.contains("; 21 runs"), "{}", report.summary);
    let measured = points(&report, "measured");
    assert_contains(
        &measured,
        "1 of 21 runs shared the machine with another run of Fieldtrial",
    );
    assert_eq!(report.environments[0].runs, 21);
    let cost = report.table_or_panic("cost");
    assert_eq!(cost.texts("runs").last().map(|text| &**text), Some("21"));
}

#[test]
fn d13_counted_facts_that_differ_by_seed_are_medians_with_their_range() {
    let mut set = ddpm();
    let key = set.plan.cells[0].key.clone();
    let golden = set.runs[0].clone();
    set.runs.retain(|row| row.key != key);
    for (seed, flops) in [(42, 4e6), (43, 2e6), (44, 3e6)] {
        let mut row = golden.clone();
        row.seed = seed;
        let facts = row.facts.as_mut().expect("facts");
        (
            facts.flops_forward_per_sample,
            facts.flops_backward_per_sample,
        ) = (flops, 2.0 * flops);
        set.runs.push(row);
    }
    let report = Report::of(&set);
    let complexity = report.table_or_panic("complexity");
    let flops = &complexity.column("FLOPs per sample")[0];
    assert_eq!(flops.text, "9.00 MFLOP");
    assert_starts_with(&flops.detail, "6.00 MFLOP–12.0 MFLOP");
    let speed = set.timings[0].values["samples_per_s"].median;
    // No figure rests on the first seed alone.
    for table in report.themes.iter().flat_map(|theme| &theme.sections) {
        for table in &table.tables {
            if table.columns.iter().any(|one| one.heading == "achieved")
                && table.id != "operations-1"
            {
                assert_eq!(
                    table.column("achieved")[0].value,
                    Some(speed * 9e6),
                    "{}",
                    table.id
                );
            }
        }
    }
}

#[test]
fn d14_a_maximum_over_choices_on_the_split_that_chose_says_so() {
    let mut set = ddpm();
    set.plan.report = json!({ "answer": ["val_accuracy"] });
    for (place, facts) in set
        .runs
        .iter_mut()
        .filter_map(|row| row.facts.as_mut())
        .enumerate()
    {
        let accuracy = 0.8 + 0.01 * place as f64;
        facts.metrics.insert("val_accuracy".into(), Some(accuracy));
        facts
            .metrics
            .insert("test_accuracy".into(), Some(accuracy - 0.1));
    }
    let answer = Report::of(&set).answer.sentences;
    let expected = "The best value is optimistic: it was chosen among 7 cells on the same validation split; \
                    on the test split, which was used for no choice, its accuracy is 0.7600.";
    assert_eq!(answer.last().map(|last| &**last), Some(expected));
    set.plan.report = json!({ "answer": ["best_loss"] });
    let answer = Report::of(&set).answer.sentences.join(" ");
    assert_contains(
        &answer,
        "chosen among 7 cells of up to 4 epochs each on the same validation split",
    );
    set.plan.report = json!({ "answer": ["samples_per_s"] });
    let answer = Report::of(&set).answer.sentences.join(" ");
    assert!(
        !answer.contains("optimistic"),
        "a time is no quality: {answer}"
    );
}

#[test]
fn d15_an_estimate_that_is_far_off_is_a_finding() {
    let mut set = ddpm();
    for run in &mut set.blocks {
        (run.wall_s, run.estimated_s) = (Some(52.0), Some(1.0));
    }
    let report = Report::of(&set);
    let is_far = |finding: &&crate::report::Finding| finding.rule == "estimate-far-off";
    let found = report.findings.iter().find(is_far).expect("a finding");
    assert!(found.text.contains("52.0×"), "{}", found.text);
}

#[test]
fn a_cell_that_lost_runs_is_told() {
    let mut set = ddpm();
    let key = set.runs[0].key.clone();
    let name = set.runs.iter().filter(|run| run.key == key).count();
    assert_eq!(name, 1, "one seed");
    let mut lost = set.runs[0].clone();
    (lost.seed, lost.status, lost.facts) = (lost.seed + 1, Status::Diverged, None);
    set.runs.push(lost);
    let findings = Report::of(&set).findings;
    let found = findings
        .iter()
        .find(|finding| finding.rule == "failed-runs");
    assert_contains(&found.expect("a finding").text, "(of 2 seeds 1 diverged)");
}

#[test]
fn weights_that_are_worse_than_those_of_the_best_epoch_are_told() {
    let told_with = |kept: f64, stopping: Option<serde_json::Value>| {
        let mut set = ddpm();
        for info in &mut set.plan.cells {
            info.spec["train"]["early-stopping"] = stopping.clone().into();
        }
        for facts in set.runs.iter_mut().filter_map(|run| run.facts.as_mut()) {
            let best = facts.best_loss.expect("a loss");
            facts.metrics.insert("val_loss".into(), Some(kept * best));
        }
        let findings = Report::of(&set).findings;
        findings
            .into_iter()
            .any(|finding| finding.rule == "overtrained")
    };
    let told = |kept| told_with(kept, None);
    assert!(told(1.2));
    assert!(!told(1.05));
    let own = json!({ "patience": 3, "restore-best": false });
    assert!(!told_with(1.2, Some(own)));
}

#[test]
fn d17_the_time_of_an_epoch_that_was_cut_short_is_extrapolated_and_marked() {
    let mut set = ddpm();
    for info in &mut set.plan.cells {
        info.spec["train"]["steps-per-epoch"] = 6.into();
        info.whole_epoch_steps = Some(82);
    }
    set.change_times(|_, times| times.epoch_s = None);
    let report = Report::of(&set);
    let speed = report.table_or_panic("speed");
    let epochs_heading = "whole epoch, extrapolated, not measured";
    let epochs = speed.column(epochs_heading);
    for (field, timing) in epochs.iter().zip(&set.timings) {
        let step = timing.values["step_mean_ms"];
        let seconds = |ms: f64| 82.0 * ms / 1e3;
        assert_eq!(field.value, Some(seconds(step.median)));
        assert_eq!(
            field.interval,
            Some((seconds(step.low), seconds(step.high)))
        );
        assert_ends_with(&field.detail, "not measured: 6 of 82 steps");
    }
    assert_contains(&speed.about, "without validation");
    // A single run gives no error estimate.
    let mut alone = set.clone();
    alone.blocks.retain(|run| run.block == 0);
    alone.timings = results::timings(&alone.blocks);
    let shown = &Report::of(&alone)
        .table_or_panic("speed")
        .column(epochs_heading)[0];
    assert_eq!((shown.value, &*shown.text), (None, "–"), "{shown:?}");
    // Without any whole epoch the column would have only dashes, so it is left out.
    let headings = speed.columns.iter().map(|column| &*column.heading);
    assert!(!headings.collect::<Vec<_>>().contains(&"epoch"));
}
