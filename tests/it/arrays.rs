//! Arrays of NumPy and the files of CIFAR: plans, runs, and what a trained model does with other arrays.

use std::fs;

use crate::exported::{assert_same_predictions, by_python};
use crate::project::{Project, assert_says};

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];
const PLAN: [&str; 2] = ["plan", "experiments/tiny.toml"];

/// A model on a dataset with these settings.
fn project(model: &str, dataset: &str) -> Project {
    let manifest = format!(
        "name = \"tiny\"\n[models.own]\n{model}\n[datasets.own]\n{dataset}\n[train]\nepochs = 1\nbatch-size = 4\n\
         [measure]\nwarmup-steps = 0\n"
    );
    Project::new().file("experiments/tiny.toml", &manifest)
}

const MLP: &str = "kind = \"mlp\"\nhidden = 8\ndepth = 2";
const CNN: &str = "kind = \"layers\"\nlayers = [{ conv = 4, kernel = 3, stride = 4 }, \"relu\", \"flatten\", { linear = \"classes\" }]";
const FILES: &str = "kind = \"arrays\"\nx = \"../data/x.npy\"\ny = \"../data/y.npy\"";

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00v\x00", header.as_bytes(), values].concat()
}

fn floats(shape: &str, values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
    npy("<f4", shape, &bytes)
}

fn write(project: &Project, name: &str, bytes: impl AsRef<[u8]>) {
    let path = project.path(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

/// Twenty rows of two numbers, and what is to be predicted.
fn rows(targets: &[u8]) -> Project {
    let project = project(MLP, FILES);
    write(
        &project,
        "data/x.npy",
        floats("(20, 2)", (0..40).map(|at| (at % 7) as f32)),
    );
    write(&project, "data/y.npy", targets);
    project
}

/// The value of a column in the row of the only run.
fn value(project: &Project, column: &str) -> String {
    project.rows("runs.csv")[0][column].clone()
}

#[test]
fn rows_in_two_files_are_planned_trained_on_and_predicted() {
    let project = rows(&npy("|u1", "(20,)", &[0, 1, 2, 3].repeat(5)));
    let plan = project.ends_with(0, &[&PLAN[..], &["--explain"]].concat());
    assert_says(
        &plan.stdout,
        "samples: 14 to train on, 3 to validate on, 3 to test on",
    );
    project.ends_with(0, &RUN);
    assert!(!value(&project, "test_accuracy").is_empty());

    // A new file of features alone; then one with targets, as the held-out rows have.
    write(&project, "new.npy", floats("(2, 2)", [0.0, 1.0, 2.0, 3.0]));
    let predicted = project.ends(0, "predict tiny new.npy").stdout;
    let lines: Vec<&str> = predicted.lines().collect();
    assert_eq!(lines[0], "row,prediction,p_0,p_1,p_2,p_3");
    assert!(
        lines.len() == 3 && lines[2].starts_with("1,"),
        "{predicted}"
    );
    project.ends(0, "evaluate tiny");
    project.ends(0, "evaluate tiny data");
    let other = project.ends_with(2, &["predict", "tiny", "data/y.npy"]);
    assert_says(&other.stderr, "its shape is (20,)");
    // Whether something is recommended hangs on the machine's speed.
    if project.path("reports/tiny/next.toml").exists() {
        project.ends(0, "plan reports/tiny/next.toml");
    }
    assert_export_is_the_same(&project);
}

/// Predictions of the exported code are ours.
fn assert_export_is_the_same(project: &Project) {
    project.ends(0, "export tiny out");
    let ours = project.ends(0, "predict tiny data/x.npy").stdout;
    if let Some(theirs) = by_python(project, "out", &["example.py", "../data/x.npy"]) {
        assert_same_predictions(&ours, &theirs);
    }
}

#[test]
fn floats_in_one_archive_are_predicted_as_numbers() {
    let project = project(
        MLP,
        "kind = \"arrays\"\npath = \"../data/own.npz\"\ny = \"price\"",
    );
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/arrays.npz");
    write(&project, "data/own.npz", fs::read(seed).expect("a seed"));
    let ended = project.ends_with(2, &PLAN);
    for words in [
        "error: dataset `own`: `../data/own.npz` has mistakes: there is no array `price`; it has `x`, `y`",
        "y = \"price\"",
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    let text = project.read("experiments/tiny.toml");
    project.write(
        "experiments/tiny.toml",
        &text.replace("y = \"price\"", "validation = 0.2\ntest = 0"),
    );
    project.ends_with(0, &RUN);
    assert!(!value(&project, "val_accuracy").is_empty());

    let project = rows(&floats("(20, 2)", (0..40).map(|at| at as f32)));
    project.ends_with(0, &RUN);
    assert!(!value(&project, "test_mse").is_empty());
    assert_export_is_the_same(&project);
    write(&project, "new.npy", floats("(1, 2)", [0.0, 1.0]));
    let predicted = project.ends(0, "predict tiny new.npy").stdout;
    assert_eq!(predicted.lines().count(), 2, "{predicted}");
}

#[test]
fn images_of_8_bits_are_trained_on() {
    let settings = format!("{FILES}\naugment = {{ crop = 1 }}");
    let project = project(CNN, &settings);
    let pixels: Vec<u8> = (0..20 * 3 * 64).map(|at| (at * 7 % 251) as u8).collect();
    write(&project, "data/x.npy", npy("|u1", "(20, 3, 8, 8)", &pixels));
    let classes: Vec<u8> = (0..20).map(|row| row % 10).collect();
    write(&project, "data/y.npy", npy("|u1", "(20,)", &classes));
    project.ends_with(0, &RUN);
    assert!(!value(&project, "val_accuracy").is_empty());
    assert_export_is_the_same(&project);
}

#[test]
fn missing_and_unusable_arrays_are_mistakes_at_their_lines() {
    let project = project(MLP, FILES);
    write(
        &project,
        "data/x.npy",
        floats("(2, 2)", [0.0, f32::NAN, 1.0, 2.0]),
    );
    write(&project, "data/z.npy", b"");
    let ended = project.ends_with(2, &PLAN);
    for words in [
        "error: dataset `own`: cannot read `../data/y.npy`: no such file or directory",
        "y = \"../data/y.npy\"",
        "did you mean `../data/",
        "a path is relative to the manifest's folder",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    write(&project, "data/y.npy", npy("|u1", "(2,)", &[0, 1]));
    let ended = project.ends_with(2, &RUN);
    let words = "`../data/x.npy` has mistakes: 1 of its 4 values is NaN, infinite or too large for f32, the first at index [0, 1]";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    assert!(!project.path("reports").exists());
}

#[test]
fn cifar_is_a_mistake_without_its_files_and_runs_with_them() {
    let project = project(
        CNN,
        "kind = \"cifar\"\npath = \"../data/cifar\"\naugment = { crop = 4 }",
    );
    let ended = project.ends_with(2, &RUN);
    let words = "error: dataset `own`: cannot read `../data/cifar`: there is no such folder";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    let record = |class: u8| [vec![class], vec![20 * class; 3072]].concat();
    let records = [record(1), record(4)].concat();
    for batch in 1..=5 {
        write(
            &project,
            &format!("data/cifar/data_batch_{batch}.bin"),
            &records,
        );
    }
    write(&project, "data/cifar/test_batch.bin", &records);
    let names = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    write(&project, "data/cifar/batches.meta.txt", names);
    project.ends_with(0, &RUN);
    assert!(!value(&project, "test_accuracy").is_empty());
    let refused = project.ends_with(2, &["predict", "tiny", "data"]);
    assert_says(&refused.stderr, "cannot be used on files");
}

/// Makes a manifest of arrays, runs it shortly, and checks what was guessed and written.
fn new(project: &Project, name: &str, data: &str, guesses: &[&str], lines: &[&str]) {
    let made = project.ends_with(0, &["new", name, "--data", data]);
    for guess in guesses {
        assert!(made.stderr.contains(guess), "{guess}: {}", made.stderr);
    }
    let path = format!("experiments/{name}.toml");
    let manifest = project.read(&path);
    for line in lines {
        assert!(manifest.contains(line), "{line}: {manifest}");
    }
    let short = ["--set", "measure.seeds=[1]", "--set", "train.epochs=2"];
    project.ends_with(0, &[&["run", &path], &short[..]].concat());
    let page = project.read(&format!("reports/{name}/report.md"));
    let cells = lines
        .iter()
        .filter(|line| line.starts_with("[models."))
        .count();
    assert_says(&page, format!("{cells} cells: {cells} done"));
}

#[test]
fn new_writes_a_manifest_for_arrays_that_runs_as_it_is() {
    let project = Project::new().file("experiments/notes.txt", "");
    let mlps = ["[models.linear]", "[models.small]", "[models.large]"];
    let rows = || (0..120).map(|at| (at * at % 11) as f32);
    write(&project, "data/X_train.npy", floats("(40, 3)", rows()));
    write(
        &project,
        "data/y_train.npy",
        npy("|u1", "(40,)", &[0, 1, 2, 3].repeat(10)),
    );
    let pair = [
        "x = \"../data/X_train.npy\"\ny = \"../data/y_train.npy\"",
        "answer = [\"val_accuracy\"]",
    ];
    let guesses = [
        "`X_train.npy` has the features: 40 rows of 3 numbers, by its shape",
        "`y_train.npy` has the targets: 4 classes, by its type",
    ];
    new(
        &project,
        "folder",
        "data",
        &guesses,
        &[&pair[..], &mlps].concat(),
    );
    new(
        &project,
        "one",
        "data/y_train.npy",
        &guesses,
        &[&pair[..], &mlps].concat(),
    );
}

#[test]
fn new_writes_a_manifest_for_images_in_arrays_that_runs_as_it_is() {
    let project = Project::new().file("experiments/notes.txt", "");
    write(
        &project,
        "images/images.npy",
        npy("|u1", "(24, 8, 8, 3)", &[7, 80, 200].repeat(24 * 64)),
    );
    write(
        &project,
        "images/labels.npy",
        floats("(24, 2)", (0..48).map(|at| at as f32)),
    );
    let lines = [
        "[models.mlp]",
        "[models.cnn]",
        "{ linear = \"outputs\" }",
        "answer = [\"val_r2\"]",
    ];
    let guesses = [
        "24 images with 3 channels of 8 × 8 pixels",
        "2 numbers, by its type",
    ];
    new(&project, "pixels", "images", &guesses, &lines);
}

#[test]
fn new_writes_a_manifest_for_arrays_in_one_file() {
    let project = Project::new().file("experiments/notes.txt", "");
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/arrays.npz");
    write(&project, "data/own.npz", fs::read(seed).expect("a seed"));
    let x: Vec<u8> = (0..80).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let tensors = "{\"x\":{\"dtype\":\"F32\",\"shape\":[40,2],\"data_offsets\":[0,320]},\
                   \"y\":{\"dtype\":\"U8\",\"shape\":[40],\"data_offsets\":[320,360]}}";
    let tensors = safetensors(tensors, &[&x[..], &[0, 1].repeat(20)].concat());
    write(&project, "data/own.safetensors", tensors);
    for name in ["npz", "safetensors"] {
        let data = format!("data/own.{name}");
        project.ends_with(0, &["new", name, "--data", &data]);
        let path = format!("experiments/{name}.toml");
        let lines = format!("path = \"../{data}\"\nx = \"x\"\ny = \"y\"");
        let manifest = project.read(&path);
        assert!(manifest.contains(&lines), "{manifest}");
        project.ends_with(0, &["plan", &path]);
    }
}

fn safetensors(header: &str, values: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), values].concat()
}

#[test]
fn arrays_of_other_names_are_told_and_nothing_is_written() {
    let project = Project::new().file("experiments/notes.txt", "");
    let tensors = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    write(&project, "other.safetensors", safetensors(tensors, &[0; 4]));
    let ended = project.ends_with(2, &["new", "other", "--data", "other.safetensors"]);
    assert_says(&ended.stderr, "there is no array `x`; it has `a`");
    assert!(!project.path("experiments/other.toml").exists());
}
