//! `work.csv`: what a training step asks for is the same bytes on every rerun, and `compare --fail-on work` names what changed.

use crate::project::Project;
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
        let ended = project.run(&[&RUN[..], &["--fresh"], more].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
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
    std::fs::remove_file(project.path("reports/tiny/work.csv")).expect("removes");
    assert_eq!(before, run(&[]));
    std::fs::remove_dir_all(project.path("reports/tiny/.store")).expect("removes");
    assert_eq!(before, run(&["--only", "batch-size=8"]));
}

#[test]
fn one_more_product_is_named_with_its_layer_and_amount() {
    let project = tiny::project();
    project.commit("a manifest");
    assert_eq!(
        project
            .run(&["run", "experiments/tiny.toml", "--no-report"])
            .code,
        0
    );
    let copy = project.path("before");
    std::fs::create_dir(&copy).expect("a folder");
    for file in [
        "plan.json",
        "runs.csv",
        "epochs.csv",
        "work.csv",
        "blocks.csv",
        "timings.csv",
        "env.toml",
    ] {
        std::fs::copy(project.path("reports/tiny").join(file), copy.join(file)).expect("copies");
    }
    let compare = |more: &[&str]| {
        let ended = project.run(&[&["compare", "before", "reports/tiny"][..], more].concat());
        (ended.code, ended.stdout, ended.stderr)
    };
    let (code, shown, found) = compare(&["--fail-on", "work"]);
    assert_eq!((code, &*found), (0, ""), "{shown}");
    assert!(shown.contains("Work: 2 cells equal."), "{shown}");

    let work = project.read("before/work.csv");
    let second = work
        .lines()
        .find(|line| line.contains("batch-size=16") && line.contains(",linear,"))
        .expect("a row");
    let fields: Vec<&str> = second.split(',').collect();
    let place = fields.len() - 10;
    let layer = fields[place];
    let mut fewer: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    let flops: u64 = fields[place + 4].parse().expect("a number");
    fewer[place + 4] = (flops / 2).to_string();
    fewer[place + 2] = "0".to_owned();
    project.write("before/work.csv", &work.replace(second, &fewer.join(",")));
    let (code, shown, found) = compare(&["--fail-on", "work", "--out", "out"]);
    assert_eq!(code, 1, "{shown}");
    let calls = fields[place + 2];
    let line =
        format!("batch-size=16: a step does other work: linear of {layer}: 0 → {calls} call");
    assert!(
        found.starts_with("work: tiny: ") && found.contains(&line),
        "{found}"
    );
    assert!(found.contains(" +") && found.contains("FLOP (+"), "{found}");
    assert!(
        shown.contains("Work of a step: 1 cell equal, 1 cell changed:"),
        "{shown}"
    );
    let csv = project.read("out/comparison.csv");
    assert!(
        csv.contains(&format!(",work,calls of linear of {layer},")),
        "{csv}"
    );
    let page = project.read("out/comparison.en.md");
    assert!(
        page.contains("In 1 of 2 cells a step does the same work."),
        "{page}"
    );

    std::fs::remove_file(project.path("before/work.csv")).expect("removes");
    let (code, shown, found) = compare(&["--fail-on", "work"]);
    assert_eq!((code, &*found), (0, ""), "results of an earlier version");
    assert!(shown.contains("Work: not counted before."), "{shown}");
}
