//! The overhead of a trial: ten thousand trials without an epoch.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::Project;

/// The perceptron of the quickstart, with a learning rate that has no effect.
const MANIFEST: &str = r#"
name = "tiny"

[models.mlp]
kind = "mlp"
hidden = 64
depth = 3

[datasets.linear]
kind = "regression-5d"
target = "linear"
samples = 1_000

[train]
model = "mlp"
dataset = "linear"
epochs = 0
batch-size = 256

[search]
objective = "val_loss"
sampler = "random"

[search.space]
"train.optimizer.lr" = { float = [1e-5, 1e-1], log = true }
"#;

const JOBS: u32 = 2;

/// Resident megabytes of a process; `None` after its end.
fn megabytes(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

fn start(project: &Project, trials: usize) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(["run", "experiments/tiny.toml", "--no-report"])
        .args(["--jobs", &JOBS.to_string()])
        .args(["--set", &format!("search.trials={trials}")])
        .current_dir(project.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program")
}

/// Time and memory of a search of empty trials.
struct Took {
    seconds: f64,
    /// Of the searching process, ten times a second.
    megabytes: Vec<f64>,
}

fn search(project: &Project, trials: usize) -> Took {
    let began = Instant::now();
    let mut child = start(project, trials);
    let mut seen = Vec::new();
    while child.try_wait().expect("the program").is_none() {
        seen.extend(megabytes(child.id()));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_eq!(project.rows("runs.csv").len(), trials);
    Took {
        seconds: began.elapsed().as_secs_f64(),
        megabytes: seen,
    }
}

fn tell(what: &str, trials: usize, took: &Took) {
    let each = 1e3 * took.seconds * f64::from(JOBS) / trials as f64;
    let at = |share: f64| {
        let index = share * (took.megabytes.len() - 1) as f64;
        took.megabytes[index as usize]
    };
    let most = took.megabytes.iter().copied().fold(0.0, f64::max);
    println!(
        "{what}: {:.1} s, {each:.2} ms a trial; resident after a tenth, half, all: {:.0}, {:.0}, {:.0} MB, at most {most:.0} MB",
        took.seconds,
        at(0.1),
        at(0.5),
        at(1.0),
    );
}

/// Median lifetime of a worker in milliseconds, measured by its parent.
fn lived_ms(project: &Project) -> f64 {
    let rows = project.rows("blocks.csv");
    let mut seconds: Vec<f64> = rows
        .iter()
        .filter_map(|row| row["wall_s"].parse().ok())
        .collect();
    seconds.sort_by(f64::total_cmp);
    1e3 * seconds[seconds.len() / 2]
}

#[test]
#[ignore = "heavy: ten thousand processes (`just bench-trials`)"]
fn ten_thousand_empty_trials_take_little_memory() {
    let trials = 10_000;
    let project = Project::new().file("experiments/tiny.toml", MANIFEST);
    let took = search(&project, trials);
    tell("10,000 empty trials", trials, &took);
    println!(
        "of which a worker lived {:.2} ms (median)",
        lived_ms(&project)
    );
    let again = search(&project, trials);
    tell("all of them kept", trials, &again);
    // Every trial is a row that is rewritten at the end; it took 13 kB of memory when this test was written.
    let growth = took.megabytes.last().unwrap() - took.megabytes[took.megabytes.len() / 10];
    assert!(growth < 200.0, "{growth} MB");
}
