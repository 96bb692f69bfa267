//! Scripted comparisons for tests: the golden results compared with a copy that has other times and facts.

use crate::compare::golden::side;
use crate::compare::{
    AxisChange, CellPair, Comparison, EnvironmentChange, FactChange, FieldChange, FieldClass,
    Judgement, MatrixJudgement, NotComparableReason, QualityChange, QualityVerdict, Ratio,
    SpecChange, Threshold, ThresholdSource, TimingChange, UnclearReason, Verdict, testing,
};
use crate::event::RunTimes;
use crate::results::golden::ddpm;
use crate::results::{self, Direction, IntervalKind, ResultSet, Status};

/// Columns of times with medians on both sides.
const TIMES: [&str; 11] = [
    "samples_per_s",
    "data_wait_ms",
    "forward_ms",
    "loss_ms",
    "backward_ms",
    "optimizer_ms",
    "other_ms",
    "epoch_s",
    "train_s",
    "total_s",
    "peak_train_bytes",
];

/// A comparison with every verdict on a time, one for each cell; the forward pass became faster, the optimizer slower.
pub(crate) fn comparison() -> Comparison {
    let before = ddpm();
    let after = changed(&before);
    let done = before.runs.iter().enumerate();
    let done = done
        .filter(|(_, run)| run.status == Status::Done)
        .map(|(place, _)| place);
    let cells = done.zip(verdicts());
    let cells = cells
        .map(|(place, verdict)| pair(&before, &after, place, verdict))
        .collect();
    Comparison {
        name: "ddpm".into(),
        environment: environment(),
        axes: vec![AxisChange {
            axis: "batch-size".into(),
            in_before: true,
            in_after: true,
            removed: vec!["4".into()],
            added: vec!["64".into()],
        }],
        cells,
        added: vec![after.plan.cells[7].clone()],
        removed: Vec::new(),
        matrix: Some(matrix()),
        costs: Vec::new(),
        needed_runs: 8,
        before: side("main", "1111111111111111111111111111111111111111", before),
        after: side("HEAD", "2222222222222222222222222222222222222222", after),
        ..testing::comparison()
    }
}

fn changed(before: &ResultSet) -> ResultSet {
    let mut after = before.clone();
    after.change_times(|_, times| change(times));
    let axis = "[0, 4]\nprecision = [\"f32\"]";
    after.plan.manifest = before.plan.manifest.replace("[0, 4]", axis);
    after
}

fn verdicts() -> [Verdict; 7] {
    [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::TooFewRuns(6),
        Verdict::Unclear(UnclearReason::WithinSessionFloor(0.021)),
        Verdict::NotComparable(vec![NotComparableReason::OtherCode(false, true)]),
        Verdict::Same,
    ]
}

fn environment() -> EnvironmentChange {
    EnvironmentChange {
        fields: vec![FieldChange {
            field: "kernel".into(),
            class: FieldClass::Warn,
            before: vec!["6.1.0".into()],
            after: vec!["6.8.0".into()],
        }],
        is_across: false,
    }
}

fn matrix() -> MatrixJudgement {
    MatrixJudgement {
        cells: 6,
        ratio: ratio(0.93, 0.02, IntervalKind::Bootstrap95),
        p: 0.000_2,
        p_holm: 0.001_6,
        permutations: (10_000, false),
        detectable: Some(0.012),
        verdict: Verdict::Faster,
        threshold: threshold(),
    }
}

/// [`comparison`] with another processor on the side after; times are compared nevertheless, as if the user had
/// requested it.
pub(crate) fn with_other_processor() -> Comparison {
    let mut comparison = comparison();
    comparison.environment.is_across = true;
    comparison.environment.fields.insert(
        0,
        FieldChange {
            field: "cpu_model".into(),
            class: FieldClass::MustMatch,
            before: vec!["Example CPU @ 2.30GHz".into()],
            after: vec!["Other CPU @ 3.00GHz".into()],
        },
    );
    comparison
}

/// [`comparison`] with a single cell.
pub(crate) fn one_cell() -> Comparison {
    let mut comparison = comparison();
    comparison.cells.truncate(1);
    comparison.matrix = None;
    comparison
}

fn change(times: &mut RunTimes) {
    let saved = 0.2 * times.phases.forward_ms;
    times.phases.forward_ms -= saved;
    times.phases.optimizer_ms += 4.0;
    times.step_mean_ms += 4.0 - saved;
    times.step_ms = times.step_mean_ms * 0.997;
    times.samples_per_s *= 1.08;
    times.train_s *= 0.93;
    times.total_s *= 0.94;
}

fn pair(before: &ResultSet, after: &ResultSet, place: usize, verdict: Verdict) -> CellPair {
    let info = &after.plan.cells[place];
    let step = |set: &ResultSet| median(set, &info.key, "step_ms");
    let batch: f64 = info.axes[2].parse().expect("a batch size");
    let sample = |set: &ResultSet| step(set) / batch;
    let faster = step(after) / step(before);
    let value = if verdict == Verdict::Slower {
        1.0 / faster
    } else {
        faster
    };
    let ratio = ratio(value, 0.03, IntervalKind::Range);
    let is_comparable = !matches!(verdict, Verdict::NotComparable(_));
    let is_open = !matches!(verdict, Verdict::Faster | Verdict::Slower) && is_comparable;
    let scripted = testing::pair(place, verdict, value);
    CellPair {
        label: format!("batch-size {}, workers {}", info.axes[2], info.axes[3]),
        changes: vec![SpecChange {
            path: "train.precision".into(),
            before: None,
            after: Some("\"f32\"".into()),
        }],
        facts: facts(place),
        other_code: (false, place == 5),
        sample_ms: (Some(sample(before)), Some(sample(after))),
        quality: vec![quality("best_loss", place), quality("val_loss", place)],
        timings: timings(before, after, &info.key),
        judgement: Judgement {
            ratio: is_comparable.then_some(ratio),
            runs: (10, 10),
            p: is_comparable.then_some(0.002),
            p_holm: is_comparable.then_some(0.014),
            detectable: is_open.then_some(0.031),
            threshold: threshold(),
            ..scripted.judgement.clone()
        },
        ..scripted
    }
}

fn facts(place: usize) -> Vec<FactChange> {
    let fact = |column: &str, is_within: bool| FactChange {
        seed: 42,
        column: column.into(),
        direction: Direction::Lower,
        before: "0.0842".into(),
        after: "0.0851".into(),
        relative: Some(0.0107),
        tolerance: if is_within { 0.02 } else { 0.0 },
        is_within,
    };
    match place {
        0 => vec![fact("final_loss", false), fact("val_loss", true)],
        1 => vec![fact("val_loss", true)],
        _ => Vec::new(),
    }
}

fn quality(column: &str, place: usize) -> QualityChange {
    let verdict = match place {
        0 => QualityVerdict::TooFewSeeds(6),
        1 => QualityVerdict::Better,
        2 => QualityVerdict::NotTold,
        _ => QualityVerdict::Equal,
    };
    let factor = if verdict == QualityVerdict::Equal {
        1.0
    } else {
        0.96
    };
    let before = 0.08 + 0.002 * place as f64;
    let is_tested = matches!(verdict, QualityVerdict::Better | QualityVerdict::NotTold);
    let p_adjusted = is_tested.then_some(0.031);
    QualityChange {
        column: column.into(),
        direction: Direction::Lower,
        medians: (before, before * factor),
        pairs: 1,
        verdict,
        p: p_adjusted,
        p_adjusted,
    }
}

fn timings(before: &ResultSet, after: &ResultSet, key: &str) -> Vec<TimingChange> {
    let of = |column: &&str| {
        let medians = (median(before, key, column), median(after, key, column));
        let info = results::fixed_column(column).expect("a column");
        TimingChange {
            column: (*column).to_owned(),
            is_per_sample: false,
            direction: info.direction,
            medians,
            ratio: ratio(medians.1 / medians.0, 0.01, IntervalKind::Range),
        }
    };
    TIMES.iter().map(of).collect()
}

fn median(set: &ResultSet, key: &str, column: &str) -> f64 {
    let row = set.timings.iter().find(|row| row.key == key);
    row.expect("a measured cell").values[column].median
}

fn ratio(value: f64, spread: f64, kind: IntervalKind) -> Ratio {
    Ratio {
        value,
        low: value * (1.0 - spread),
        high: value * (1.0 + spread),
        kind,
    }
}

fn threshold() -> Threshold {
    Threshold {
        value: 0.024,
        source: ThresholdSource::MeasuredWithin,
    }
}
