//! Recommendations: from a run over `next.toml` to the report that compares predictions with measurements.
//!
//! Times of runs are scripted: no verdict depends on the speed of the machine.

use fieldtrial::event::{PhaseTimes, RunFacts, RunId, RunOutcome, RunTimes, Status};
use fieldtrial::manifest;
use fieldtrial::plan::{Plan, PlanOptions, PlannedCell};
use fieldtrial::results::read_recommendations;

use crate::inputs::inputs;
use crate::project::{Project, assert_says};
use crate::scripted::keep;

/// Two batch sizes of a task that scripted runs do not compute.
const MANIFEST: &str = r#"#:schema manifest.schema.json
name = "growing"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 1000

[matrix]
batch-size = [2, 32]

[train]
epochs = 2

[measure]
repeats = 3
warmup-steps = 5

[report]
baseline = { batch-size = 2 }
"#;

const GROWING: &str = "experiments/growing.toml";
const NEXT: &str = "reports/growing/next.toml";

/// Step times with a large constant part and a small one per sample: throughput grows with the batch.
fn dear_steps(cell: &PlannedCell) -> f64 {
    0.2 + 0.001 * cell.spec.train.batch_size as f64
}

/// Step times with a small constant part: throughput grows, but far less than with [`dear_steps`].
fn dear_samples(cell: &PlannedCell) -> f64 {
    0.07 + 0.065 * cell.spec.train.batch_size as f64
}

fn ended(cell: &PlannedCell, step_ms: f64) -> RunOutcome {
    let train = &cell.spec.train;
    let samples = (cell.facts.train_samples * train.epochs) as u64;
    let steps = samples.div_ceil(train.batch_size as u64);
    let train_s = steps as f64 * step_ms / 1e3;
    let facts = RunFacts {
        parameters: 7,
        epochs: train.epochs,
        steps,
        samples,
        ..RunFacts::default()
    };
    let times = RunTimes {
        measured_steps: Some(steps),
        step_ms,
        step_mean_ms: step_ms,
        phases: PhaseTimes {
            forward_ms: step_ms,
            ..PhaseTimes::default()
        },
        samples_per_s: train.batch_size as f64 / step_ms * 1e3,
        train_s,
        total_s: train_s,
        threads: train.threads.unwrap_or(1),
        ..RunTimes::default()
    };
    RunOutcome {
        facts: Some(facts),
        times: Some(times),
        wall_s: train_s,
        ..RunOutcome::empty(Status::Done, String::new())
    }
}

/// Runs with `step_ms` per step, a little more in each block than in the previous one.
fn taking(step_ms: impl Fn(&PlannedCell) -> f64) -> impl Fn(&PlannedCell, RunId) -> RunOutcome {
    move |cell, id| ended(cell, step_ms(cell) * (1.0 + 0.01 * id.block as f64))
}

/// `run` of a manifest whose runs are all kept; must succeed.
fn report(project: &Project, path: &str) -> String {
    let ended = project.ends_with(0, &["run", path]);
    assert!(ended.stderr.contains("nothing to run"), "{}", ended.stderr);
    ended.stderr
}

fn advised() -> Project {
    let project = Project::new().file(GROWING, MANIFEST);
    keep(&project, GROWING, taking(dear_steps));
    let said = report(&project, GROWING);
    let line = "fieldtrial run reports/growing/next.toml tests";
    assert!(said.contains(line), "{said}");
    project
}

/// Status and verdict of the recommendation of batch size 32 in the results, one per prediction.
fn of_32(project: &Project, name: &str) -> Vec<(String, String)> {
    let rows = read_recommendations(&project.path(&format!("reports/{name}"))).expect("reads");
    let own = rows.into_iter().filter(|row| row.to == "32");
    own.map(|row| (row.status, row.verdict)).collect()
}

fn pair(status: &str, verdict: &str) -> Vec<(String, String)> {
    vec![(status.to_owned(), verdict.to_owned())]
}

#[test]
fn a_recommendation_is_tested_and_its_outcome_stands_in_both_reports() {
    let project = advised();
    let page = project.read("reports/growing/report.md");
    assert_says(&page, "**train.batch-size = 32 instead of 2**");
    assert_eq!(of_32(&project, "growing"), pair("proposed", ""));
    keep(&project, NEXT, taking(dear_steps));
    let said = report(&project, NEXT);
    assert!(!said.contains("warning"), "{said}");
    let second = project.read("reports/growing-next/report.md");
    assert_says(&second, "## Predictions and measurement");
    let outcome = "\ntrain.batch-size = 32 instead of 2: confirmed: measured ";
    assert!(second.contains(outcome), "{second}");
    assert_eq!(
        of_32(&project, "growing-next"),
        pair("followed", "confirmed")
    );
    let rows = read_recommendations(&project.path("reports/growing-next")).expect("reads");
    let followed = rows.iter().find(|row| row.to == "32").expect("a row");
    let ratio = followed.measured.expect("a measurement");
    let (low, high) = (followed.measured_low, followed.measured_high);
    // 16 times the samples in a step of 0.232 ms instead of 0.202.
    let expected = 16.0 * 0.202 / 0.232;
    assert!(
        low <= Some(ratio) && Some(ratio) <= high && (ratio / expected - 1.0).abs() < 1e-4,
        "{followed:?}"
    );
    project.ends(0, "report growing");
    let first = project.read("reports/growing/report.md");
    assert!(first.contains(": tested: confirmed"), "{first}");
    assert_eq!(of_32(&project, "growing"), pair("tested", "confirmed"));
    let again = report(&project, GROWING);
    assert!(!again.contains("next.toml"), "all are tested: {again}");
    // Its cells also run.
    project.ends(0, "run reports/growing/next.toml --fresh --no-report");
}

#[test]
fn the_next_manifest_plans_to_the_cells_that_are_meant_without_a_warning() {
    let project = advised();
    let path = project.path(NEXT);
    let manifest = manifest::load(&path, &[]).unwrap_or_else(|failure| panic!("{failure}"));
    let options = PlanOptions::default();
    let plan =
        Plan::new(&manifest, &inputs(), options).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(plan.warnings.render_each(false), "");
    assert_eq!(
        (&*plan.name, plan.follows.as_deref()),
        ("growing-next", Some("growing"))
    );
    let cells: Vec<_> = plan.cells().collect();
    let sizes: Vec<usize> = cells
        .iter()
        .map(|cell| cell.spec.train.batch_size)
        .collect();
    assert!(sizes[0] == 2 && sizes.contains(&32), "{sizes:?}");
    let original = manifest::load(&project.path(GROWING), &[]);
    let original = original.unwrap_or_else(|failure| panic!("{failure}"));
    let options = PlanOptions::default();
    let first =
        Plan::new(&original, &inputs(), options).unwrap_or_else(|failure| panic!("{failure}"));
    for cell in first
        .cells()
        .filter(|cell| sizes.contains(&cell.spec.train.batch_size))
    {
        let same = cells.iter().find(|other| other.cell_hash == cell.cell_hash);
        assert!(same.is_some(), "{} is another cell there", cell.spec.key);
    }
    // Two rules may predict different columns of one cell.
    assert!(plan.report.predictions.len() >= cells.len() - 1);
}

#[test]
fn where_several_cells_are_changed_their_variants_and_predictions_tell_which() {
    let models = "[models.large]\nkind = \"mlp\"\nhidden = 64\ndepth = 2\n\n[models.small]";
    let matrix = "[matrix]\nmodel = [\"large\", \"small\"]";
    let baseline = "batch-size = 2, model = \"large\"";
    let text = MANIFEST.replace("[models.mlp]", models);
    let text = text.replace("[matrix]", matrix);
    let project = Project::new().file(GROWING, &text.replace("batch-size = 2 ", baseline));
    keep(&project, GROWING, taking(dear_steps));
    report(&project, GROWING);
    keep(&project, NEXT, taking(dear_steps));
    report(&project, NEXT);
    let page = project.read("reports/growing-next/report.md");
    assert_says(&page, "= 32 instead of 2 for large |");
    assert_says(&page, "| large, batch-size 2 |");
    assert_says(&page, "| large, batch-size 32 |");
    assert!(!page.contains("| baseline"), "{page}");
}

#[test]
fn what_is_refuted_is_not_recommended_again() {
    let project = advised();
    keep(&project, NEXT, taking(dear_samples));
    report(&project, NEXT);
    assert_eq!(of_32(&project, "growing-next"), pair("followed", "refuted"));
    let page = project.read("reports/growing-next/report.md");
    let change = "train.batch-size = 32 instead of 2";
    let outcome = format!("\n{change}: refuted: measured ");
    assert!(page.contains(&outcome), "{page}");
    assert!(!page.contains(&format!("**{change}**")), "{page}");
}

#[test]
fn a_number_of_threads_that_its_test_refuted_is_not_recommended_again() {
    let axis = ("batch-size = [2, 32]", "threads = [1, 2]");
    let baseline = ("{ batch-size = 2 }", "{ threads = 1 }");
    let manifest = MANIFEST
        .replace(axis.0, axis.1)
        .replace(baseline.0, baseline.1);
    let project = Project::new().file(GROWING, &manifest);
    let halved = |cell: &PlannedCell| 0.1 / cell.spec.train.threads.unwrap_or(1) as f64;
    keep(&project, GROWING, taking(halved));
    report(&project, GROWING);
    let verdicts = |name: &str| -> Vec<(String, String)> {
        let rows = read_recommendations(&project.path(&format!("reports/{name}")));
        let rows = rows.expect("reads").into_iter();
        let own = rows.filter(|row| row.rule == "threads");
        own.map(|row| (row.status, row.verdict)).collect()
    };
    assert_eq!(verdicts("growing"), pair("proposed", ""));
    keep(&project, NEXT, taking(|_| 0.1));
    report(&project, NEXT);
    assert_eq!(verdicts("growing-next"), pair("followed", "refuted"));
}

#[test]
fn what_its_test_left_unclear_is_not_proposed_again() {
    let project = advised();
    // Of three pairs of runs two are as predicted, one is no better than before.
    keep(&project, NEXT, |cell, id| {
        let is_tested = cell.spec.train.batch_size == 32;
        let factor = if is_tested {
            [0.1, 0.1, 1.6][id.block]
        } else {
            1.0
        };
        ended(cell, factor * dear_samples(cell))
    });
    report(&project, NEXT);
    assert_eq!(of_32(&project, "growing-next"), pair("followed", "unclear"));
    // The following `next.toml` lists it.
    let next = project.read("reports/growing-next/next.toml");
    assert!(next.contains("verdict = \"unclear\""), "{next}");
}

#[test]
fn a_manifest_of_the_users_own_is_never_replaced() {
    let project = Project::new()
        .file(GROWING, MANIFEST)
        .file(NEXT, "# mine\n");
    keep(&project, GROWING, taking(dear_steps));
    report(&project, GROWING);
    assert_eq!(of_32(&project, "growing"), pair("proposed", ""));
    assert_eq!(project.read(NEXT), "# mine\n");
}
