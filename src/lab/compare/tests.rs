use super::facts::ACROSS_CLASSES;
use super::golden::{batch_sizes, branch_side, branches, main_side};
use super::*;
use crate::plan::CellFilter;
use crate::results::Status;
use crate::results::testing::assert_contains;

fn cell<'c>(comparison: &'c Comparison, label: &str) -> &'c CellPair {
    let found = comparison.cells.iter().find(|cell| cell.label == label);
    found.unwrap_or_else(|| panic!("no {label} in {:?}", labels(comparison)))
}

fn labels(comparison: &Comparison) -> Vec<&str> {
    comparison.cells.iter().map(|cell| &*cell.label).collect()
}

fn reasons(pair: &CellPair) -> &[NotComparableReason] {
    match &pair.judgement.verdict {
        Verdict::NotComparable(reasons) => reasons,
        _ => &[],
    }
}

fn between(before: Side, after: Side) -> Comparison {
    Comparison::between(before, after, &Options::default()).expect("a comparison")
}

/// The side before, measured again.
fn again() -> Side {
    let mut side = main_side();
    for row in &mut side.set.blocks {
        row.start_s = row.start_s.map(|start| start + 15.0);
    }
    side
}

#[test]
fn added_removed_and_changed_cells_are_listed() {
    let comparison = branches();
    let keys = |cells: &[crate::results::CellInfo]| -> Vec<String> {
        cells.iter().map(|cell| cell.key.clone()).collect()
    };
    assert_eq!(
        keys(&comparison.added),
        ["model=unet,device=cpu,batch-size=128,workers=0"]
    );
    assert_eq!(
        keys(&comparison.removed),
        ["model=unet,device=cpu,batch-size=8,workers=4"]
    );
    assert_eq!(comparison.axes.len(), 1);
    assert_eq!(comparison.axes[0].added, ["128"]);
    let changed = cell(&comparison, "batch-size 64, workers 0");
    let paths: Vec<&str> = changed.changes.iter().map(|c| &*c.path).collect();
    assert_eq!(paths, ["train.optimizer.kind", "train.optimizer.lr"]);
    let columns: Vec<&str> = changed.facts.iter().map(|fact| &*fact.column).collect();
    assert_eq!(columns, ["final_loss", "weight_checksum"]);
    let relative = changed.facts[0].relative.expect("numbers");
    assert!((relative - 0.02).abs() < 1e-8 && !changed.facts[0].is_within);
    let same = cell(&comparison, "batch-size 32, workers 0");
    assert!(same.facts.is_empty() && same.changes.is_empty() && same.compared_rows == 1);
}

#[test]
fn runs_of_one_session_are_paired_and_those_of_two_are_not() {
    let comparison = branches();
    let pair = cell(&comparison, "batch-size 8, workers 0");
    assert_eq!(pair.judgement.design, Design::Interleaved);
    assert_eq!(pair.judgement.runs, (12, 12));
    let (old, new) = (
        pair.sample_ms.0.expect("a time"),
        pair.sample_ms.1.expect("a time"),
    );
    assert!((new / old - 1.12).abs() < 0.02, "{}", new / old);
    let mut later = branch_side();
    for row in &mut later.set.blocks {
        row.session = Some("2026-11-22T09:30:00Z".into());
    }
    let apart = between(main_side(), later);
    let pair = cell(&apart, "batch-size 8, workers 0");
    assert_eq!(pair.judgement.design, Design::Sessions);
    let mut unknown = branch_side();
    for row in &mut unknown.set.blocks {
        row.session = None;
    }
    let apart = between(main_side(), unknown);
    assert_eq!(apart.cells[0].judgement.design, Design::Sessions);
}

#[test]
fn cells_that_were_not_measured_draw_nothing() {
    let comparison = branches();
    let cuda = cell(&comparison, "cuda, batch-size 8, workers 0");
    assert_eq!(
        reasons(cuda),
        [NotComparableReason::NotMeasured(true, true)]
    );
    assert!(cuda.facts.is_empty() && cuda.compared_rows == 0 && cuda.timings.is_empty());
}

#[test]
fn unchanged_results_are_compared_by_their_facts_only() {
    let comparison = between(main_side(), main_side());
    let pair = &comparison.cells[0];
    assert_eq!(reasons(pair), [NotComparableReason::SameRuns]);
    assert!(pair.compared_rows == 1 && pair.facts.is_empty());
    assert!(reasons(&between(main_side(), again()).cells[0]).is_empty());
}

#[test]
fn verdicts_follow_the_times() {
    let comparison = branches();
    let verdict = |label: &str| cell(&comparison, label).judgement.verdict.clone();
    assert_eq!(verdict("batch-size 8, workers 0"), Verdict::Slower);
    assert_eq!(verdict("batch-size 16, workers 4"), Verdict::Faster);
    assert_eq!(verdict("batch-size 64, workers 0"), Verdict::Same);
    // The interval of this cell reaches 2.3 % from 1, and an effect of 2.2 % would have been detected.
    let wide = Verdict::Unclear(UnclearReason::WideInterval);
    assert_eq!(verdict("batch-size 32, workers 0"), wide);
    let matrix = comparison.matrix.expect("several cells");
    assert_eq!(matrix.cells, 6);
    let side = |name: &str| {
        let mut side = branch_side();
        side.set.plan.compare = serde_json::json!({"threshold": 0.2});
        side.name = name.into();
        side
    };
    let lax = between(main_side(), side("lax"));
    let judgement = &cell(&lax, "batch-size 8, workers 0").judgement;
    assert_eq!(judgement.verdict, Verdict::Same);
    assert_eq!(judgement.threshold.source, ThresholdSource::Manifest);
}

#[test]
fn a_status_that_changes_is_a_fact() {
    let mut after = again();
    after.set.runs[0].status = Status::Diverged;
    let comparison = between(main_side(), after);
    let fact = &comparison.cells[0].facts[0];
    assert_eq!(
        (&*fact.column, &*fact.before, &*fact.after),
        ("status", "done", "diverged")
    );
    assert_eq!(comparison.cells[0].compared_rows, 1);
}

#[test]
fn rows_of_other_code_draw_no_verdict() {
    let mut after = again();
    after.set.plan.cells[1].code_hash = Some("0ther0ther".into());
    let comparison = between(main_side(), after);
    let pair = &comparison.cells[1];
    assert_eq!(pair.other_code, (false, true));
    assert_eq!(reasons(pair), [NotComparableReason::OtherCode(false, true)]);
    assert_eq!(pair.compared_rows, 0);
    assert!(reasons(&comparison.cells[0]).is_empty());
}

#[test]
fn threads_and_exclusive_runs_must_agree() {
    let mut after = again();
    for row in &mut after.set.blocks {
        row.exclusive = false;
        if let Some(times) = row.times_mut() {
            times.threads = 4;
        }
    }
    let comparison = between(main_side(), after);
    let expected = [
        NotComparableReason::Threads("2".into(), "4".into()),
        NotComparableReason::Exclusive(true, false),
    ];
    assert_eq!(reasons(&comparison.cells[0]), expected);
}

#[test]
fn steps_that_only_one_side_told_are_not_compared_with_runs() {
    let of_program = |mut side: Side| {
        for cell in &mut side.set.plan.cells {
            cell.spec["model"] = serde_json::json!({"kind": "command"});
        }
        side
    };
    let mut before = of_program(main_side());
    for row in &mut before.set.blocks {
        if let Some(times) = row.times_mut() {
            (times.measured_steps, times.total_s) = (None, 10.0);
            (times.step_ms, times.samples_per_s) = (0.0, 0.0);
        }
    }
    let comparison = between(before, of_program(again()));
    let pair = &comparison.cells[0];
    assert_eq!(reasons(pair), [NotComparableReason::Steps(false, true)]);
    assert!(pair.judgement.ratio.is_none());
}

#[test]
fn different_work_has_no_ratio_unless_it_is_the_treatment() {
    let other_work = |side: &mut Side| {
        for cell in &mut side.set.plan.cells {
            if cell.axes[2] == "16" {
                cell.work_signature = "beef0003".into();
                cell.spec["loss"] = serde_json::json!({"kind": "mae"});
            }
        }
    };
    let mut side = main_side();
    side.set.plan.cells[0].spec["loss"] = serde_json::json!({"kind": "mse"});
    other_work(&mut side);
    let options = Options::default();
    let along = |side: &Side| {
        Comparison::along(side, "batch-size", ("8", "16"), &options).expect("a comparison")
    };
    let parts = vec!["loss.kind: mse → mae".to_owned()];
    let pair = &along(&side).cells[0];
    assert_eq!(pair.work, Work::Different(parts.clone()));
    assert_eq!(reasons(pair), [NotComparableReason::Work(parts.clone())]);
    side.set.plan.compare = serde_json::json!({"treatment": "train.batch-size"});
    let pair = &along(&side).cells[0];
    assert_eq!(pair.work, Work::Treatments(parts));
    assert!(reasons(pair).is_empty());
}

#[test]
fn along_an_axis_times_are_by_sample() {
    let comparison = batch_sizes();
    assert_eq!(labels(&comparison), ["workers 0", "workers 4"]);
    let pair = &comparison.cells[0];
    assert_eq!(pair.matched, MatchedBy::OtherAxes);
    assert_eq!(pair.changes[0].path, "train.batch-size");
    let timing = |column: &str| pair.timings.iter().find(|timing| timing.column == column);
    let step = timing("step_ms").expect("a timing");
    assert!(step.is_per_sample);
    assert!(Some(step.medians.0) == pair.sample_ms.0);
    assert!(!timing("epoch_s").expect("a timing").is_per_sample);
    assert!(timing("transfer_ms").is_none(), "zero has no ratio");
    assert_eq!(comparison.along.as_deref(), Some("batch-size"));
    assert_eq!(comparison.before.name, "batch-size 8");
}

#[test]
fn wrong_axes_and_values_name_the_nearest() {
    let options = Options::default();
    let say = |axis: &str, after: &str| {
        let error = Comparison::along(&main_side(), axis, ("8", after), &options);
        error.expect_err("a mistake").to_string()
    };
    assert!(say("batchsize", "16").contains("did you mean `batch-size`?"));
    let said = say("batch-size", "12");
    assert_contains(&said, "axis `batch-size` has no value `12`");
}

#[test]
fn only_chooses_pairs_and_unpaired_cells() {
    let only = |text: &str| Options {
        only: Some(CellFilter::parse(text).expect("a selection")),
        ..Options::default()
    };
    let options = only("batch-size=32|128");
    let comparison =
        Comparison::between(main_side(), branch_side(), &options).expect("a comparison");
    assert_eq!(labels(&comparison), ["workers 0", "workers 4"]);
    assert_eq!((comparison.added.len(), comparison.removed.len()), (1, 0));
    let error = Comparison::between(main_side(), branch_side(), &only("batchsize=8"));
    assert!(
        error
            .expect_err("a mistake")
            .to_string()
            .contains("batch-size")
    );
}

#[test]
fn tolerances_hold_within_their_column_and_across_classes() {
    let mut after = again();
    for row in &mut after.set.runs {
        if let Some(facts) = &mut row.facts {
            facts.final_loss = facts.final_loss.map(|loss| loss * 1.0005);
            facts.weight_checksum = "other".into();
            facts.best_epoch = Some(2);
        }
    }
    let columns = |comparison: &Comparison| -> Vec<(String, bool)> {
        let facts = comparison.cells[0].facts.iter();
        facts
            .map(|fact| (fact.column.clone(), fact.is_within))
            .collect()
    };
    let exact = between(main_side(), after.clone());
    assert_eq!(
        columns(&exact),
        [
            ("final_loss".to_owned(), false),
            ("best_epoch".to_owned(), false),
            ("weight_checksum".to_owned(), false)
        ]
    );
    after.set.plan.compare =
        serde_json::json!({"tolerance": {"final_loss": 0.001, "best_epoch": 1.0}});
    let declared = between(main_side(), after.clone());
    assert_eq!(
        columns(&declared),
        [
            ("final_loss".to_owned(), true),
            ("best_epoch".to_owned(), true)
        ]
    );
    after.set.plan.compare = serde_json::Value::Null;
    for cell in &mut after.set.plan.cells {
        cell.numeric_class = Some("aarch64 neon cpu".into());
    }
    let across = between(main_side(), after.clone());
    assert_eq!(columns(&across), [("final_loss".to_owned(), true)]);
    after.set.plan.cells = main_side().set.plan.cells;
    let mut before = main_side();
    for row in &mut before.set.runs {
        if let Some(facts) = &mut row.facts {
            facts.nondeterministic = "conv2d backward filter".into();
        }
    }
    let loose = between(before, after);
    assert!(columns(&loose).contains(&("final_loss".to_owned(), true)));
    assert!(
        !columns(&loose)
            .iter()
            .any(|(name, _)| name == "weight_checksum")
    );
    assert!((across.cells[0].facts[0].tolerance - ACROSS_CLASSES).abs() < 1e-12);
}

#[test]
fn the_baseline_of_the_treatment_is_the_side_before() {
    let compared = |compare: serde_json::Value, axis: &str, from: Option<&str>| {
        let mut side = main_side();
        side.set.plan.compare = compare;
        let options = Options::default();
        let all = Comparison::along_values(&side, axis, (from, None), &options);
        let names = all.expect("comparisons").into_iter();
        let names: Vec<[String; 2]> = names.map(|one| [one.before.name, one.after.name]).collect();
        names
    };
    let of_sizes = serde_json::json!({"treatment": "batch-size", "baseline": "16"});
    let sizes = compared(of_sizes.clone(), "batch-size", None);
    assert!(
        sizes.iter().all(|[before, _]| before == "batch-size 16"),
        "{sizes:?}"
    );
    assert!(
        sizes.iter().any(|[_, after]| after == "batch-size 8"),
        "{sizes:?}"
    );
    // The manifest's baseline is a value of its treatment, so along any other axis the first value is the side before.
    let workers = compared(of_sizes.clone(), "workers", None);
    assert_eq!(workers, [["workers 0", "workers 4"]]);
    let unknown = serde_json::json!({"treatment": "batch-size", "baseline": "17"});
    assert_eq!(compared(unknown, "batch-size", None)[0][0], "batch-size 8");
    assert_eq!(
        compared(of_sizes, "batch-size", Some("64"))[0][0],
        "batch-size 64"
    );
}
