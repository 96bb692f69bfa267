//! Runs that were killed in the middle of training go on with the same results.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

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

/// The text of `experiments/tiny.toml` as results have it.
fn result_files(project: &Project) -> BTreeMap<&'static str, Vec<u8>> {
    let files = ["runs.csv", "epochs.csv"];
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

/// Kills program and worker when the run has written its state `writes` times.
fn killed(project: &Project, writes: usize) {
    let mut parent = fieldtrial()
        .args(RUN)
        .args(["--no-report", "--format", "json"])
        .current_dir(project.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let saved = lines.filter(|line| line.as_ref().unwrap().contains("\"saved\""));
    assert_eq!(saved.take(writes).count(), writes);
    let mut processes = children(parent.id());
    processes.push(parent.id());
    signal_all(&processes, "-KILL");
    parent.wait().unwrap();
    wait_until("the worker ends", || !is_alive(processes[0]));
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
    let ended = project.run(&[&RUN[..], &["--format", "json"], arguments].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
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
    assert_eq!(end(&project, &[]), Some((5, 0)));
    let whole = self::project(8);
    assert_eq!(end(&whole, &[]), None);
    assert_eq!(result_files(&project), result_files(&whole));
}

#[test]
fn a_state_that_nothing_goes_on_from_is_removed() {
    let cosine = manifest(3).replace("[train]", "[train.schedule]\nkind = \"cosine\"\n[train]");
    let project = Project::new().file("experiments/tiny.toml", &cosine);
    let states = |project: &Project| {
        let files = project.results().into_keys();
        files.filter(|path| path.contains("state-seed")).count()
    };
    killed(&project, 3);
    assert_eq!(states(&project), 1);
    end(&project, &[]);
    assert_eq!(
        states(&project),
        0,
        "its rate hangs on the number of epochs"
    );
}
