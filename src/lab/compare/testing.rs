//! A small comparison for tests: one slower cell, one equal, one unclear, one added, one removed.
#![expect(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::collections::BTreeSet;

use crate::event::OpWork;
use crate::results::{CellInfo, Direction, IntervalKind, ResultSet, RunRow, Status, golden};

use super::{
    CellPair, Comparison, Cost, CostChange, CostOverCells, CountsComparability, Design,
    EnvironmentChange, FactChange, Judgement, MatchedBy, MatrixJudgement, Origin, QualityChange,
    QualityVerdict, Ratio, Side, SpecChange, Test, Threshold, ThresholdSource, TimingChange,
    UnclearReason, Verdict, Work, WorkChange,
};

const THRESHOLD: Threshold = Threshold {
    value: 0.02,
    source: ThresholdSource::Default,
};

/// Key of the `n`th cell.
pub fn key(n: usize) -> String {
    golden::ddpm().plan.cells[n].key.clone()
}

/// A comparison with a slower, an equal, an unclear, an added and a removed cell.
pub fn comparison() -> Comparison {
    let set = golden::ddpm();
    let mut fewer = set.clone();
    fewer.plan.title = "DDPM, one cell less".into();
    let added: Vec<CellInfo> = set.plan.cells[3..4].to_vec();
    let removed: Vec<CellInfo> = set.plan.cells[4..5].to_vec();
    let git = |reference: &str| Origin::Git {
        reference: reference.into(),
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
    };
    Comparison {
        name: "ddpm".into(),
        before: side("main", git("main"), fewer),
        after: side("HEAD", git("HEAD"), set),
        along: None,
        environment: EnvironmentChange::default(),
        axes: Vec::new(),
        cells: vec![
            CellPair {
                facts: vec![fact("final_loss", Direction::Lower, "0.25", "0.5")],
                quality: vec![quality("val_loss", QualityVerdict::TooFewSeeds(6))],
                changes: vec![setting("train.optimizer.lr", "0.001", "0.01")],
                costs: vec![memory_cost(Verdict::More, 1.2)],
                ..pair(0, Verdict::Slower, 1.1)
            },
            CellPair {
                operations: vec![product()],
                ..pair(1, Verdict::Same, 1.0)
            },
            pair(2, Verdict::Unclear(UnclearReason::NoSessionFloor), 1.03),
        ],
        added,
        removed,
        matrix: Some(MatrixJudgement {
            cells: 3,
            ratio: ratio(1.04),
            p: 0.031_25,
            p_holm: 0.062_5,
            detectable: Some(0.01),
            permutations: (4096, true),
            verdict: Verdict::Slower,
            threshold: THRESHOLD,
        }),
        costs: vec![over_cells()],
        needed_runs: 6,
    }
}

fn side(name: &str, origin: Origin, set: ResultSet) -> Side {
    Side {
        name: name.into(),
        origin,
        set,
        noise: Vec::new(),
        searches: Vec::new(),
        until_sure: BTreeSet::new(),
    }
}

/// A pair of cells with equal facts.
pub fn pair(n: usize, verdict: Verdict, value: f64) -> CellPair {
    CellPair {
        before: key(n),
        after: key(n),
        label: format!("cell {n}"),
        matched: MatchedBy::Key,
        changes: Vec::new(),
        work: Work::Same,
        facts: Vec::new(),
        compared_rows: 1,
        counts: CountsComparability::Compared,
        operations: Vec::new(),
        other_code: (false, false),
        sample_ms: (Some(12.5), Some(12.5 * value)),
        quality: Vec::new(),
        timings: vec![TimingChange {
            column: "step_ms".into(),
            is_per_sample: false,
            direction: Direction::Lower,
            medians: (100.0, 100.0 * value),
            ratio: ratio(value),
        }],
        judgement: Judgement {
            verdict,
            ratio: Some(ratio(value)),
            design: Design::Interleaved,
            runs: (6, 6),
            test: Some(Test::SignFlip),
            p: Some(0.031_25),
            p_holm: Some(0.093_75),
            detectable: Some(0.015),
            threshold: THRESHOLD,
        },
        costs: Vec::new(),
        waiting: None,
    }
}

/// The memory of a pair of cells, with this verdict and ratio.
pub fn memory_cost(verdict: Verdict, value: f64) -> CostChange {
    CostChange {
        cost: Cost::Memory,
        medians: (Some(1e8), Some(1e8 * value)),
        judgement: Judgement {
            ratio: Some(ratio(value)),
            verdict,
            ..pair(0, Verdict::Same, 1.0).judgement
        },
    }
}

fn over_cells() -> CostOverCells {
    CostOverCells {
        cost: Cost::Memory,
        matrix: None,
        needed_runs: 4,
    }
}

/// A change of the counted work: a layer computes a second matrix product.
fn product() -> WorkChange {
    let before = OpWork {
        layer: "layers.3".into(),
        op: "linear".into(),
        calls: 1,
        backward_calls: 1,
        flops_forward: 4_194_304,
        flops_backward: 8_388_608,
        tensors: 4,
        tensor_bytes: 65_536,
        ..OpWork::default()
    };
    let after = OpWork {
        calls: 2,
        backward_calls: 2,
        flops_forward: 8_388_608,
        flops_backward: 16_777_216,
        tensors: 7,
        tensor_bytes: 98_304,
        ..before.clone()
    };
    WorkChange { before, after }
}

/// A ratio with an interval of ±1 %.
pub fn ratio(value: f64) -> Ratio {
    Ratio {
        value,
        low: value - 0.01,
        high: value + 0.01,
        kind: IntervalKind::Bootstrap95,
    }
}

/// A fact (such as a loss) that differs between the sides.
pub fn fact(column: &str, direction: Direction, before: &str, after: &str) -> FactChange {
    let numbers: Option<(f64, f64)> = before.parse().ok().zip(after.parse().ok());
    FactChange {
        seed: 42,
        column: column.into(),
        direction,
        before: before.into(),
        after: after.into(),
        relative: numbers.map(|(before, after)| after / before - 1.0),
        tolerance: 0.0,
        is_within: false,
    }
}

/// A metric that differs.
pub fn quality(column: &str, verdict: QualityVerdict) -> QualityChange {
    QualityChange {
        column: column.into(),
        direction: Direction::Lower,
        medians: (0.25, 0.5),
        pairs: 8,
        verdict,
        p: Some(0.007_812_5),
        p_adjusted: Some(0.007_812_5),
    }
}

/// A setting that differs.
pub fn setting(path: &str, before: &str, after: &str) -> SpecChange {
    SpecChange {
        path: path.into(),
        before: Some(before.into()),
        after: Some(after.into()),
    }
}

/// The row of the `n`th cell in `runs.csv`, which the caller may change.
pub fn row(set: &mut ResultSet, n: usize) -> &mut RunRow {
    let key = key(n);
    let mut rows = set.runs.iter_mut();
    let row = rows.find(|row| row.key == key).expect("a row");
    assert_eq!(row.status, Status::Done);
    row
}
