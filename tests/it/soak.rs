//! A long life in a short time: 100,000 scripted runs of every ending through scheduler, store and files.
//!
//! `cargo test --release --test it -- soak:: --ignored --nocapture` prints memory, descriptors, threads and the time of each
//! thousand runs. What it asserts hangs on no clock.

use std::fs;
use std::time::Instant;

use fieldtrial::base::os;
use fieldtrial::event::{EpochRow, RunEvent, RunFacts, RunId, RunOutcome, RunTimes, Status};
use fieldtrial::execute::ScriptedLauncher;
use fieldtrial::plan::PlannedCell;

use crate::project::Project;
use crate::scripted::keep_seeing;

const RUNS: usize = 100_000;
const CELLS: usize = 1000;
const EVERY: usize = 1000;

fn manifest() -> String {
    let rates: Vec<String> = (1..=CELLS).map(|rate| format!("{rate}e-6")).collect();
    format!(
        "name = \"tiny\"\n[models.mlp]\nkind = \"mlp\"\n[datasets.plane]\nkind = \"regression-5d\"\nsamples = 64\n\
         [matrix]\n\"train.optimizer.lr\" = [{}]\n[train]\nepochs = 2\n[measure]\nrepeats = {}\n",
        rates.join(", "),
        RUNS / CELLS
    )
}

/// Every fifth run fails, each time in another way.
fn outcome(id: RunId) -> RunOutcome {
    let status = match (id.cell + id.block) % 35 {
        0 => Status::Failed,
        5 => Status::Diverged,
        10 => Status::Timeout,
        15 => Status::Oom,
        20 => Status::Panicked,
        25 => Status::Killed,
        _ => Status::Done,
    };
    let is_done = status == Status::Done;
    let facts = RunFacts {
        parameters: 100,
        steps: 8,
        epochs: 2,
        final_loss: Some(0.5),
        ..RunFacts::default()
    };
    let epoch = |epoch: usize| EpochRow {
        epoch,
        train_loss: Some(0.5),
        ..EpochRow::default()
    };
    RunOutcome {
        facts: is_done.then_some(facts),
        times: is_done.then(RunTimes::default),
        epochs: (0..2).map(epoch).collect(),
        wall_s: 1.0,
        ..RunOutcome::empty(status, if is_done { "" } else { "as scripted" }.to_owned())
    }
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
#[ignore = "heavy: a hundred thousand runs; run with `--release`"]
fn a_hundred_thousand_runs_leave_nothing_open() {
    let project = Project::new().file("experiments/tiny.toml", &manifest());
    let mut since = Instant::now();
    let (mut runs, mut open) = (0, Vec::new());
    let mut see = |event: &RunEvent<'_>| {
        runs += usize::from(matches!(event, RunEvent::RunEnded { .. }));
        if runs / EVERY > open.len() {
            let megabytes = os::resident_bytes().unwrap_or_default() / 1_000_000;
            let now = (count("/proc/self/fd"), count("/proc/self/task"));
            let seconds = since.elapsed().as_secs_f64();
            println!(
                "{runs} runs: {megabytes} MB, {} descriptors, {} threads, {seconds:.2} s",
                now.0, now.1
            );
            assert!(megabytes <= 150, "{megabytes} MB after {runs} runs");
            since = Instant::now();
            open.push(now);
        }
    };
    let script = |cells: &[PlannedCell], launcher: ScriptedLauncher, id: RunId| {
        if (id.cell, id.block) == (0, 0) {
            assert_eq!(cells.len(), CELLS);
            return launcher.with_default_outcome(|job| (Vec::new(), outcome(job.id)));
        }
        launcher
    };
    keep_seeing(&project, "experiments/tiny.toml", script, &mut see);
    assert_eq!(runs, RUNS);
    // How many are open at a moment is up to the scheduler; what leaks would be open a hundred thousand times.
    let is_bounded = |(descriptors, threads): &(usize, usize)| *descriptors < 32 && *threads < 16;
    assert!(open.iter().all(is_bounded), "{open:?}");
    let rows = project.read("reports/tiny/blocks.csv");
    assert_eq!(rows.lines().count(), RUNS + 1);
}
