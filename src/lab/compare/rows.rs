//! A comparison as the rows of `comparison.csv`.

use crate::results::{ComparisonRow, Direction, comparison_number};

use super::{
    CellPair, Comparison, Design, FactChange, Judgement, MatrixJudgement, QualityChange,
    QualityVerdict, Ratio, SpecChange, Test, Threshold, ThresholdSource, TimingChange, Verdict,
};

/// The column that verdicts on times use.
const TIME: &str = "ms_per_sample";

/// The rows: the matrix, then cell by cell (time per sample, timings, quality, facts and settings that differ), then cells
/// of one side.
pub(super) fn rows(comparison: &Comparison) -> Vec<ComparisonRow> {
    let mut rows: Vec<ComparisonRow> = comparison.matrix.iter().map(of_matrix).collect();
    for pair in &comparison.cells {
        rows.push(of_time(pair));
        let design = design_text(pair.judgement.design);
        rows.extend(
            pair.timings
                .iter()
                .map(|timing| of_timing(pair, timing, design)),
        );
        rows.extend(pair.quality.iter().map(|quality| of_quality(pair, quality)));
        rows.extend(pair.facts.iter().map(|fact| of_fact(pair, fact)));
        rows.extend(pair.changes.iter().map(|change| of_setting(pair, change)));
    }
    rows.extend(comparison.added.iter().map(|cell| ComparisonRow {
        key: cell.key.clone(),
        kind: "added".into(),
        ..ComparisonRow::default()
    }));
    rows.extend(comparison.removed.iter().map(|cell| ComparisonRow {
        key_before: cell.key.clone(),
        kind: "removed".into(),
        ..ComparisonRow::default()
    }));
    rows
}

fn of_matrix(matrix: &MatrixJudgement) -> ComparisonRow {
    let row = ComparisonRow {
        kind: "matrix".into(),
        figure: TIME.into(),
        direction: direction_text(Direction::Lower),
        p: Some(matrix.p),
        p_holm: Some(matrix.p_holm),
        detectable: matrix.detectable,
        ..ComparisonRow::default()
    };
    let row = with_ratio(row, Some(matrix.ratio));
    with_verdict(with_threshold(row, matrix.threshold), &matrix.verdict)
}

fn of_pair(pair: &CellPair, kind: &str, figure: &str) -> ComparisonRow {
    ComparisonRow {
        key: pair.after.clone(),
        key_before: pair.before.clone(),
        kind: kind.into(),
        figure: figure.into(),
        ..ComparisonRow::default()
    }
}

fn of_time(pair: &CellPair) -> ComparisonRow {
    let judgement: &Judgement = &pair.judgement;
    let median = |ms: Option<f64>| ms.map(comparison_number).unwrap_or_default();
    let row = ComparisonRow {
        direction: direction_text(Direction::Lower),
        before: median(pair.sample_ms.0),
        after: median(pair.sample_ms.1),
        n_before: Some(judgement.runs.0),
        n_after: Some(judgement.runs.1),
        design: design_text(judgement.design).into(),
        test: test_text(judgement.test).into(),
        p: judgement.p,
        p_holm: judgement.p_holm,
        detectable: judgement.detectable,
        ..of_pair(pair, "time", TIME)
    };
    let row = with_ratio(row, judgement.ratio);
    with_verdict(with_threshold(row, judgement.threshold), &judgement.verdict)
}

/// Timings of steps that differ in size are divided by their samples.
fn of_timing(pair: &CellPair, timing: &TimingChange, design: &str) -> ComparisonRow {
    let per_sample = if timing.is_per_sample {
        "_per_sample"
    } else {
        ""
    };
    let figure = format!("{}{per_sample}", timing.column);
    let row = ComparisonRow {
        direction: direction_text(timing.direction),
        before: comparison_number(timing.medians.0),
        after: comparison_number(timing.medians.1),
        design: design.into(),
        ..of_pair(pair, "timing", &figure)
    };
    with_ratio(row, Some(timing.ratio))
}

fn of_quality(pair: &CellPair, quality: &QualityChange) -> ComparisonRow {
    let (verdict, needed) = match quality.verdict {
        QualityVerdict::Equal => ("equal", None),
        QualityVerdict::Better => ("better", None),
        QualityVerdict::Worse => ("worse", None),
        QualityVerdict::NotTold => ("not-told", None),
        QualityVerdict::TooFewSeeds(needed) => ("too-few-seeds", Some(needed)),
    };
    ComparisonRow {
        direction: direction_text(quality.direction),
        before: comparison_number(quality.medians.0),
        after: comparison_number(quality.medians.1),
        n_before: Some(quality.pairs),
        n_after: Some(quality.pairs),
        test: test_text(quality.p.map(|_| Test::SignFlip)).into(),
        p: quality.p,
        verdict: verdict.into(),
        needed,
        ..of_pair(pair, "quality", &quality.column)
    }
}

fn of_fact(pair: &CellPair, fact: &FactChange) -> ComparisonRow {
    let verdict = if fact.is_within { "within" } else { "changed" };
    ComparisonRow {
        seed: Some(fact.seed),
        direction: direction_text(fact.direction),
        before: fact.before.clone(),
        after: fact.after.clone(),
        ratio: fact.relative.map(|relative| 1.0 + relative),
        tolerance: Some(fact.tolerance),
        verdict: verdict.into(),
        ..of_pair(pair, "fact", &fact.column)
    }
}

fn of_setting(pair: &CellPair, change: &SpecChange) -> ComparisonRow {
    ComparisonRow {
        before: change.before.clone().unwrap_or_default(),
        after: change.after.clone().unwrap_or_default(),
        ..of_pair(pair, "setting", &change.path)
    }
}

fn with_ratio(row: ComparisonRow, ratio: Option<Ratio>) -> ComparisonRow {
    let Some(ratio) = ratio else { return row };
    ComparisonRow {
        ratio: Some(ratio.value),
        ratio_low: Some(ratio.low),
        ratio_high: Some(ratio.high),
        interval: ratio.kind.text().into(),
        ..row
    }
}

fn with_threshold(row: ComparisonRow, threshold: Threshold) -> ComparisonRow {
    let source = match threshold.source {
        ThresholdSource::Manifest => "manifest",
        ThresholdSource::MeasuredWithin => "measured-within",
        ThresholdSource::MeasuredBetween => "measured-between",
        ThresholdSource::Default => "default",
    };
    ComparisonRow {
        threshold: Some(threshold.value),
        threshold_source: source.into(),
        ..row
    }
}

fn with_verdict(row: ComparisonRow, verdict: &Verdict) -> ComparisonRow {
    let (word, needed, reason) = match verdict {
        Verdict::Faster => ("faster", None, String::new()),
        Verdict::Slower => ("slower", None, String::new()),
        Verdict::Same => ("same", None, String::new()),
        Verdict::TooFewRuns(needed) => ("too-few-runs", Some(*needed), String::new()),
        Verdict::Unclear(why) => ("unclear", None, why.to_string()),
        Verdict::NotComparable(obstacles) => {
            let obstacles: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
            ("not-comparable", None, obstacles.join("; "))
        }
    };
    ComparisonRow {
        verdict: word.into(),
        needed,
        reason,
        ..row
    }
}

fn design_text(design: Design) -> &'static str {
    match design {
        Design::Interleaved => "interleaved",
        Design::Sessions => "sessions",
    }
}

fn test_text(test: Option<Test>) -> &'static str {
    match test {
        Some(Test::MannWhitney) => "mann-whitney",
        Some(Test::SignFlip) => "sign-flip",
        None => "",
    }
}

fn direction_text(direction: Direction) -> String {
    let text = match direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
        Direction::None => "",
    };
    text.to_owned()
}
