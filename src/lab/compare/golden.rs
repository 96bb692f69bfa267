//! A scripted comparison for tests: the results of `results::golden` on two branches, measured in one session.
#![expect(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::collections::BTreeSet;

use std::sync::LazyLock;

use serde_json::json;

use crate::event::RunTimes;
use crate::results::golden::ddpm;
use crate::results::{BlockRow, CellInfo, ResultSet, WorkRecord, timings};

use super::{Comparison, Options, Origin, Side};

const BLOCKS: usize = 12;
/// `env_id` of another machine.
const OTHER: &str = "0badcafe";

/// The comparison of `main` with a branch that makes batch size 8 slower by 12 % and 16 faster by 20 %, changes the learning
/// rate and thereby the facts of batch size 64, removes a cell (batch size 8, 4 workers) and adds one (batch size 128).
pub fn branches() -> Comparison {
    let compared = Comparison::between(main_side(), branch_side(), &Options::default());
    compared.expect("no cells are chosen")
}

/// Comparison along `batch-size` within the results of `main`: size 8 with size 16.
pub fn batch_sizes() -> Comparison {
    let compared = Comparison::along(&main_side(), "batch-size", ("8", "16"), &Options::default());
    compared.expect("an axis with these values")
}

/// The comparison of [`branches`], but measured on two machines. If `asked`, times are compared nevertheless.
pub fn across_machines(asked: bool) -> Comparison {
    let mut after = branch_side();
    if let Some((_, mut environment)) = after.set.environments.pop_first() {
        let fields = &mut environment.must_match;
        fields.insert("cpu_model".into(), "Another CPU @ 3.00GHz".into());
        fields.insert("logical_cores".into(), "4".into());
        after.set.environments.insert(OTHER.into(), environment);
    }
    for row in &mut after.set.blocks {
        row.env_id = OTHER.into();
    }
    for row in &mut after.set.timings {
        row.env_id = OTHER.into();
    }
    let options = Options {
        across_env: asked,
        ..Options::default()
    };
    let compared = Comparison::between(main_side(), after, &options);
    compared.expect("no cells are chosen")
}

/// The side before: the results on `main`.
pub fn main_side() -> Side {
    // Cached: computing intervals takes a second without optimisation.
    static MAIN: LazyLock<Side> = LazyLock::new(made_main);
    MAIN.clone()
}

/// The side after: the results on the branch.
pub fn branch_side() -> Side {
    static BRANCH: LazyLock<Side> = LazyLock::new(made_branch);
    BRANCH.clone()
}

fn made_main() -> Side {
    side(
        "main",
        "1111111111111111111111111111111111111111",
        with_noisy_blocks(0.0, |_| 1.0),
    )
}

fn made_branch() -> Side {
    let mut set = with_noisy_blocks(500.0, |key| {
        if key.contains("batch-size=8,") {
            1.12
        } else if key.contains("batch-size=16,") {
            0.8
        } else {
            1.0
        }
    });
    drop_cell(&mut set, "model=unet,device=cpu,batch-size=8,workers=4");
    change_facts(&mut set, "model=unet,device=cpu,batch-size=64,workers=0");
    add_cell(&mut set);
    add_product(&mut set, "model=unet,device=cpu,batch-size=16,workers=0");
    set.timings = timings(&set.blocks);
    side("faster", "2222222222222222222222222222222222222222", set)
}

/// Wraps the results as a side at a commit.
pub fn side(name: &str, commit: &str, set: ResultSet) -> Side {
    Side {
        name: name.into(),
        origin: Origin::Git {
            reference: name.into(),
            commit: commit.into(),
        },
        set,
        noise: Vec::new(),
        searches: Vec::new(),
        until_sure: BTreeSet::new(),
    }
}

/// The results with [`BLOCKS`] blocks that vary by about 2 % and drift by 4 %, with times scaled by `factor(key)`. `salt`
/// seeds the noise.
pub fn with_noisy_blocks(salt: f64, factor: fn(&str) -> f64) -> ResultSet {
    let mut set = ddpm();
    let first = set.blocks.iter().filter(|row| row.block == 0);
    let first: Vec<BlockRow> = first.cloned().collect();
    set.blocks = first
        .iter()
        .enumerate()
        .flat_map(|(cell, row)| {
            (0..BLOCKS).map(move |block| {
                let factor = factor(&row.key);
                let drift = 1.0 + 0.04 * block as f64 / BLOCKS as f64;
                let place = (cell * BLOCKS + block) as f64 + salt;
                let noise = 1.0 + 0.02 * noise(place);
                BlockRow {
                    block,
                    start_s: Some(30.0 * (block * 10 + cell) as f64 + salt),
                    times: row
                        .times
                        .as_deref()
                        .map(|t| scaled(t, factor * drift * noise).into()),
                    ..row.clone()
                }
            })
        })
        .collect();
    set.timings = timings(&set.blocks);
    set
}

/// Pseudo-random, between −1 and 1.
fn noise(place: f64) -> f64 {
    let value = (place * 12.9898).sin() * 43_758.545;
    2.0 * (value - value.floor()) - 1.0
}

fn scaled(times: &RunTimes, factor: f64) -> RunTimes {
    let mut scaled = times.clone();
    for value in [
        &mut scaled.step_ms,
        &mut scaled.step_mean_ms,
        &mut scaled.phases.data_wait_ms,
        &mut scaled.phases.forward_ms,
        &mut scaled.phases.loss_ms,
        &mut scaled.phases.backward_ms,
        &mut scaled.phases.optimizer_ms,
        &mut scaled.phases.other_ms,
        &mut scaled.train_s,
        &mut scaled.total_s,
    ] {
        *value *= factor;
    }
    scaled.epoch_s = times.epoch_s.map(|value| value * factor);
    scaled.best_epoch_s = times.best_epoch_s.map(|value| value * factor);
    scaled.samples_per_s = times.samples_per_s / factor;
    scaled.improvement_per_s = times.improvement_per_s.map(|value| value / factor);
    scaled
}

fn drop_cell(set: &mut ResultSet, key: &str) {
    set.plan.cells.retain(|cell| cell.key != key);
    set.runs.retain(|row| row.key != key);
    set.epochs.retain(|row| row.key != key);
    set.work.retain(|row| row.key != key);
    set.blocks.retain(|row| row.key != key);
}

fn change_facts(set: &mut ResultSet, key: &str) {
    for cell in set.plan.cells.iter_mut().filter(|cell| cell.key == key) {
        cell.cell_hash = "changed1".into();
        if let Some(train) = cell.spec.get_mut("train") {
            train["optimizer"] = json!({"kind": "adam", "lr": 1e-4});
        }
    }
    for row in set.runs.iter_mut().filter(|row| row.key == key) {
        if let Some(facts) = &mut row.facts {
            facts.final_loss = facts.final_loss.map(|loss| loss * 1.02);
            facts.weight_checksum = "00000000000000ff".into();
        }
    }
}

/// Doubles the calls and FLOPs of the convolution of a cell, as if a second call were added.
fn add_product(set: &mut ResultSet, key: &str) {
    let is_one = |record: &&mut WorkRecord| record.key == key && record.row.op == "conv2d";
    for WorkRecord { row, .. } in set.work.iter_mut().filter(is_one) {
        (row.calls, row.backward_calls) = (2, 2);
        row.flops_forward *= 2;
        row.flops_backward *= 2;
        row.tensors += 2;
        row.tensor_bytes += row.tensor_bytes / 2;
    }
}

/// Adds a batch size: the rows of batch size 32 under another key, with doubled times.
fn add_cell(set: &mut ResultSet) {
    const OLD: &str = "model=unet,device=cpu,batch-size=32,workers=0";
    const NEW: &str = "model=unet,device=cpu,batch-size=128,workers=0";
    let axes: Vec<String> = ["unet", "cpu", "128", "0"].map(String::from).into();
    let cell = set.plan.cells.iter().find(|cell| cell.key == OLD);
    let cell = cell.cloned().unwrap_or_default();
    set.plan.cells.push(CellInfo {
        key: NEW.into(),
        axes: axes.clone(),
        cell_hash: "added001".into(),
        spec: json!({"train": {"batch-size": 128}, "loader": {"workers": 0}}),
        ..cell
    });
    let mut own = set.plan.axes.iter_mut();
    if let Some(axis) = own.find(|axis| axis.name == "batch-size") {
        axis.values.push("128".into());
    }
    add_rows(&mut set.runs, |row| {
        row.axes.clone_from(&axes);
        row.key == OLD && replace(&mut row.key, NEW)
    });
    add_rows(&mut set.epochs, |row| {
        row.key == OLD && replace(&mut row.key, NEW)
    });
    add_rows(&mut set.blocks, |row| {
        row.times = row.times.as_deref().map(|times| scaled(times, 4.0).into());
        row.key == OLD && replace(&mut row.key, NEW)
    });
}

/// Adds changed copies of rows: `change` modifies a copy and returns whether it is added.
fn add_rows<R: Clone>(rows: &mut Vec<R>, mut change: impl FnMut(&mut R) -> bool) {
    let mut copies = rows.clone();
    copies.retain_mut(|row| change(row));
    rows.extend(copies);
}

fn replace(key: &mut String, by: &str) -> bool {
    by.clone_into(key);
    true
}
