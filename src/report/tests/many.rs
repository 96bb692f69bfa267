//! Tests with ten thousand cells: they are rendered fast, in groups, with plots that aggregate.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use super::text;
use crate::plan::{AxisInfo, AxisKind};
use crate::report::{Report, ReportOptions, render};
use crate::results::golden::ddpm;
use crate::results::{self, ResultSet, write};

const MODELS: [&str; 4] = ["mlp", "wide", "deep", "unet"];
const BATCHES: [usize; 10] = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256];
const RATES: usize = 25;
const SAMPLES: [usize; 10] = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200];

/// Cells of a matrix of models, batch sizes, learning rates and numbers of samples, the first `count` of 10,000: two
/// runs and four epochs each, every hundredth out of memory.
pub(in crate::report) fn many(count: usize) -> ResultSet {
    let mut set = ddpm();
    let golden = set.clone();
    set.plan.axes = axes();
    set.plan.cells.clear();
    set.runs.clear();
    set.epochs.clear();
    set.blocks.clear();
    for number in 0..count {
        add(&mut set, &golden, number);
    }
    set.timings = results::timings(&set.blocks);
    set
}

fn axes() -> Vec<AxisInfo> {
    let axis = |name: &str, path: &str, kind| AxisInfo {
        name: name.into(),
        path: path.into(),
        kind,
        values: Vec::new(),
    };
    vec![
        axis("model", "train.model", AxisKind::Category),
        axis("batch-size", "train.batch-size", AxisKind::Integer),
        axis("train.optimizer.lr", "train.optimizer.lr", AxisKind::Float),
        axis(
            "datasets.linear.samples",
            "datasets.linear.samples",
            AxisKind::Integer,
        ),
    ]
}

fn add(set: &mut ResultSet, golden: &ResultSet, number: usize) {
    let (samples, rest) = (SAMPLES[number % 10], number / 10);
    let (rate, rest) = (rest % RATES, rest / RATES);
    let (batch, model) = (BATCHES[rest % 10], rest / 10 % 4);
    let rate = (rate + 1) as f64 / 1e5;
    let values = [
        MODELS[model].to_owned(),
        batch.to_string(),
        rate.to_string(),
        samples.to_string(),
    ];
    let key = format!(
        "model={},batch-size={},lr={},samples={}",
        values[0], values[1], values[2], values[3]
    );
    let mut info = golden.plan.cells[0].clone();
    (info.key, info.axes) = (key.clone(), values.to_vec());
    info.cell_hash.clone_from(&key);
    info.spec = json!({
        "model": { "kind": MODELS[model] },
        "dataset": { "kind": "regression-5d", "samples": samples, "target": "linear", "seed": 0 },
        "train": { "batch-size": batch, "optimizer": { "lr": rate } },
    });
    set.plan.cells.push(info);
    let speed = (model + 1) as f64 * (1.0 + 0.1 * (number as f64).sin());
    let is_done = number % 100 != 99;
    let mut run = golden.runs[0].clone();
    (run.key, run.axes) = (key.clone(), values.to_vec());
    if !is_done {
        (run.status, run.facts) = (results::Status::Oom, None);
        run.reason = "out of memory: 3.9 GiB of 4.0 GiB".into();
    }
    set.runs.push(run);
    for block in golden.blocks.iter().take(2) {
        let mut block = block.clone();
        block.key.clone_from(&key);
        if !is_done {
            (block.status, block.times) = (results::Status::Oom, None);
        }
        if let Some(times) = block.times_mut() {
            times.samples_per_s *= speed * (batch as f64).sqrt();
            times.train_s *= samples as f64 / speed;
        }
        set.blocks.push(block);
    }
    for epoch in golden.epochs.iter().take(if is_done { 4 } else { 0 }) {
        let mut epoch = epoch.clone();
        epoch.key.clone_from(&key);
        epoch.epoch.train_loss = epoch.epoch.train_loss.map(|loss| loss * speed);
        set.epochs.push(epoch);
    }
}

fn folder_of(root: &Path, set: &ResultSet) -> PathBuf {
    let folder = root.join("reports/many");
    write(&folder, set).expect("writes");
    folder
}

#[test]
fn of_more_than_eight_cells_tables_show_the_best_and_the_baseline() {
    let mut set = many(20);
    let keys: Vec<String> = set.plan.cells.iter().map(|cell| cell.key.clone()).collect();
    for run in &mut set.blocks {
        let place = keys.iter().position(|key| *key == run.key);
        let seconds = 1 + place.expect("a cell") * 7 % 20;
        run.times_mut().expect("a measured run").epoch_s = Some(seconds as f64);
    }
    set.timings = results::timings(&set.blocks);
    set.plan.report = json!({ "answer": ["epoch_s"] });
    let shown = |set: &ResultSet| -> (Vec<String>, Option<String>) {
        let report = Report::of(set);
        let speed = report.table_or_panic("speed");
        let keys = |table: &crate::report::Table| -> Vec<String> {
            table.rows.iter().map(|row| row.key.clone()).collect()
        };
        for id in ["phases", "memory", "quality"] {
            assert_eq!(keys(report.table_or_panic(id)), keys(speed), "{id}");
        }
        (keys(speed), speed.cut.clone())
    };
    // In plan order.
    let fast = |most: usize, baseline: Option<usize>| -> Vec<String> {
        let is_shown = |place: &usize| place * 7 % 20 < most || Some(*place) == baseline;
        let places = (0..20).filter(is_shown);
        places.map(|place| keys[place].clone()).collect()
    };
    let words = "6 of 20 cells: the best of each task, as the answer has them. All are in the CSV files beside this report.";
    assert_eq!(shown(&set), (fast(6, None), Some(words.to_owned())));
    // The slowest of all: 17 · 7 % 20 = 19.
    let axes = set.plan.axes.iter().zip(&set.plan.cells[17].axes);
    let axes = axes.map(|(axis, value)| (axis.name.clone(), json!(value)));
    set.plan.report =
        json!({ "answer": ["epoch_s"], "baseline": serde_json::Value::Object(axes.collect()) });
    let words = words.replace("has them.", "has them, and the baseline.");
    assert_eq!(shown(&set), (fast(5, Some(17)), Some(words)));
}

#[test]
fn pages_of_thousands_of_cells_stay_small() {
    let is_slow = cfg!(debug_assertions);
    render_many(if is_slow { 2_000 } else { 10_000 });
}

/// Every template and every plot within 2 s: `cargo test --release --lib ten_thousand -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement: run in release, with nothing beside it"]
fn ten_thousand_cells_are_rendered_in_two_seconds() {
    let seconds = render_many(10_000);
    assert!(seconds < 2.0, "{seconds} s");
}

/// Seconds that the slower of two templates takes.
fn render_many(count: usize) -> f64 {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = folder_of(root.path(), &many(count));
    let mut slowest: f64 = 0.0;
    for name in ["analysis", "profiling"] {
        let options = ReportOptions {
            templates: vec![name.to_owned()],
            ..ReportOptions::default()
        };
        let start = Instant::now();
        let files = render(&folder, &options).expect("renders");
        let seconds = start.elapsed().as_secs_f64();
        let size = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
        let is_page = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "html");
        let path = files.iter().find(is_page).expect("a page");
        let page = text(path);
        println!(
            "{name}: {count} cells in {seconds:.2} s, page {} bytes, {} files of {} bytes",
            page.len(),
            files.len(),
            files.iter().map(size).sum::<u64>()
        );
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        if let Some(to) = std::env::var_os("FIELDTRIAL_MANY") {
            let to = Path::new(&to).join(format!("{name}.html"));
            fs::copy(path, to).expect("copies");
        }
        slowest = slowest.max(seconds);
    }
    slowest
}
