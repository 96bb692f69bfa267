//! `work.csv`: what a training step asks for is the same bytes on every rerun, and `compare --fail-on work` names what changed.

use std::fs;

use crate::project::{Project, assert_says};
use crate::tiny;

/// A convolution and attention, whose kernels share their work between threads, and gradients of accumulated batches.
const NETS: &str = r#"
name = "nets"

[models.cnn]
kind = "layers"
layers = [ { conv = 8, kernel = 3 }, { group-norm = 2 }, "relu", "global-average-pool", { linear = "classes" } ]

[models.attention]
kind = "layers"
layers = [ { conv = 8, kernel = 4, stride = 4, padding = 0 }, "tokens",
  { repeat = 2, layers = [ { residual = [ "layer-norm", { attention = 2 } ] } ] },
  "mean-over-tokens", { linear = "classes" } ]

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
generate = { kind = "surface-textures", normal = 40, abnormal = 24, size = 16, seed = 7 }

[matrix]
model = ["cnn", "attention"]
dataset = ["surfaces"]

[train]
epochs = 1
batch-size = 8
accumulate = 2
clip = 1.0
optimizer = { kind = "adamw", lr = 1e-3 }

[measure]
repeats = 1
seeds = [1, 2]
keep-weights = false
baselines = false
"#;

const RUN: [&str; 3] = ["run", "experiments/nets.toml", "--no-report"];
const WORK: &str = "reports/nets/work.csv";

#[test]
fn counts_are_the_same_bytes_for_any_number_of_threads_jobs_and_workers() {
    let project = Project::new().file("experiments/nets.toml", NETS);
    let work = |more: &[&str]| {
        project.ends_with(0, &[&RUN[..], &["--fresh"], more].concat());
        project.read(WORK)
    };
    let one = work(&["--set", "train.threads=1", "--set", "loader.workers=0"]);
    let two = work(&["--set", "train.threads=2", "--set", "loader.workers=2"]);
    assert_eq!(one, two, "threads and workers");
    assert_eq!(one, work(&["--jobs", "2"]), "jobs, and a rerun");
    // Two micro-steps a step; 52 of the 64 images are trained on.
    let rows: Vec<&str> = one
        .lines()
        .filter(|line| line.contains("model=cnn,"))
        .collect();
    let row = |start: &str| rows.iter().find(|row| row.contains(start)).copied();
    assert!(
        row(",samples,").is_some_and(|row| row.ends_with(",,samples,52,0,0,0,0,0,,")),
        "{rows:?}"
    );
    assert!(row(",conv2d,2,2,").is_some(), "{rows:?}");
    assert!(row(",linear,2,2,").is_some(), "{rows:?}");
    assert!(row(",adamw,1,0,").is_some(), "{rows:?}");
}

#[test]
fn kept_runs_bring_their_counts_again_and_a_clone_without_the_store_keeps_them() {
    let project = tiny::project();
    let run = |more: &[&str]| {
        let ended =
            project.run(&[&["run", "experiments/tiny.toml", "--no-report"][..], more].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        project.read("reports/tiny/work.csv")
    };
    let before = run(&[]);
    fs::remove_file(project.path("reports/tiny/work.csv")).expect("removes");
    assert_eq!(before, run(&[]));
    fs::remove_dir_all(project.path("reports/tiny/.store")).expect("removes");
    assert_eq!(before, run(&["--only", "batch-size=8"]));
}

/// A project with results, and a copy of them in `before/`.
fn with_a_copy() -> Project {
    let project = tiny::project();
    project.ends(0, "run experiments/tiny.toml --no-report");
    let (from, to) = (project.path("reports/tiny"), project.path("before"));
    fs::create_dir(&to).expect("a folder");
    for file in fs::read_dir(from).expect("a folder").map(Result::unwrap) {
        if file.path().is_file() {
            fs::copy(file.path(), to.join(file.file_name())).expect("copies");
        }
    }
    project
}

/// `work.csv` where the first linear layer at batch size 16 is called once less, and the layer.
fn with_one_call_less(work: &str) -> (String, String) {
    let is_it = |line: &&str| line.contains("batch-size=16") && line.contains(",linear,");
    let row = work.lines().find(is_it).expect("a row");
    let (head, counts) = row.split_once(",linear,1,1,").expect("one call");
    let (_, layer) = head.rsplit_once(',').expect("a layer");
    let (flops, rest) = counts.split_once(',').expect("FLOPs");
    let half = flops.parse::<u64>().expect("a number") / 2;
    let less = format!("{head},linear,0,0,{half},{rest}");
    (work.replace(row, &less), layer.to_owned())
}

#[test]
fn one_more_product_is_named_with_its_layer_and_amount() {
    let project = with_a_copy();
    let compare = |more: &[&str]| {
        let arguments = ["compare", "before", "reports/tiny", "--fail-on", "work"];
        let ended = project.run(&[&arguments[..], more].concat());
        (ended.code, ended.stdout, ended.stderr)
    };
    let (code, shown, found) = compare(&[]);
    assert_eq!((code, &*found), (0, ""), "{shown}");
    assert!(shown.contains("Work: 2 cells equal."), "{shown}");

    let (less, layer) = with_one_call_less(&project.read("before/work.csv"));
    project.write("before/work.csv", &less);
    let (code, shown, found) = compare(&["--out", "out"]);
    assert_eq!(code, 1, "{shown}");
    let line = format!("batch-size=16: a step does other work: linear of {layer}: 0 → 1 call, +");
    assert!(
        found.starts_with("work: tiny: ") && found.contains(&line) && found.contains("FLOP (+"),
        "{found}"
    );
    let heading = "Work of a step: 1 cell equal, 1 cell changed:";
    assert!(shown.contains(heading), "{shown}");
    let csv = project.read("out/comparison.csv");
    let row = format!(",work,calls of linear of {layer},,,0,1,");
    assert!(csv.contains(&row), "{csv}");
    let page = project.read("out/comparison.en.md");
    assert_says(&page, "In 1 of 2 cells a step does the same work.");

    fs::remove_file(project.path("before/work.csv")).expect("removes");
    let (code, shown, found) = compare(&[]);
    assert_eq!((code, &*found), (0, ""), "results of an earlier version");
    assert!(shown.contains("Work: not compared: "), "{shown}");
}
