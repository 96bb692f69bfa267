//! Runs that were killed in the middle of training go on with the same results.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::processes::{children, is_alive, signal_all, wait_until};
use crate::project::{Project, fieldtrial};
use crate::tiny::with;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

/// One cell of 8 steps an epoch, which writes its state after nearly every step.
fn manifest(epochs: usize) -> String {
    let every = "repeats = 1\ncheckpoint-every = 1e-6";
    let manifest = with("repeats = 2", every).replace("[8, 16]", "[8]");
    manifest.replace("epochs = 2", &format!("epochs = {epochs}"))
}

fn project(epochs: usize) -> Project {
    Project::new().file("experiments/tiny.toml", &manifest(epochs))
}

/// The files that hang on no clock.
fn result_files(project: &Project) -> BTreeMap<&'static str, Vec<u8>> {
    let files = ["runs.csv", "epochs.csv", "work.csv"];
    let mut read: BTreeMap<&str, Vec<u8>> = files
        .map(|name| {
            (
                name,
                project.read(&format!("reports/tiny/{name}")).into_bytes(),
            )
        })
        .into();
    read.insert("weights", weights(project));
    read
}

fn weights(project: &Project) -> Vec<u8> {
    let index = project.read("reports/tiny/checkpoints/index.csv");
    let last = index.lines().last().unwrap();
    let file = last.split(',').next().unwrap();
    std::fs::read(project.path(&format!("reports/tiny/checkpoints/{file}"))).unwrap()
}

fn started(project: &Project) -> Child {
    let mut program = fieldtrial();
    program.args(RUN).args(["--no-report", "--format", "json"]);
    program.current_dir(project.path(""));
    let program = program.stdout(Stdio::piped()).stderr(Stdio::null());
    program.spawn().unwrap()
}

/// The program, when the run has written its state `writes` times.
fn saved(project: &Project, writes: usize) -> Child {
    let mut parent = started(project);
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let saved = lines.by_ref();
    let saved = saved.filter(|line| line.as_ref().unwrap().contains("\"saved\""));
    assert_eq!(saved.take(writes).count(), writes);
    // A program whose output nobody reads waits.
    std::thread::spawn(move || lines.count());
    parent
}

/// Kills the program after so many writes of a state. On a loaded machine the run may be over before the signal comes: then once
/// more, from the same results.
fn killed(project: &Project, writes: usize) {
    let results = project.path("reports");
    let before = project.path("reports-before");
    let copy = |from: &Path, to: &Path| {
        let _ = std::fs::remove_dir_all(to);
        if from.exists() {
            let copied = Command::new("cp").arg("-a").args([from, to]).status();
            assert!(copied.unwrap().success());
        }
    };
    copy(&results, &before);
    for _ in 0..50 {
        kill(&mut saved(project, writes));
        let rows = std::fs::read_to_string(project.path("reports/tiny/runs.csv"));
        let is_over = rows.unwrap_or_default().contains(",done,");
        if !is_over && states(project) > 0 {
            return;
        }
        copy(&before, &results);
    }
    panic!("no run was killed before its end");
}

fn kill(parent: &mut Child) {
    let workers = children(parent.id());
    // What has ended meanwhile gets no signal, which `kill` calls a failure.
    let mut kill = Command::new("kill");
    kill.arg("-KILL").arg(parent.id().to_string());
    kill.args(workers.iter().map(ToString::to_string));
    kill.stderr(Stdio::null()).status().expect("kill");
    parent.wait().unwrap();
    wait_until("the worker ends", || {
        !workers.iter().any(|&worker| is_alive(worker))
    });
}

/// The number of states of trainings in the results.
fn states(project: &Project) -> usize {
    let files = project.results().into_keys();
    files.filter(|path| path.contains("state-seed")).count()
}

/// The epoch and step at which the run went on.
fn resumed(events: &str) -> Option<(u64, u64)> {
    let line = events.lines().find(|line| line.contains("\"resumed\""))?;
    let event: serde_json::Value = serde_json::from_str(line).unwrap();
    let event = [&event, &event["said"]]
        .into_iter()
        .find(|event| event["epoch"].is_u64())?;
    Some((event["epoch"].as_u64()?, event["step"].as_u64()?))
}

fn end(project: &Project, arguments: &[&str]) -> Option<(u64, u64)> {
    let ended = project.ends_with(0, &[&RUN[..], &["--format", "json"], arguments].concat());
    resumed(&ended.stdout)
}

fn resumed_after(project: &Project) -> Vec<String> {
    let rows = project.rows_of("tiny", "blocks.csv").into_iter();
    rows.map(|row| row["resumed_after_s"].clone()).collect()
}

#[test]
fn a_run_that_was_killed_twice_has_the_bytes_of_one_in_one_piece() {
    let whole = project(60);
    assert_eq!(end(&whole, &[]), None);
    let project = project(60);
    killed(&project, 13);
    killed(&project, 30);
    let (epoch, step) = end(&project, &[]).expect("it goes on");
    assert!(
        epoch * 8 + step >= 13 + 30 - 2,
        "epoch {epoch}, step {step}"
    );
    assert_eq!(result_files(&project), result_files(&whole));
    assert_eq!(resumed_after(&whole), [""]);
    assert_ne!(
        resumed_after(&project),
        [""],
        "its times are of two processes"
    );
    let timings = project.read("reports/tiny/timings.csv");
    assert_eq!(
        timings.lines().count(),
        1,
        "and count for nothing: {timings}"
    );
}

#[test]
fn after_ctrl_c_a_run_goes_on_too() {
    let whole = project(60);
    end(&whole, &[]);
    let project = project(60);
    let mut parent = saved(&project, 13);
    signal_all(&[parent.id()], "-INT");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    let (epoch, step) = end(&project, &[]).expect("it goes on");
    assert!(epoch * 8 + step >= 13, "epoch {epoch}, step {step}");
    assert_eq!(result_files(&project), result_files(&whole));
}

#[test]
fn fresh_begins_anew() {
    let project = project(60);
    killed(&project, 13);
    assert_eq!(end(&project, &["--fresh"]), None);
}

#[test]
fn more_epochs_go_on_from_fewer() {
    let project = project(5);
    assert_eq!(end(&project, &[]), None);
    project.write("experiments/tiny.toml", &manifest(8));
    let planned = project.run(&[&RUN[..], &["--dry-run"]].concat()).stdout;
    let goes_on = "run (train changed), goes on after 5 epochs";
    assert!(planned.contains(goes_on), "{planned}");
    assert_eq!(end(&project, &[]), Some((5, 0)));
    let whole = self::project(8);
    assert_eq!(end(&whole, &[]), None);
    assert_eq!(result_files(&project), result_files(&whole));
}

#[test]
fn a_state_that_nothing_goes_on_from_is_removed() {
    let cosine = manifest(3).replace("[train]", "[train.schedule]\nkind = \"cosine\"\n[train]");
    let project = Project::new().file("experiments/tiny.toml", &cosine);
    killed(&project, 3);
    assert_eq!(states(&project), 1);
    end(&project, &[]);
    assert_eq!(
        states(&project),
        0,
        "its rate hangs on the number of epochs"
    );
}

/// Five trainings of a minute or so.
const LONG: &str = r#"
name = "tiny"

[models.unet]
kind = "ddpm-unet"
base-channels = 16
embed = 32
groups = 4
dropout = 0.1

[models.gpt]
kind = "layers"
layers = [
  { embedding = 32, name = "characters" }, "position-embedding",
  { residual = [ "layer-norm", { attention = 4, causal = true } ] }, { dropout = 0.1 },
  "layer-norm", { linear = "classes", bias = false, tie = "characters" },
]

[models.tep]
kind = "equilibrium"
hidden = 110
iterations = 37

[models.sde]
kind = "neural-sde"

[models.mlp]
kind = "mlp"

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 16
augment = { rotation = 5.0 }
generate = { kind = "surface-textures", normal = 161, abnormal = 31, size = 16, seed = 7 }

[datasets.text]
kind = "text"
path = "text.txt"
length = 32

[datasets.digits]
kind = "digits"

[datasets.brownian]
kind = "paths"
process = "brownian"
samples = 64

[datasets.linear]
kind = "regression-5d"
samples = 100_000

[variants.unet]
"train.model" = "unet"
"train.dataset" = "surfaces"
"train.ema" = { decay = 0.99 }
"train.clip" = 1.0
"train.schedule" = { kind = "one-cycle" }
"loader.weighted" = true
"loader.workers" = 2
"train.epochs" = 90

[variants.gpt]
"train.model" = "gpt"
"train.dataset" = "text"
"train.epochs" = 60

[variants.tep]
"train.model" = "tep"
"train.dataset" = "digits"
"train.algorithm" = "equilibrium-propagation"
"train.optimizer" = { kind = "sgd", lr = 0.02, momentum = 0.9 }
"train.epochs" = 150

[variants.sde]
"train.model" = "sde"
"train.dataset" = "brownian"
"train.loss" = "truncated-mmd"
"train.epochs" = 8000

[variants.mlp]
"train.model" = "mlp"
"train.dataset" = "linear"
"train.early-stopping" = { patience = 250 }
"train.schedule" = { kind = "plateau", patience = 2 }
"validation.ensemble" = 3
"train.epochs" = 300

[matrix]
variant = ["VARIANT"]

[measure]
checkpoint-every = 1
"#;

/// `cargo test --release --test it -- going_on --ignored --nocapture` takes ten minutes. Whether a kill comes in time hangs on the
/// machine; the results do not.
#[test]
#[ignore = "heavy: forty kills of each of five trainings; run with `--release`"]
fn forty_kills_of_five_trainings_change_no_byte() {
    for variant in ["unet", "gpt", "tep", "sde", "mlp"] {
        let text = std::fs::read_to_string("experiments/texts/documentation.txt").unwrap();
        let new = || {
            let project = Project::new().file("experiments/text.txt", &text[..20_000]);
            project.file("experiments/tiny.toml", &LONG.replace("VARIANT", variant))
        };
        let (whole, project) = (new(), new());
        assert_eq!(end(&whole, &[]), None);
        let mut random = 1_u64;
        let mut kills = 0;
        for _ in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let pause = Duration::from_millis(300 + (random >> 33) % 2500);
            let mut parent = started(&project);
            std::thread::sleep(pause);
            if matches!(parent.try_wait(), Ok(Some(_))) {
                break;
            }
            kill(&mut parent);
            kills += 1;
        }
        let last = end(&project, &[]);
        println!("{variant}: {kills} kills, at last from epoch and step {last:?}");
        assert_eq!(result_files(&project), result_files(&whole), "{variant}");
    }
}
