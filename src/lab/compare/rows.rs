//! A comparison as the rows of `comparison.csv`.

use serde::Serialize;
use serde_json::Value;

use crate::results::{ComparisonRow, Direction, comparison_number};

use super::{
    CellPair, Comparison, FactChange, Judgement, MatrixJudgement, QualityChange, QualityVerdict,
    Ratio, SpecChange, Test, Threshold, TimingChange, Verdict, WorkChange,
};

/// The column that verdicts on times use.
const TIME: &str = "ms_per_sample";

/// The rows: the matrix, costs over all cells, then cell by cell (time per sample, costs, timings, quality; facts, work
/// and settings that differ), then cells that exist on one side only.
pub(super) fn rows(comparison: &Comparison) -> Vec<ComparisonRow> {
    let matrix = comparison.matrix.iter();
    let matrix = matrix.map(|matrix| of_matrix(matrix, "matrix", TIME));
    let costs = comparison.costs.iter();
    let costs = costs.filter_map(|own| Some((own.matrix.as_ref()?, own.cost)));
    let costs = costs.map(|(matrix, cost)| of_matrix(matrix, "cost", cost.column_name()));
    let mut rows: Vec<ComparisonRow> = matrix.chain(costs).collect();
    for pair in &comparison.cells {
        let time = of_pair(pair, "time", TIME);
        rows.push(of_judgement(time, pair.sample_ms, &pair.judgement));
        rows.extend(pair.costs.iter().map(|own| {
            let row = of_pair(pair, "cost", own.cost.column_name());
            of_judgement(row, own.medians, &own.judgement)
        }));
        rows.extend(pair.timings.iter().map(|timing| of_timing(pair, timing)));
        rows.extend(pair.quality.iter().map(|quality| of_quality(pair, quality)));
        rows.extend(pair.facts.iter().map(|fact| of_fact(pair, fact)));
        rows.extend(
            pair.operations
                .iter()
                .flat_map(|change| of_work(pair, change)),
        );
        rows.extend(pair.changes.iter().map(|change| of_setting(pair, change)));
    }
    let (added, removed) = (comparison.added.iter(), comparison.removed.iter());
    rows.extend(added.map(|cell| row(&cell.key, "", "added", "")));
    rows.extend(removed.map(|cell| row("", &cell.key, "removed", "")));
    rows
}

fn row(key: &str, key_before: &str, kind: &str, figure: &str) -> ComparisonRow {
    ComparisonRow {
        key: key.to_owned(),
        key_before: key_before.to_owned(),
        kind: kind.to_owned(),
        figure: figure.to_owned(),
        ..ComparisonRow::default()
    }
}

fn of_pair(pair: &CellPair, kind: &str, figure: &str) -> ComparisonRow {
    row(&pair.after, &pair.before, kind, figure)
}

fn of_matrix(matrix: &MatrixJudgement, kind: &str, figure: &str) -> ComparisonRow {
    let row = ComparisonRow {
        direction: direction_text(Direction::Lower),
        p: comparison_number(matrix.p),
        p_holm: comparison_number(matrix.p_holm),
        detectable: comparison_number(matrix.detectable),
        ..row("", "", kind, figure)
    };
    let row = with_ratio(row, Some(matrix.ratio));
    with_verdict(row, matrix.threshold, &matrix.verdict)
}

/// Fills `row` with the medians, test and verdict of a time or a cost.
fn of_judgement(
    row: ComparisonRow,
    medians: (Option<f64>, Option<f64>),
    judgement: &Judgement,
) -> ComparisonRow {
    let row = ComparisonRow {
        direction: direction_text(Direction::Lower),
        before: comparison_number(medians.0),
        after: comparison_number(medians.1),
        n_before: Some(judgement.runs.0),
        n_after: Some(judgement.runs.1),
        design: word(judgement.design),
        test: word(judgement.test),
        p: comparison_number(judgement.p),
        p_holm: comparison_number(judgement.p_holm),
        detectable: comparison_number(judgement.detectable),
        ..row
    };
    let row = with_ratio(row, judgement.ratio);
    with_verdict(row, judgement.threshold, &judgement.verdict)
}

/// The row of a timing. Its name ends in `_per_sample` if step times were divided by samples.
fn of_timing(pair: &CellPair, timing: &TimingChange) -> ComparisonRow {
    let mut figure = timing.column.clone();
    if timing.is_per_sample {
        figure += "_per_sample";
    }
    let row = ComparisonRow {
        direction: direction_text(timing.direction),
        before: comparison_number(timing.medians.0),
        after: comparison_number(timing.medians.1),
        design: word(pair.judgement.design),
        ..of_pair(pair, "timing", &figure)
    };
    with_ratio(row, Some(timing.ratio))
}

fn of_quality(pair: &CellPair, quality: &QualityChange) -> ComparisonRow {
    ComparisonRow {
        direction: direction_text(quality.direction),
        before: comparison_number(quality.medians.0),
        after: comparison_number(quality.medians.1),
        n_before: Some(quality.pairs),
        n_after: Some(quality.pairs),
        test: word(quality.p.map(|_| Test::SignFlip)),
        p: comparison_number(quality.p),
        p_holm: comparison_number(quality.p_adjusted),
        verdict: word(quality.verdict),
        needed: match quality.verdict {
            QualityVerdict::TooFewSeeds(needed) => Some(needed),
            _ => None,
        },
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
        ratio: comparison_number(fact.relative.map(|relative| 1.0 + relative)),
        tolerance: comparison_number(fact.tolerance),
        verdict: verdict.to_owned(),
        ..of_pair(pair, "fact", &fact.column)
    }
}

/// A row for each count that differs.
fn of_work<'a>(
    pair: &'a CellPair,
    change: &'a WorkChange,
) -> impl Iterator<Item = ComparisonRow> + 'a {
    change
        .counts()
        .map(move |(column, before, after)| ComparisonRow {
            before: before.to_string(),
            after: after.to_string(),
            ratio: comparison_number((before > 0).then(|| after as f64 / before as f64)),
            verdict: "changed".to_owned(),
            ..of_pair(pair, "work", &format!("{column} of {}", change.name()))
        })
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
        ratio: comparison_number(ratio.value),
        ratio_low: comparison_number(ratio.low),
        ratio_high: comparison_number(ratio.high),
        interval: word(ratio.kind),
        ..row
    }
}

fn with_verdict(row: ComparisonRow, threshold: Threshold, verdict: &Verdict) -> ComparisonRow {
    let (needed, reason) = match verdict {
        Verdict::TooFewRuns(needed) => (Some(*needed), String::new()),
        Verdict::Unclear(why) => (None, why.to_string()),
        Verdict::NotComparable(reasons) => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            (None, reasons.join("; "))
        }
        Verdict::Faster | Verdict::Slower | Verdict::Less | Verdict::More | Verdict::Same => {
            (None, String::new())
        }
    };
    ComparisonRow {
        threshold: comparison_number(threshold.value),
        threshold_source: word(threshold.source),
        verdict: word(verdict),
        needed,
        reason,
        ..row
    }
}

/// Name of an enum variant, as in `comparison.json`; empty for `None`.
fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        // A variant with content is serialized as an object whose only key is the variant's name.
        Ok(Value::Object(variant)) => variant.into_iter().map(|(word, _)| word).collect(),
        _ => String::new(),
    }
}

fn direction_text(direction: Direction) -> String {
    word(Some(direction).filter(|direction| *direction != Direction::None))
}
