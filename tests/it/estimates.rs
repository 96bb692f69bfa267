//! Estimated durations of runs, from runs with given times.

use std::sync::Arc;

use fieldtrial::event::{RunFacts, RunId, RunTimes, Status};
use fieldtrial::execute::{Decision, EstimateBasis, Estimator, ExpectedRunTime, RunReason};
use fieldtrial::plan::PlannedCell;
use fieldtrial::results::store::{RunConditions, Store, StoredRun};
use fieldtrial::results::testing::{conditions, plan};

const MANIFEST: &str = r#"
name = "tiny"
[models.mlp]
kind = "mlp"
[datasets.plane]
kind = "regression-5d"
[matrix]
"models.mlp.hidden" = [8, 16, 4096]
"datasets.plane.samples" = [100, 1000]
[train]
epochs = 2
batch-size = 10
"#;

/// Cells of 8, 16 and 4096 hidden units, each with 100 and 1000 samples.
fn cells() -> Vec<PlannedCell> {
    cells_of(MANIFEST)
}

fn cells_of(text: &str) -> Vec<PlannedCell> {
    plan(text, &[]).cells().collect()
}

/// Number of training samples of a run.
fn samples(cell: &PlannedCell) -> f64 {
    (cell.facts.train_samples * cell.spec.train.epochs) as f64
}

/// A run with 0.5 s of start-up, 1 s of training, 1 s of validation, and 1.5 s of expensive evaluation in block 0.
fn run(cell: &PlannedCell, block: usize, conditions: &RunConditions) -> StoredRun {
    let samples = samples(cell);
    let assessment_s = (block == 0).then_some(1.5);
    StoredRun {
        key: cell.spec.key.as_str().into(),
        keys: conditions.keys(cell, 42, block),
        hash_parts: StoredRun::hash_parts(cell).into(),
        work_signature: cell.work_signature.to_string().into(),
        kind: cell.spec.kind().into(),
        limits: Arc::default(),
        status: Status::Done,
        reason: String::new(),
        facts: Some(Arc::new(RunFacts {
            samples: samples as u64,
            steps: (samples / 10.0).ceil() as u64,
            flops_forward_per_sample: cell.flops_per_sample.expect("a formula"),
            ..RunFacts::default()
        })),
        times: Some(Arc::new(RunTimes {
            train_s: 1.0,
            validation_s: 1.0,
            assessment_s,
            ..RunTimes::default()
        })),
        epochs: Arc::default(),
        samples: Vec::new(),
        wall_s: 2.5 + assessment_s.unwrap_or(0.0),
        peak_rss_bytes: None,
        cpu_s: None,
        is_profiled: false,
        estimated_s: None,
        session: None,
        start_s: None,
    }
}

/// Stores below one folder, with their runs.
struct Results(tempfile::TempDir);

impl Results {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn store(&self, name: &str, runs: impl IntoIterator<Item = StoredRun>) -> Store {
        let mut store = Store::open(&self.0.path().join(name)).expect("a store");
        for run in runs {
            store.put(run).expect("a run");
        }
        store
    }
}

fn near(expected: Option<ExpectedRunTime>, seconds: f64, basis: EstimateBasis) {
    let found = expected.expect("an estimate");
    assert!((found.seconds - seconds).abs() < 1e-9, "{found:?}");
    assert_eq!(found.basis, basis);
}

#[test]
fn an_estimate_has_the_start_of_the_process_and_every_evaluation_in_it() {
    let (cells, conditions, results) = (cells(), conditions(), Results::new());
    let store = results.store(
        "a",
        [
            run(&cells[0], 0, &conditions),
            run(&cells[0], 1, &conditions),
        ],
    );
    let estimator = Estimator::new(&store, &conditions);
    near(
        estimator.expected_run_time(&cells[0], 0),
        4.0,
        EstimateBasis::SameCell,
    );
    near(
        estimator.expected_run_time(&cells[0], 1),
        2.5,
        EstimateBasis::SameCell,
    );
    // Ten times the samples: ten times the training and validation, one start-up, one expensive evaluation.
    let factor = samples(&cells[1]) / samples(&cells[0]);
    let rest = 0.5 + 2.0 * factor;
    near(
        estimator.expected_run_time(&cells[1], 0),
        rest + 1.5,
        EstimateBasis::SameKind,
    );
    near(
        estimator.expected_run_time(&cells[1], 1),
        rest,
        EstimateBasis::SameKind,
    );
}

#[test]
fn there_is_no_estimate_where_nothing_like_it_has_run_on_this_machine() {
    let (cells, conditions, results) = (cells(), conditions(), Results::new());
    let empty = results.store("a", []);
    assert_eq!(
        Estimator::new(&empty, &conditions).expected_run_time(&cells[0], 0),
        None
    );
    let elsewhere = RunConditions {
        env_id: "e15e3e1e".into(),
        ..conditions.clone()
    };
    let store = results.store("b", [run(&cells[0], 0, &elsewhere)]);
    let estimator = Estimator::new(&store, &conditions);
    assert_eq!(estimator.expected_run_time(&cells[0], 0), None);
    let id = |cell| RunId {
        cell,
        seed: 42,
        block: 0,
    };
    let decisions = [(id(0), Decision::Run(RunReason::New))];
    let total = estimator.total(&cells, &decisions);
    assert_eq!((total.seconds, total.unknown), (0.0, 1));
}

#[test]
fn a_cell_of_the_same_kind_tells_up_to_a_ratio_of_its_flops() {
    let (cells, conditions, results) = (cells(), conditions(), Results::new());
    let store = results.store("a", [run(&cells[0], 1, &conditions)]);
    let estimator = Estimator::new(&store, &conditions);
    let flops = |cell: usize| cells[cell].flops_per_sample.expect("a formula");
    let ratio = flops(2) / flops(0);
    assert!(ratio > 1.0 && ratio < 8.0, "{ratio}");
    near(
        estimator.expected_run_time(&cells[2], 1),
        0.5 + 2.0 * ratio,
        EstimateBasis::SameKind,
    );
    assert_eq!(estimator.expected_run_time(&cells[4], 1), None);
}

#[test]
fn runs_in_other_results_folders_count_where_the_own_ones_do_not_suffice() {
    let (cells, conditions, results) = (cells(), conditions(), Results::new());
    drop(results.store("before", [run(&cells[0], 1, &conditions)]));
    let store = results.store("now", []);
    let estimator = Estimator::new(&store, &conditions);
    near(
        estimator.expected_run_time(&cells[0], 1),
        2.5,
        EstimateBasis::SameCell,
    );
}

#[test]
fn all_epochs_of_a_cell_that_may_stop_early_are_an_upper_bound_until_it_has_run() {
    let (conditions, results) = (conditions(), Results::new());
    let cells = cells_of(&format!("{MANIFEST}early-stopping = {{ patience = 1 }}\n"));
    let store = results.store("a", [run(&cells[0], 1, &conditions)]);
    let estimator = Estimator::new(&store, &conditions);
    let is_upper_bound = |cell| {
        let id = RunId {
            cell,
            seed: 42,
            block: 1,
        };
        let total = estimator.total(&cells, &[(id, Decision::Run(RunReason::New))]);
        assert_eq!(total.unknown, 0);
        total.is_upper_bound
    };
    assert!(is_upper_bound(1));
    assert!(!is_upper_bound(0));
}
