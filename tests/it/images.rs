//! Image folders: splits in folders, grey images of any size, labels in a file, damaged images.

use std::fs;

use crate::data::samples;
use crate::project::{Ended, Project, assert_says};
use crate::search::Row;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];
const PLAN: [&str; 2] = ["plan", "experiments/tiny.toml"];

/// A perceptron on images of these names, each of one colour, with these settings.
fn project(names: &[&str], settings: &str) -> Project {
    let manifest = format!(
        "name = \"tiny\"\n[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 2\n[datasets.own]\nkind = \"image-folder\"\n\
         path = \"../data/own\"\nsize = [6, 4]\nchannels = 1\n{settings}\n[train]\nepochs = 1\nbatch-size = 2\n\
         [measure]\nwarmup-steps = 0\n"
    );
    let project = Project::new().file("experiments/tiny.toml", &manifest);
    for (shade, name) in (0..).zip(names) {
        let path = project.path(&format!("data/own/{name}"));
        let pixels = [40 * shade, 10, 200].repeat(8 * 8);
        let bytes = fieldtrial::base::png::encode(8, 8, &pixels).expect("an image");
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("an image");
    }
    project
}

/// The row of the only run, which was completed.
fn completed(project: &Project) -> (Ended, Row) {
    let ended = project.ends_with(0, &RUN);
    (ended, project.rows("runs.csv").remove(0))
}

#[test]
fn folders_named_after_splits_are_validated_and_tested_on() {
    let names = [
        "train/a/0.png",
        "train/a/1.png",
        "train/b/0.png",
        "val/a/0.png",
        "test/b/0.png",
    ];
    let project = project(
        &names,
        "exif = true\naugment = { crop = 2, erase = 0.5, mixup = 0.2, cutmix = 1.0 }",
    );
    assert_eq!(
        samples(&project),
        "  samples: 3 to train on, 1 to validate on, 1 to test on"
    );
    let (ended, row) = completed(&project);
    assert!(!ended.stderr.contains("held out"), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("no validation split"),
        "{}",
        ended.stderr
    );
    assert!(!row["val_accuracy"].is_empty() && !row["test_accuracy"].is_empty());

    // A share that is written takes nothing, and the page does not say that it did.
    let text = project.read("experiments/tiny.toml") + "[validation]\nfraction = 0.5\n";
    project.write("experiments/tiny.toml", &text);
    assert_eq!(
        samples(&project),
        "  samples: 3 to train on, 1 to validate on, 1 to test on"
    );
    completed(&project);
    let report = project.read("reports/tiny/report.md");
    assert!(!report.contains("Kept from the training part"), "{report}");
}

#[test]
fn a_manifest_for_split_folders_takes_no_share() {
    let names = ["train/a/0.png", "train/b/0.png", "val/a/0.png"];
    let project = project(&names, "");
    let arguments = ["new", "split", "--data", "data/own"];
    project.ends_with(0, &arguments);
    let text = project.read("experiments/split.toml");
    assert!(text.contains("fraction = 0.0"), "{text}");
}

#[test]
fn damaged_images_are_left_out_and_named_by_plan_and_run() {
    let names = ["a/0.png", "a/1.png", "b/0.png", "b/1.png"];
    let project = project(
        &names,
        "damaged = \"leave-out\"\n[validation]\nfraction = 0",
    );
    let hostile = project.path("data/own/b/\u{1b}[31m.png");
    fs::write(hostile, "no image").expect("a file");
    let path = project.path("data/own/b/1.png");
    let bytes = fs::read(&path).expect("an image");
    fs::write(&path, &bytes[..60]).expect("its beginning");
    let warning = "warning: dataset `own`: 2 of 5 images cannot be decoded and are left out of all splits: `b/\\u{1b}[31m.png` at byte 0";
    let ended = project.ends_with(0, &PLAN);
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    assert_eq!(
        samples(&project),
        "  samples: 3 to train on, 0 to validate on, 0 to test on"
    );
    let (ended, _) = completed(&project);
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    let report = project.read("reports/tiny/report.md");
    assert_says(&report, "own\\`: 2 of 5 images cannot be decoded");
}

#[test]
fn numbers_in_a_file_are_predicted() {
    let names = ["0.png", "1.png", "more/2.png", "more/3.png", "more/4.png"];
    let project = project(&names, "labels = \"labels.csv\"");
    let labels = "file,age\n0.png,3\n1.png,5\nmore/2.png,7\nmore/3.png,9\nmore/4.png,11\n";
    project.write("data/own/labels.csv", labels);
    assert_eq!(
        samples(&project),
        "  samples: 4 to train on, 1 to validate on, 0 to test on"
    );
    let (_, row) = completed(&project);
    assert!(!row["val_mse"].is_empty());

    project.write(
        "data/own/labels.csv",
        "file,age\n0.png,3\n9.png,5\n../own/1.png,x\n",
    );
    let ended = project.ends_with(2, &PLAN);
    for words in [
        "error: dataset `own`: `../data/own/labels.csv` has mistakes in 3 places",
        "labels = \"labels.csv\"",
        "note: line 3, column 1 (`file`): there is no file `9.png`",
        "note: line 4, column 1 (`file`): `../own/1.png` leads out of the dataset's folder",
        "note: line 4, column 2 (`age`): `x` is not a number",
    ] {
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}
