//! Data of a manifest: missing or unusable data is a mistake before anything runs, data that turns out damaged when it is
//! read is a `failed` run; and the rows that are held out from training.

use std::fs;

use crate::project::{Ended, Project, assert_says, fieldtrial};
use crate::search::table;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];
const PLAN: [&str; 2] = ["plan", "experiments/tiny.toml"];

/// A perceptron on a dataset with these settings.
fn manifest(dataset: &str) -> String {
    format!(
        "name = \"tiny\"\n[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 2\n[datasets.own]\n{dataset}\n\
         [train]\nepochs = 1\nbatch-size = 4\n[measure]\nwarmup-steps = 0\n"
    )
}

fn project(dataset: &str) -> Project {
    Project::new().file("experiments/tiny.toml", &manifest(dataset))
}

/// A project with a table in the manifest's folder.
fn of_table(text: &str) -> Project {
    project("kind = \"csv\"\npath = \"../data/table.csv\"\ntarget = \"y\"")
        .file("data/table.csv", text)
}

const FOLDER: &str = "kind = \"image-folder\"\npath = \"../data/surfaces\"\nsize = 8\n\
     generate = { kind = \"surface-textures\", normal = 12, abnormal = 8, size = 8, seed = 7 }";

fn set(project: &Project, from: &str, to: &str) {
    let text = project.read("experiments/tiny.toml");
    assert!(text.contains(from), "{from}: {text}");
    project.write("experiments/tiny.toml", &text.replace(from, to));
}

/// `plan` and `run` both reject it with these words, and nothing is written.
#[track_caller]
fn assert_refused(project: &Project, words: &[&str]) {
    for command in [PLAN, RUN] {
        let ended = project.ends_with(2, &command);
        for word in words {
            assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
        }
        assert!(!project.path("reports").exists());
    }
}

#[track_caller]
fn assert_good(ended: &Ended) {
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
}

/// Numbers of training, validation and test samples.
pub(crate) fn samples(project: &Project) -> String {
    let ended = project.run(&[&PLAN[..], &["--explain"]].concat());
    let mut lines = ended.stdout.lines();
    let line = lines.find(|line| line.contains("  samples: "));
    line.unwrap_or_else(|| panic!("{}{}", ended.stdout, ended.stderr))
        .to_owned()
}

#[test]
fn a_path_that_does_not_exist_is_a_mistake_and_no_green_build() {
    let typo = of_table("a,y\n1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n13,14\n15,16\n");
    set(&typo, "table.csv", "tabel.csv");
    let words = [
        "error: dataset `own`: cannot read `../data/tabel.csv`: no such file or directory",
        "experiments/tiny.toml:8:8",
        "help: did you mean `../data/table.csv`?",
        "1 mistake in `experiments/tiny.toml`; nothing was run",
    ];
    assert_refused(&typo, &words);
    let folder = project("kind = \"image-folder\"\npath = \"../data/surfaces\"");
    assert_refused(
        &folder,
        &["cannot read `../data/surfaces`: no such file or directory"],
    );
    let mnist = project("kind = \"mnist\"\npath = \"../data\"");
    let words = "cannot read `../data`: it has neither `train-images-idx3-ubyte` nor";
    assert_refused(&mnist, &[words]);
}

#[test]
fn every_missing_file_is_named_with_the_value_of_its_axis() {
    let project = project("kind = \"csv\"\ntarget = \"y\"");
    let text = project.read("experiments/tiny.toml")
        + "[matrix]\n\"datasets.own.path\" = [\"one.csv\", \"../experiments/two.csv\"]\n";
    project.write("experiments/tiny.toml", &text);
    let words = [
        "axis `datasets.own.path`, value 1 of 2: dataset `own`: cannot read `one.csv`",
        "axis `datasets.own.path`, value 2 of 2: dataset `own`: cannot read `../experiments/two.csv`",
        "2 mistakes in",
    ];
    assert_refused(&project, &words);
}

#[test]
fn initial_weights_that_do_not_exist_are_a_mistake() {
    let project = project("kind = \"regression-5d\"").file("weights/best.safetensors", "");
    set(
        &project,
        "epochs = 1",
        "epochs = 1\ninit-from = \"../weights/bets.safetensors\"",
    );
    let words = [
        "error: `train.init-from`: there is no file `../weights/bets.safetensors`",
        "experiments/tiny.toml:10:13",
        "help: did you mean `../weights/best.safetensors`?",
    ];
    assert_refused(&project, &words);
    let project = project.file("weights/other.safetensors", "");
    set(&project, "bets.safetensors", "");
    let words = [
        "error: `train.init-from`: `../weights/` has the weights of 2 runs",
        "help: `../weights/best.safetensors`",
        "help: `../weights/other.safetensors`",
    ];
    assert_refused(&project, &words);
    set(&project, "../weights/", "../experiments");
    let words = ["error: `train.init-from`: `../experiments` is a folder without weights"];
    assert_refused(&project, &words);
}

#[test]
fn a_folder_that_is_to_be_generated_is_not_missing() {
    let project = project(FOLDER);
    assert_good(&project.run(&PLAN));
    assert!(!project.path("data").exists());
    assert_good(&project.run(&RUN));
    assert_good(&project.run(&PLAN));
    set(&project, "normal = 12", "normal = 13");
    let ended = project.ends_with(2, &PLAN);
    let words = "dataset `own`: `../data/surfaces` was generated by `surface-textures` version 1 with normal = 12";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

#[test]
fn text_in_a_number_column_is_found_before_anything_runs_at_its_line() {
    let text = of_table("a,y,colour\r\n1,2,3\r\n\r\n4,5,red\r\n7,8,9\r\n");
    let words = [
        "dataset `own`: `../data/table.csv` is not what the manifest says in line 4, column 3 (`colour`): `red` is not a number",
        "experiments/tiny.toml:8:8",
        "help: in the dataset's section, or leave the column out by `ignore`: `columns.colour = { category = true }`",
    ];
    assert_refused(&text, &words);
}

#[test]
fn a_class_without_classes_true_gets_that_advice() {
    let rows: Vec<String> = (0..30).map(|row| format!("{row},{row},setosa\n")).collect();
    let text = of_table(&format!("a,b,y\n{}", rows.concat()));
    let words = [
        "is not what the manifest says in line 2, column 3 (`y`): `setosa` is not a number, in 30 of 30 rows",
        "experiments/tiny.toml:9:10",
        "help: add `classes = true`",
    ];
    assert_refused(&text, &words);
    set(&text, "target = \"y\"", "target = \"y\"\nclasses = true");
    let one = text.ends_with(2, &PLAN);
    let reason = "infeasible  the dataset has a single class, so there is nothing to tell apart";
    assert!(one.stdout.contains(reason), "{}", one.stdout);
    let rows = text.read("data/table.csv");
    text.write("data/table.csv", &rows.replace("7,setosa", "7,virginica"));
    assert_good(&text.run(&PLAN));
}

#[test]
fn a_target_that_is_no_column_is_shown_where_it_is_written() {
    let text = of_table("a,weight\n1,2\n");
    let both = "target = \"wieght\"\ncolumns = { b = { missing = \"mean\" } }";
    set(&text, "target = \"y\"", both);
    let words = [
        "`../data/table.csv` has no column `wieght`",
        "experiments/tiny.toml:9:10",
        "help: did you mean `weight`?",
        "`../data/table.csv` has no column `b`",
        "experiments/tiny.toml:10:11",
    ];
    assert_refused(&text, &words);
}

#[test]
fn an_image_without_a_header_is_found_before_anything_runs() {
    let project = project("kind = \"image-folder\"\npath = \"../data/surfaces\"\nsize = 8")
        .file("data/surfaces/a/1.png", "no image")
        .file("data/surfaces/b/1.png", "")
        .file("data/surfaces/b/2.jpg", "none either");
    let words = [
        "dataset `own`: `../data/surfaces` is damaged in 3 places",
        "note: `a/1.png`: at byte 0: neither a PNG nor a JPEG file begins like this",
        "note: `b/1.png`: at byte 0: the file is empty",
        "note: `b/2.jpg`: at byte 0: neither",
    ];
    assert_refused(&project, &words);
}

#[test]
fn an_image_that_cannot_be_decoded_is_a_failed_run_with_a_reason_without_folders() {
    let project = project(FOLDER);
    assert_good(&project.run(&RUN));
    let path = project.path("data/surfaces/normal/000003.png");
    let bytes = fs::read(&path).expect("an image");
    fs::write(&path, &bytes[..60]).expect("its beginning");

    let ended = project.ends_with(1, &RUN);
    let row = project.rows("runs.csv").remove(0);
    let reason = &row["reason"];
    assert_eq!(row["status"], "failed", "{reason}");
    assert!(
        reason.starts_with("`normal/000003.png` is damaged at byte"),
        "{reason}"
    );
    assert!(ended.stderr.contains("1 failed"), "{}", ended.stderr);
    let folder = project.path("").display().to_string();
    for file in ["runs.csv", "blocks.csv", "report.md"] {
        let text = project.read(&format!("reports/tiny/{file}"));
        assert!(text.contains("failed") && !text.contains(&folder), "{text}");
    }

    let kept = project.ends_with(1, &RUN);
    assert!(kept.stderr.contains("nothing to run"), "{}", kept.stderr);
    fs::write(&path, bytes).expect("the image");
    assert_good(&project.run(&[&RUN[..], &["--retry"]].concat()));
}

#[test]
fn a_classifier_on_an_image_folder_is_validated_on_a_fifth_and_the_plan_says_so() {
    let project = project(FOLDER);
    assert_eq!(
        samples(&project),
        "  samples: 16 to train on, 4 to validate on, 0 to test on"
    );
    let said = "note: dataset `own` has no validation split: 20 % of its training part are kept for validation";
    let planned = project.run(&PLAN);
    assert!(planned.stderr.contains(said), "{}", planned.stderr);
    let ended = project.run(&RUN);
    assert_good(&ended);
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert!(!project.rows("runs.csv")[0]["val_accuracy"].is_empty());
    let report = project.read("reports/tiny/report.md");
    let said = "Kept from the training part for validation: 20 % (validation.fraction)";
    assert!(report.contains(said), "{report}");
}

#[test]
fn the_share_that_is_taken_unasked_is_the_one_that_can_be_written() {
    let project = project(FOLDER);
    let hash = |fraction: &str| {
        let set = format!("validation.fraction={fraction}");
        let set = ["--set", &set];
        let set = if fraction.is_empty() { &[][..] } else { &set };
        let ended = project.run(&[&PLAN[..], &["--format", "csv"], set].concat());
        table(&ended.stdout)[0]["cell_hash"].clone()
    };
    assert_eq!(hash(""), hash("0.2"));
    assert_ne!(hash(""), hash("0.0"));
}

#[test]
fn a_fraction_of_zero_stays_zero_and_the_run_warns_that_nothing_is_held_out() {
    let project = project(FOLDER);
    let text = project.read("experiments/tiny.toml") + "[validation]\nfraction = 0\n";
    project.write("experiments/tiny.toml", &text);
    assert_eq!(
        samples(&project),
        "  samples: 20 to train on, 0 to validate on, 0 to test on"
    );
    let ended = project.run(&RUN);
    assert_good(&ended);
    let said = "warning: dataset `own` has no held-out rows";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let report = project.read("reports/tiny/report.md");
    assert_says(&report, "Nothing was evaluated on held-out data");
}

#[test]
fn a_diffusion_model_keeps_all_its_data_and_warns() {
    let project = project(FOLDER);
    set(
        &project,
        "kind = \"mlp\"\nhidden = 8\ndepth = 2",
        "kind = \"ddpm-unet\"\nbase-channels = 16",
    );
    assert_eq!(
        samples(&project),
        "  samples: 20 to train on, 0 to validate on, 0 to test on"
    );
    let ended = project.run(&PLAN);
    let said = "warning: dataset `own` has no held-out rows";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

#[test]
fn data_with_splits_of_its_own_loses_nothing_to_validation() {
    let regression = project("kind = \"regression-5d\"\nsamples = 100");
    assert_eq!(
        samples(&regression),
        "  samples: 70 to train on, 15 to validate on, 15 to test on"
    );
    let ended = regression.run(&PLAN);
    assert!(!ended.stderr.contains("held out"), "{}", ended.stderr);
    let watched = project("kind = \"digits\"");
    let text = watched.read("experiments/tiny.toml") + "[validation]\nsplit = \"test\"\n";
    watched.write("experiments/tiny.toml", &text);
    assert_eq!(
        samples(&watched),
        "  samples: 1437 to train on, 0 to validate on, 360 to test on"
    );
}

#[test]
fn results_name_the_data_as_the_manifest_does_wherever_run_is_called() {
    let project = of_table("a,y\n1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n13,14\n15,16\n")
        .file("elsewhere/empty", "");
    let ended = fieldtrial()
        .args(["run", "../experiments/tiny.toml"])
        .current_dir(project.path("elsewhere"))
        .output()
        .expect("the program");
    assert!(ended.status.success(), "{ended:?}");
    let plan = project.read("reports/tiny/plan.json");
    assert!(plan.contains("\"path\":\"../data/table.csv\""), "{plan}");
    assert!(plan.contains("\"experiments/tiny.toml\""), "{plan}");
}
