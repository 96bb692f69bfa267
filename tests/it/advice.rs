//! Recommendations: from a run over `next.toml` to the report that holds predictions against measurements.

use fieldtrial::manifest;
use fieldtrial::plan::{Plan, PlanOptions};
use fieldtrial::results::read_recommendations;

use crate::project::Project;
use crate::world::world;

/// Steps so short that what they cost whatever their size is most of them: throughput grows with the batch.
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

/// After the first run.
fn advised() -> Project {
    let project = Project::new().file("experiments/growing.toml", MANIFEST);
    let ended = project.run(&["run", "experiments/growing.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let line = "fieldtrial run reports/growing/next.toml tests";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    project
}

#[test]
fn a_recommendation_is_tested_and_its_outcome_stands_in_both_reports() {
    let project = advised();
    let report = project.read("reports/growing/report.md");
    assert!(
        report.contains("**train.batch-size = 32 instead of 2**"),
        "{report}"
    );
    let ended = project.run(&["run", "reports/growing/next.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    let second = project.read("reports/growing-next/report.md");
    assert!(
        second.contains("## Predictions and measurement"),
        "{second}"
    );
    let rows = read_recommendations(&project.path("reports/growing-next")).expect("reads");
    let followed = rows
        .iter()
        .find(|row| row.status == "followed" && row.to == "32");
    let followed = followed.expect("the prediction");
    let [ratio, low, high] = followed.measured.expect("a measurement");
    assert!(low <= ratio && ratio <= high && ratio > 1.0, "{followed:?}");
    assert_eq!(project.run(&["report", "growing"]).code, 0);
    let first = project.read("reports/growing/report.md");
    assert!(first.contains("- Tested: "), "{first}");
    let rows = read_recommendations(&project.path("reports/growing")).expect("reads");
    let tested = rows
        .iter()
        .find(|row| row.to == "32")
        .expect("the recommendation");
    assert_eq!(tested.status, "tested");
    assert_eq!(tested.measured, followed.measured);
    assert_eq!(tested.verdict, followed.verdict);
    let again = project.run(&["run", "experiments/growing.toml"]);
    assert!(
        !again.stderr.contains("next.toml"),
        "all are tested: {}",
        again.stderr
    );
}

#[test]
fn the_next_manifest_plans_to_the_cells_that_are_meant_without_a_warning() {
    let project = advised();
    let path = project.path("reports/growing/next.toml");
    let manifest = manifest::load(&path, &[]).unwrap_or_else(|failure| panic!("{failure}"));
    let options = PlanOptions::default();
    let plan =
        Plan::new(&manifest, &world(), options).unwrap_or_else(|failure| panic!("{failure}"));
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
    let original = manifest::load(&project.path("experiments/growing.toml"), &[]);
    let original = original.unwrap_or_else(|failure| panic!("{failure}"));
    let options = PlanOptions::default();
    let first =
        Plan::new(&original, &world(), options).unwrap_or_else(|failure| panic!("{failure}"));
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
fn what_is_refuted_is_not_recommended_again() {
    let project = advised();
    let text = project.read("reports/growing/next.toml");
    let absurd = |line: &str| match line.split_once(" = ") {
        Some(("predicted" | "low" | "high", _)) => {
            format!("{} = 500.0", line.split(' ').next().unwrap_or_default())
        }
        _ => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(absurd).collect();
    project.write("reports/growing/next.toml", &(lines.join("\n") + "\n"));
    let ended = project.run(&["run", "reports/growing/next.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let rows = read_recommendations(&project.path("reports/growing-next")).expect("reads");
    assert!(
        rows.iter()
            .any(|row| row.status == "followed" && row.verdict == "refuted"),
        "{rows:?}"
    );
    assert!(
        !rows
            .iter()
            .any(|row| row.status == "proposed" && row.to == "32"),
        "{rows:?}"
    );
    let report = project.read("reports/growing-next/report.md");
    assert!(report.contains("refuted by an earlier test"), "{report}");
}

#[test]
fn a_manifest_of_the_users_own_is_never_replaced() {
    let project = Project::new()
        .file("experiments/growing.toml", MANIFEST)
        .file("reports/growing/next.toml", "# mine\n");
    let ended = project.run(&["run", "experiments/growing.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(project.read("reports/growing/next.toml"), "# mine\n");
}
