//! A scripted experiment in the shape of `experiments/detector.toml`, for tests: a treatment of three factors, of which
//! two are measured alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::compare::{
    CellPair, Comparison, Judgement, MatchedBy, Origin, QualityChange, QualityVerdict, Ratio, Side,
    SpecChange, Verdict, Work, testing,
};
use crate::event::{EpochRow, PhaseTimes, RunFacts, RunTimes};
use crate::plan::{AxisInfo, AxisKind};
use crate::report::view::{Cell, CellInView, View};
use crate::results::{
    BlockRow, CellInfo, Direction, EpochRecord, FORMAT_VERSION, IntervalKind, PlanFile, ResultSet,
    RunRow, Status, metric_column, timings,
};

use super::alone::differing;

pub(super) const SEED: u64 = 42;
const BLOCKS: usize = 6;
/// Passes over the validation split: four epochs, and the mean weights.
const PASSES: f64 = 5.0;
const STARTUP_S: f64 = 0.5;

/// One variant: its name, milliseconds of a step, milliseconds of a validated sample, batches and batch size of a
/// validation, validation losses.
struct Variant(&'static str, f64, f64, (f64, f64), [f64; 4]);

const VARIANTS: [Variant; 4] = [
    Variant("before", 20.0, 0.20, (50.0, 32.0), [1.0, 0.9, 0.8, 0.7]),
    Variant("network", 30.0, 0.25, (50.0, 32.0), [0.9, 0.8, 0.7, 0.65]),
    Variant("validation", 20.0, 0.15, (20.0, 64.0), [1.0, 0.9, 0.8, 0.7]),
    Variant("after", 33.0, 0.20, (20.0, 64.0), [0.95, 0.75, 0.65, 0.6]),
];

/// The scripted results.
pub(super) fn results() -> ResultSet {
    let mut set = ResultSet {
        plan: plan(),
        ..ResultSet::default()
    };
    for variant in &VARIANTS {
        let key = key(variant.0);
        set.runs.push(RunRow {
            key: key.clone(),
            seed: SEED,
            axes: vec![variant.0.into()],
            status: Status::Done,
            reason: String::new(),
            facts: Some(facts(variant)),
        });
        set.epochs.extend((0..4).map(|epoch| EpochRecord {
            key: key.clone(),
            seed: SEED,
            epoch: EpochRow {
                epoch,
                train_loss: Some(variant.4[epoch] + 0.1),
                validation: BTreeMap::from([("val_loss".into(), Some(variant.4[epoch]))]),
                lr: Some(1e-4),
                steps: Vec::new(),
            },
        }));
        set.blocks
            .extend((0..BLOCKS).map(|block| run(variant, block)));
    }
    set.timings = timings(&set.blocks);
    set
}

fn key(variant: &str) -> String {
    format!("variant={variant}")
}

fn plan() -> PlanFile {
    let set = |pairs: &[(&str, Value)]| -> BTreeMap<String, Value> {
        pairs
            .iter()
            .map(|(path, value)| ((*path).to_owned(), value.clone()))
            .collect()
    };
    let network = ("train.model", json!("neu"));
    let batches = ("validation.batches", json!(20));
    let size = ("validation.batch-size", json!(64));
    let lr = ("train.optimizer.lr", json!(5e-5));
    PlanFile {
        format_version: FORMAT_VERSION,
        name: "detector".into(),
        title: "Detector signals".into(),
        manifest_path: "experiments/detector.toml".into(),
        manifest: "name = \"detector\"\n".into(),
        axes: vec![AxisInfo {
            name: "variant".into(),
            path: "variant".into(),
            kind: AxisKind::Category,
            values: VARIANTS.iter().map(|variant| variant.0.into()).collect(),
        }],
        variants: BTreeMap::from([
            ("before".into(), set(&[("loader.workers", json!(0))])),
            ("network".into(), set(std::slice::from_ref(&network))),
            ("validation".into(), set(&[batches.clone(), size.clone()])),
            ("after".into(), set(&[network, batches, size, lr])),
        ]),
        columns: vec![metric_column("val_loss")],
        cells: VARIANTS.iter().map(info).collect(),
        compare: json!({"treatment": "variant", "baseline": "before"}),
        measure: json!({"repeats": BLOCKS, "seeds": [SEED]}),
        ..PlanFile::default()
    }
}

fn info(variant: &Variant) -> CellInfo {
    let is_neu = ["network", "after"].contains(&variant.0);
    let lr = if variant.0 == "after" { 5e-5 } else { 1e-4 };
    let (batches, size) = variant.3;
    let model = if is_neu {
        json!({"kind": "detector-neu", "layers": 6})
    } else {
        json!({"kind": "detector-alt", "layers": 4})
    };
    CellInfo {
        key: key(variant.0),
        axes: vec![variant.0.into()],
        code_hash: Some("7a11ab1e".into()),
        spec: json!({
            "model": model,
            "train": {
                "batch-size": 32,
                "accumulate": 1,
                "device": "cpu",
                "optimizer": {"kind": "adam", "lr": lr},
                "save-to": "denoiser",
            },
            "loader": {"workers": 0},
            "measure": {"repeats": BLOCKS},
            "validation": {
                "batches": batches as u64,
                "batch-size": size as u64,
                "cycle": true,
                "ensemble": 3,
            },
        }),
        ..CellInfo::default()
    }
}

fn facts(variant: &Variant) -> RunFacts {
    RunFacts {
        parameters: 9_152_781,
        steps: 100,
        samples: 3200,
        epochs: 4,
        best_epoch: Some(3),
        first_loss: Some(1.1),
        final_loss: Some(variant.4[3] + 0.1),
        best_loss: Some(variant.4[3]),
        metrics: BTreeMap::from([("val_loss".into(), Some(variant.4[3]))]),
        weight_checksum: format!("{:016x}", 0x9e37_u64 + variant.1 as u64),
        ..RunFacts::default()
    }
}

/// A run: everything takes 1 % longer in each block than in the one before.
fn run(variant: &Variant, block: usize) -> BlockRow {
    let drift = 1.0 + 0.01 * block as f64;
    let (batches, size) = variant.3;
    let validation_s = PASSES * batches * size * variant.2 / 1e3;
    let train_s = variant.1 * 0.1;
    let total_s = (STARTUP_S + train_s + validation_s) * drift;
    let mebibytes = |mebibytes: f64| Some((mebibytes * 1_048_576.0) as u64);
    let assessment_s = (block == 0).then_some(10.0);
    BlockRow {
        key: key(variant.0),
        seed: SEED,
        block,
        status: Status::Done,
        reason: String::new(),
        env_id: "5f3a9c01".into(),
        exclusive: true,
        times: Some(Arc::new(RunTimes {
            warmup_steps: 3,
            measured_steps: Some(97),
            step_ms: variant.1 * drift,
            step_mean_ms: variant.1 * drift,
            phases: phases(variant.1 * drift),
            samples_per_s: 32.0 / (variant.1 * drift) * 1e3,
            epoch_s: Some(train_s * drift / 4.0),
            train_s: train_s * drift,
            validation_s: validation_s * drift,
            best_epoch_s: Some(train_s * drift),
            startup_s: STARTUP_S * drift,
            total_s,
            peak_train_bytes: mebibytes(variant.1 * 10.0),
            peak_validation_bytes: mebibytes(variant.1 * 10.0 + 5.0),
            memory_source: "VmHWM".into(),
            threads: 2,
            assessment_s,
            checkpoint_bytes: mebibytes(variant.1),
            log_bytes: Some(50_000),
            ..RunTimes::default()
        })),
        peak_rss_bytes: mebibytes(variant.1 * 10.0 + 8.0),
        cpu_s: Some(total_s * 1.8),
        wall_s: Some(total_s + assessment_s.unwrap_or(0.0)),
        estimated_s: None,
        session: Some("2026-11-21T19:05:33Z".into()),
        start_s: Some(60.0 * block as f64),
    }
}

/// Half of the step is forward, 40 % backward, 5 % optimizer, the rest other.
pub(super) fn phases(step_ms: f64) -> PhaseTimes {
    let part = step_ms / 20.0;
    PhaseTimes {
        forward_ms: 10.0 * part,
        backward_ms: 8.0 * part,
        optimizer_ms: part,
        other_ms: part,
        ..PhaseTimes::default()
    }
}

/// The results compared along their treatment, from `before` to `after`.
pub(super) fn compared(set: &ResultSet, before: &str, after: &str) -> Comparison {
    let view = View::of(set);
    let find = |name: &str| -> &Cell<'_> {
        let mut cells = view.cells.iter();
        cells
            .find(|cell| cell.info.axes[0] == name)
            .expect("a variant")
    };
    let at = |name: &str| CellInView {
        view: &view,
        cell: find(name),
    };
    let side = |name: &str| Side {
        name: name.into(),
        origin: Origin::Value {
            axis: "variant".into(),
            value: name.into(),
        },
        set: set.clone(),
        noise: Vec::new(),
        searches: Vec::new(),
        until_sure: BTreeSet::new(),
    };
    let changes = differing(at(before), at(after));
    let pair = pair((before, after), changes);
    Comparison {
        name: "detector".into(),
        before: side(before),
        after: side(after),
        along: Some("variant".into()),
        cells: vec![pair],
        added: Vec::new(),
        removed: Vec::new(),
        matrix: None,
        costs: Vec::new(),
        ..testing::comparison()
    }
}

fn pair((before, after): (&str, &str), changes: Vec<SpecChange>) -> CellPair {
    let value = |name: &str| {
        let variant = VARIANTS.iter().find(|variant| variant.0 == name);
        variant.expect("a variant")
    };
    // The median of six blocks is the mean of blocks 2 and 3, which take 2.5 % longer than block 0.
    let sample_ms = |name: &str| Some(value(name).1 * 1.025 / 32.0);
    let ratio = value(after).1 / value(before).1;
    let scripted = testing::pair(0, Verdict::Slower, ratio);
    CellPair {
        before: key(before),
        after: key(after),
        label: String::new(),
        matched: MatchedBy::OtherAxes,
        changes,
        work: Work::Treatments(vec!["model shape".into()]),
        sample_ms: (sample_ms(before), sample_ms(after)),
        quality: vec![QualityChange {
            column: "best_loss".into(),
            direction: Direction::Lower,
            medians: (value(before).4[3], value(after).4[3]),
            pairs: 1,
            verdict: QualityVerdict::TooFewSeeds(6),
            p: None,
            p_adjusted: None,
        }],
        timings: Vec::new(),
        judgement: Judgement {
            ratio: Some(Ratio {
                value: ratio,
                low: ratio,
                high: ratio,
                kind: IntervalKind::Bootstrap95,
            }),
            p_holm: Some(0.031_25),
            detectable: None,
            ..scripted.judgement.clone()
        },
        ..scripted
    }
}
