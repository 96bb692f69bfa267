//! `fieldtrial export --to csv` and `--to mlflow`: what other tools read is what the results' own files have.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::project::{Project, assert_says};
use crate::search::{Row, table};
use crate::trained::bad;

/// Cells that train, that fail and that are skipped; two seeds, two blocks.
const MIXED: &str = r#"
name = "mixed"
question = "Which of them run?"
[models.mlp]
kind = "mlp"
hidden = 4
depth = 1
[models.bad]
kind = "command"
run = ["sh", "-c", "exit 3"]
code = []
[models.absent]
kind = "command"
run = ["sh", "-c", "echo never"]
code = []
requires = [["sh", "-c", "echo no such program; exit 1"]]
[datasets.curved]
kind = "regression-5d"
target = "linear"
samples = 60
[matrix]
model = ["mlp", "bad", "absent"]
dataset = ["curved"]
batch-size = [8, 16]
[train]
epochs = 3
[measure]
seeds = [1, 2]
repeats = 2
warmup-steps = 0
baselines = false
"#;

fn json(project: &Project, path: &str) -> serde_json::Value {
    serde_json::from_str(&project.read(path)).expect(path)
}

fn mixed() -> Project {
    let project = Project::new().file("experiments/mixed.toml", MIXED);
    project.ends_with(1, &["run", "experiments/mixed.toml", "--no-report"]);
    project
}

/// Whether every field of the table is of the type that the table of its columns tells, which names all of them in order.
fn assert_described(table: &Path, columns: &[Row]) {
    let mut reader = csv::Reader::from_path(table).unwrap();
    let header = reader.headers().unwrap().clone();
    let names = columns.iter().map(|column| &*column["column"]);
    assert!(names.eq(header.iter()), "{header:?}");
    for record in reader.records() {
        for (column, field) in columns.iter().zip(&record.unwrap()) {
            let is_one = match &*column["type"] {
                _ if field.is_empty() => true,
                "integer" => field.parse::<i64>().is_ok(),
                "number" => field.parse::<f64>().is_ok(),
                "boolean" => ["true", "false"].contains(&field),
                "time" => field.len() > 19 && field.ends_with('Z'),
                other => other == "text",
            };
            assert!(is_one, "{column:?} is `{field}`");
            assert_ne!(column["meaning"], "");
        }
    }
}

#[test]
fn one_table_has_all_runs_with_types_and_units() {
    let project = mixed();
    project.ends(0, "export mixed out --to csv");
    let all = table(&project.read("out/mixed.csv"));
    let runs = project.rows_of("mixed", "runs.csv");
    let blocks = project.rows_of("mixed", "blocks.csv");
    let epochs = project.rows_of("mixed", "epochs.csv");
    let timings = project.rows_of("mixed", "timings.csv");
    assert_eq!((all.len(), runs.len()), (12, 12));
    let text = |row: &Row, column: &str| row.get(column).cloned().unwrap_or_default();
    for (row, run) in all.iter().zip(&runs) {
        for (column, value) in run {
            assert_eq!(text(row, column), *value, "{column}");
        }
        let is_of_run = |other: &&Row| other["key"] == run["key"] && other["seed"] == run["seed"];
        let number = |row: &Row| row["step_ms"].parse::<f64>().ok();
        let own: Vec<f64> = blocks.iter().filter(is_of_run).filter_map(number).collect();
        let of_cell = timings.iter().find(|other| other["key"] == run["key"]);
        let of_cell = of_cell
            .map(|row| row["step_ms"].clone())
            .unwrap_or_default();
        assert_eq!(text(row, "cell_step_ms"), of_cell);
        if run["model"] != "mlp" {
            assert_eq!((text(row, "step_ms"), own.len()), (String::new(), 0));
            continue;
        }
        let median = text(row, "step_ms").parse::<f64>().unwrap();
        assert!(
            (median - f64::midpoint(own[0], own[1])).abs() < 1e-8 * median,
            "{median} {own:?}"
        );
        let last = epochs.iter().rfind(is_of_run).unwrap();
        assert_eq!(text(row, "train_loss_at_last"), last["train_loss"]);
        assert_eq!(text(row, "blocks"), "2");
    }
    let statuses: Vec<&str> = all.iter().map(|row| &*row["status"]).collect();
    assert_eq!(
        statuses,
        [["done"; 4], ["failed"; 4], ["skipped"; 4]].concat()
    );
    let columns = table(&project.read("out/mixed-columns.csv"));
    assert_described(&project.path("out/mixed.csv"), &columns);
    let of = |name: &str| {
        columns
            .iter()
            .find(|column| column["column"] == name)
            .unwrap()
    };
    assert_eq!(
        (&*of("step_ms")["unit"], &*of("step_ms")["better"]),
        ("ms", "lower")
    );
    assert_eq!(of("batch_size")["type"], "integer");
    refusals(&project);
}

fn refusals(project: &Project) {
    project.ends(0, "export mixed out --to csv");
    for to in ["csv", "mlflow"] {
        let taken = "`experiments` has files and is not an earlier export";
        bad(
            project,
            &["export", "mixed", "experiments", "--to", to],
            taken,
        );
        let chosen = ["export", "mixed", "new", "--to", to, "--seed", "1"];
        bad(project, &chosen, "`--seed` chooses a trained model");
        bad(
            project,
            &["export", "mixd", "new", "--to", to],
            "did you mean `mixed`?",
        );
    }
    let valid = "possible values: pytorch, onnx, csv, mlflow";
    bad(
        project,
        &["export", "mixed", "new", "--to", "parquet"],
        valid,
    );
    assert!(!project.path("new").exists());
}

/// The experiments of a store, by name.
fn experiments(project: &Project, store: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(project.path(store)).unwrap();
    let ids = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let named = ids.map(|id| {
        let meta = json(project, &format!("{store}/{id}/meta.yaml"));
        assert_eq!(meta["experiment_id"], *id);
        (meta["name"].as_str().unwrap().to_owned(), id)
    });
    named.collect()
}

#[test]
fn a_store_of_mlflow_has_an_experiment_with_all_runs() {
    let project = mixed();
    // As after a stop that restores the best epoch: the final value is not that of the last epoch.
    let facts = project.read("reports/mixed/runs.csv");
    let final_loss = &project.rows_of("mixed", "runs.csv")[0]["val_loss"];
    let project = project.file("reports/mixed/runs.csv", &facts.replace(final_loss, "7.5"));
    project.ends(0, "export mixed store --to mlflow");
    let other = MIXED.replace("\"mixed\"", "\"other\"");
    let project = project.file("experiments/other.toml", &other);
    project.run(&[
        "run",
        "experiments/other.toml",
        "--no-report",
        "--only",
        "model=mlp",
    ]);
    project.ends(0, "export other store --to mlflow");
    // An export of the same name takes the place of the earlier one, with the same identifiers.
    project.ends(0, "export mixed store --to mlflow");
    let experiments = experiments(&project, "store");
    assert_eq!(experiments.keys().collect::<Vec<_>>(), ["mixed", "other"]);
    let folder = format!("store/{}", experiments["mixed"]);
    let entries = fs::read_dir(project.path(&folder)).unwrap().flatten();
    let folders = entries.filter(|entry| entry.path().join("params").is_dir());
    let found: Vec<String> = folders
        .map(|entry| format!("{folder}/{}", entry.file_name().display()))
        .collect();
    let runs = project.rows_of("mixed", "runs.csv");
    assert_eq!(found.len(), runs.len());
    for run in &found {
        assert_is_in(&project, run, &runs);
    }
}

/// An MLflow run has the values of one of our runs.
fn assert_is_in(project: &Project, folder: &str, runs: &[Row]) {
    let read = |path: &str| project.read(&format!("{folder}/{path}"));
    let (key, seed) = (read("tags/key"), read("params/seed"));
    let run = runs
        .iter()
        .find(|run| run["key"] == key && run["seed"] == seed);
    let run = run.expect("a run");
    let meta = json(project, &format!("{folder}/meta.yaml"));
    let status = if run["status"] == "done" { 3 } else { 4 };
    assert_eq!(meta["status"], status);
    assert_eq!(read("tags/status"), run["status"]);
    assert_eq!(read("params/batch_size"), read("params/train.batch-size"));
    assert!(project.path(&format!("{folder}/artifacts")).is_dir());
    if run["status"] != "done" {
        assert_says(read("tags/reason"), &run["reason"]);
        return;
    }
    assert!(meta["start_time"].as_u64().unwrap() < meta["end_time"].as_u64().unwrap());
    for name in ["val_loss", "final_loss", "parameters", "test_r2"] {
        let Some(value) = run.get(name).filter(|value| !value.is_empty()) else {
            panic!("no {name} in {run:?}");
        };
        let lines = read(&format!("metrics/{name}"));
        let last = lines.lines().next_back().unwrap().split(' ').nth(1);
        let value: f64 = value.parse().unwrap();
        assert_eq!(last.unwrap().parse::<f64>(), Ok(value), "{name}");
    }
    let steps = read("metrics/train_loss");
    let steps: Vec<&str> = steps
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect();
    assert_eq!(steps, ["0", "1", "2"]);
}
