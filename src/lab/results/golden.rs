//! Made-up results of an experiment like `experiments/ddpm.toml`, for tests: batch sizes × workers on a CPU; one cell
//! runs out of memory, one is skipped because there is no GPU.

use std::collections::BTreeMap;

use serde_json::json;

use crate::event::{
    EpochRow, LoaderTimes, MemoryParts, OpRow, OpWork, PhaseTimes, Profile, RunFacts, RunTimes,
    SAMPLES_ROW, Span, StepRow,
};
use crate::plan::{AxisInfo, AxisKind};

use super::{
    BlockRow, CellInfo, Environment, EpochRecord, FORMAT_VERSION, PlanFile, ResultSet, RunRow,
    Status, WorkRecord, metric_column, timings,
};

const SEED: u64 = 42;
const REPEATS: usize = 3;
const ENV: &str = "5f3a9c01";
const MANIFEST: &str = "name = \"ddpm\"\ntitle = \"DDPM: batch size and loader workers\"\n\n[matrix]\ndevice = [\"cpu\"]\nbatch-size = [8, 16, 32, 64]\nworkers = [0, 4]\n";

/// The complete results.
pub fn ddpm() -> ResultSet {
    let cells = cells();
    let mut set = ResultSet {
        plan: plan(&cells),
        environments: BTreeMap::from([(ENV.to_owned(), environment())]),
        ..ResultSet::default()
    };
    for cell in &cells {
        add_cell(&mut set, cell);
    }
    set.timings = timings(&set.blocks);
    set
}

/// The values that differ between cells.
struct Cell {
    device: &'static str,
    batch: u32,
    workers: u32,
}

impl Cell {
    fn key(&self) -> String {
        let (device, batch, workers) = (self.device, self.batch, self.workers);
        format!("model=unet,device={device},batch-size={batch},workers={workers}")
    }

    fn axes(&self) -> Vec<String> {
        vec![
            "unet".into(),
            self.device.into(),
            self.batch.to_string(),
            self.workers.to_string(),
        ]
    }

    fn status(&self) -> (Status, &'static str) {
        match (self.device, self.batch, self.workers) {
            ("cuda", ..) => (
                Status::Skipped,
                "device `cuda`: this build has no CUDA (feature `cuda`)",
            ),
            (_, 64, 4) => (
                Status::Oom,
                "out of memory: 3.9 GiB of 4.0 GiB (limits.memory) | allocation of 256 MiB failed",
            ),
            _ => (Status::Done, ""),
        }
    }
}

fn cells() -> Vec<Cell> {
    let batches = [8, 16, 32, 64];
    let mut cells: Vec<Cell> = batches
        .iter()
        .flat_map(|&batch| {
            [0, 4].map(|workers| Cell {
                device: "cpu",
                batch,
                workers,
            })
        })
        .collect();
    cells.push(Cell {
        device: "cuda",
        batch: 8,
        workers: 0,
    });
    cells
}

fn axis(name: &str, path: &str, kind: AxisKind, values: &[&str]) -> AxisInfo {
    AxisInfo {
        name: name.into(),
        path: path.into(),
        kind,
        values: values.iter().map(|value| (*value).into()).collect(),
    }
}

fn plan(cells: &[Cell]) -> PlanFile {
    PlanFile {
        format_version: FORMAT_VERSION,
        name: "ddpm".into(),
        title: "DDPM: batch size and loader workers".into(),
        question: Some(
            "Which batch size and how many workers train fastest at the same quality?".into(),
        ),
        manifest_path: "experiments/ddpm.toml".into(),
        manifest: MANIFEST.into(),
        axes: vec![
            axis("model", "train.model", AxisKind::Category, &["unet"]),
            axis(
                "device",
                "train.device",
                AxisKind::Category,
                &["cpu", "cuda"],
            ),
            axis(
                "batch-size",
                "train.batch-size",
                AxisKind::Integer,
                &["8", "16", "32", "64"],
            ),
            axis("workers", "loader.workers", AxisKind::Integer, &["0", "4"]),
        ],
        columns: vec![metric_column("val_loss")],
        cells: cells.iter().enumerate().map(cell_info).collect(),
        report: json!({"templates": ["analysis"]}),
        measure: json!({"repeats": REPEATS, "seeds": [SEED], "warmup-steps": 1}),
        ..PlanFile::default()
    }
}

fn cell_info((index, cell): (usize, &Cell)) -> CellInfo {
    let is_measured = cell.status().0 == Status::Done;
    CellInfo {
        key: cell.key(),
        axes: cell.axes(),
        cell_hash: format!("{:08x}", 0x1f3d_5b79_u32.wrapping_mul(index as u32 + 1)),
        task_signature: "c0ffee01".into(),
        work_signature: "beef0002".into(),
        code_hash: is_measured.then(|| "7a11ab1e".into()),
        numeric_class: is_measured.then(|| "x86-64 avx512 cpu".into()),
        spec: json!({"train": {"batch-size": cell.batch}, "loader": {"workers": cell.workers}}),
        ..CellInfo::default()
    }
}

fn add_cell(set: &mut ResultSet, cell: &Cell) {
    let (status, reason) = cell.status();
    let is_done = status == Status::Done;
    set.runs.push(RunRow {
        key: cell.key(),
        seed: SEED,
        axes: cell.axes(),
        status,
        reason: reason.into(),
        facts: is_done.then(|| facts(cell)),
    });
    if is_done {
        set.epochs.extend((0..4).map(|epoch| EpochRecord {
            key: cell.key(),
            seed: SEED,
            epoch: epoch_row(cell, epoch),
        }));
        set.work.extend(work(cell));
    }
    let runs = if status == Status::Skipped {
        0
    } else {
        REPEATS
    };
    set.blocks.extend((0..runs).map(|block| BlockRow {
        key: cell.key(),
        seed: SEED,
        block,
        status,
        reason: reason.into(),
        env_id: ENV.into(),
        exclusive: true,
        times: is_done.then(|| times(cell, block).into()),
        peak_rss_bytes: is_done.then(|| 500_000_000 + 24_000_000 * u64::from(cell.batch)),
        cpu_s: is_done.then_some(61.25),
        wall_s: Some(if is_done { 31.5 } else { 3.25 }),
        estimated_s: Some(18.0),
        session: Some("2026-11-21T09:30:00Z".into()),
        start_s: Some(0.25 + 32.0 * block as f64),
    }));
}

fn loss(cell: &Cell, epoch: usize) -> f64 {
    let batch = f64::from(cell.batch);
    0.06 + (0.2 + batch / 250.0) * (-0.9 * epoch as f64).exp() + batch / 4000.0
}

fn epoch_row(cell: &Cell, epoch: usize) -> EpochRow {
    EpochRow {
        epoch,
        train_loss: Some(loss(cell, epoch)),
        validation: BTreeMap::from([("val_loss".into(), Some(loss(cell, epoch) * 1.04))]),
        lr: Some(5e-5),
        steps: Vec::<StepRow>::new(),
    }
}

fn facts(cell: &Cell) -> RunFacts {
    RunFacts {
        parameters: 12_817_859,
        flops_forward_per_sample: 5_104_205_824.0,
        flops_backward_per_sample: 10_184_523_776.0,
        steps: 24,
        samples: u64::from(24 * cell.batch),
        epochs: 4,
        best_epoch: Some(3),
        first_loss: Some(1.023_456_789_012_3),
        final_loss: Some(loss(cell, 3)),
        best_loss: Some(loss(cell, 3) * 1.04),
        eval_loss_before: Some(1.001_953_125),
        eval_loss_after: Some(loss(cell, 3) * 1.1),
        metrics: BTreeMap::from([("val_loss".into(), Some(loss(cell, 3) * 1.04))]),
        weight_checksum: format!("{:016x}", 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(cell.batch)),
        first_steps_loss: Some(1.1),
        diverged: None,
        nondeterministic: String::new(),
        work: Vec::new().into(),
        confusion: Vec::new().into(),
    }
}

/// Work of a step: a convolution and the optimizer.
fn work(cell: &Cell) -> [WorkRecord; 3] {
    let samples = u64::from(cell.batch);
    let record = |row| WorkRecord {
        key: cell.key(),
        row,
    };
    let convolution = OpWork {
        layer: "down.conv1".into(),
        op: "conv2d".into(),
        calls: 1,
        backward_calls: 1,
        flops_forward: 3_000_000 * samples,
        flops_backward: 6_000_000 * samples,
        tensors: 3,
        tensor_bytes: 12_288 * samples,
        ..OpWork::default()
    };
    let called = |op: &str, calls| OpWork {
        op: op.into(),
        calls,
        ..OpWork::default()
    };
    let samples = called(SAMPLES_ROW, 6 * samples);
    let rows = [samples, convolution, called("adam", 1)];
    rows.map(record)
}

fn times(cell: &Cell, block: usize) -> RunTimes {
    let batch = f64::from(cell.batch);
    let noise = 1.0 + 0.013 * (f64::from(cell.batch + 3 * cell.workers) + 2.3 * block as f64).sin();
    let wait = if cell.workers == 0 {
        1.9 * batch
    } else {
        0.4 + 0.01 * batch
    };
    let phases = PhaseTimes {
        data_wait_ms: wait * noise,
        transfer_ms: 0.0,
        forward_ms: (18.0 + 21.5 * batch) * noise,
        loss_ms: (0.05 + 0.01 * batch) * noise,
        backward_ms: (26.0 + 43.0 * batch) * noise,
        optimizer_ms: 21.4 * noise,
        other_ms: 0.8,
    };
    let step_mean_ms = phases.data_wait_ms
        + phases.forward_ms
        + phases.loss_ms
        + phases.backward_ms
        + phases.optimizer_ms
        + phases.other_ms;
    RunTimes {
        warmup_steps: 1,
        measured_steps: Some(5),
        step_ms: step_mean_ms * 0.997,
        phases,
        step_mean_ms,
        samples_per_s: batch / step_mean_ms * 1e3,
        epoch_s: Some(step_mean_ms * 6e-3),
        train_s: step_mean_ms * 24e-3,
        validation_s: 1.25,
        best_epoch_s: Some(step_mean_ms * 24e-3),
        improvement_per_s: Some(0.9 / (step_mean_ms * 24e-3)),
        startup_s: 0.84,
        total_s: step_mean_ms * 24e-3 + 2.1,
        loader: LoaderTimes {
            wait_s: wait * 24e-3 * noise,
            work_s: 1.85 * batch * 24e-3,
            start_ms: f64::from(cell.workers) * 0.11,
            stop_ms: f64::from(cell.workers) * 0.06,
        },
        memory_growth_bytes: Some(4096 * i64::from(cell.workers)),
        peak_train_bytes: Some(480_000_000 + 24_000_000 * u64::from(cell.batch)),
        peak_validation_bytes: Some(500_000_000 + 24_000_000 * u64::from(cell.batch)),
        memory_source: "VmHWM".into(),
        memory: MemoryParts {
            parameter_bytes: 51_271_436,
            gradient_bytes: 51_271_436,
            optimizer_bytes: 102_542_872,
            activation_bytes: 17_500_000 * u64::from(cell.batch),
        },
        threads: 2,
        numeric_class: "x86-64 avx512 cpu".into(),
        ..RunTimes::default()
    }
}

fn environment() -> Environment {
    let map = |pairs: &[(&str, &str)]| {
        let owned = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        owned.collect()
    };
    Environment {
        must_match: map(&[
            ("architecture", "x86_64"),
            ("build_features", "x86-v4"),
            ("build_profile", "release"),
            ("build_rustc", "1.95.0"),
            ("cpu_model", "Example CPU @ 2.30GHz"),
            ("devices", "none"),
            ("logical_cores", "2"),
            ("memory_gib", "8"),
            ("os", "linux"),
            ("physical_cores", "1"),
            ("vector_level", "avx512"),
        ]),
        warn: map(&[
            ("clock_mhz", "2300"),
            ("kernel", "6.1.0"),
            ("os_version", "12"),
        ]),
        info: map(&[
            ("commit", "0123456789abcdef0123456789abcdef01234567"),
            ("dfdx", "0.13.0"),
            ("dirty", "false"),
            ("version", "0.2.0"),
        ]),
    }
}

/// The profile of a small network: two convolutions, a linear layer, a loss and an optimizer.
pub fn profile() -> Profile {
    let op = |layer: &str, op: &str, phase: &str, ms: (f64, f64), flops: (f64, f64)| OpRow {
        layer: layer.into(),
        op: op.into(),
        phase: phase.into(),
        calls: 10,
        forward_ms: ms.0,
        backward_ms: ms.1,
        flops_forward: flops.0,
        flops_backward: flops.1,
        allocated_bytes: 4096.0,
        retained_bytes: 1024.0,
    };
    Profile {
        steps: 5,
        samples: 8,
        step_ms: 60.0,
        phases: PhaseTimes {
            data_wait_ms: 2.0,
            transfer_ms: 0.5,
            forward_ms: 20.0,
            loss_ms: 1.0,
            backward_ms: 30.0,
            optimizer_ms: 4.0,
            other_ms: 2.5,
        },
        ops: vec![
            op("down.conv1", "conv2d", "forward", (12.0, 20.0), (3e9, 6e9)),
            op("down.conv2", "conv2d", "forward", (3.0, 5.0), (1e9, 2e9)),
            op("head", "linear", "forward", (4.0, 3.0), (0.1e9, 0.2e9)),
            op("", "mse", "loss", (0.75, 0.25), (1e4, 1e4)),
            op("", "adam", "optimizer", (3.5, 0.0), (1e6, 0.0)),
        ],
        spans: vec![Span {
            lane: "phases".into(),
            name: "forward".into(),
            detail: String::new(),
            start_us: 0.0,
            duration_us: 20_000.0,
        }],
    }
}
