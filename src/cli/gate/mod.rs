//! `--fail-on`: which findings of a comparison cause exit code 1; each is one line on standard error.

use clap::ValueEnum;

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{
    CellPair, Comparison, Cost, CostChange, CostOverCells, FactChange, Judgement, MatrixJudgement,
    QualityChange, QualityVerdict, Ratio, Threshold, Verdict,
};
use crate::report::{cost_name, verdict_words};
use crate::results::{RunRow, Status, by_key, grouped};

use super::exit_code;
use super::work::first_text;

/// Kinds of findings that `--fail-on` accepts. The gate adds no judgement: a regression is a verdict "slower" or "worse" of
/// the comparison.
// The comments are the help of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// A verdict says slower, or worse over the seeds; or a run that was done is not any more
    Regression,
    /// A fact changed beyond its tolerance, for better or worse, a cell was added or removed, or ends differently
    Change,
    /// A training step does other work: an operation of a layer has other counts in work.csv, more or fewer
    Work,
    /// A run takes more CPU time, by its own verdict
    CpuTime,
    /// A run takes more memory, of the machine or of a GPU
    Memory,
    /// A run takes more energy, where a GPU's counter measured it
    Energy,
    /// Something could not be told: too few runs, an unclear or incomparable time, a metric without a direction
    Unclear,
}

impl FailOn {
    /// The value on the command line.
    pub(super) fn text(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn of(cost: Cost) -> Self {
        match cost {
            Cost::CpuTime => Self::CpuTime,
            Cost::Memory | Cost::GpuMemory => Self::Memory,
            Cost::Energy => Self::Energy,
        }
    }
}

/// Prints the gate's findings in the comparisons, and returns the exit code: [`exit_code::FAILED`] if there are any.
///
/// On GitHub Actions every line is also printed as an annotation, which the page of the workflow run shows.
pub(super) fn gate<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
    fail_on: &[FailOn],
) -> u8 {
    let is_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    let mut code = exit_code::GOOD;
    for comparison in comparisons {
        let name = &comparison.name;
        for (what, sentence) in violations(comparison, fail_on) {
            code = exit_code::FAILED;
            eprintln!("{}: {name}: {sentence}", what.text());
            if is_github {
                eprintln!("{}", annotation(name, what, &sentence));
            }
        }
    }
    code
}

/// A violation as a workflow command of GitHub ("Workflow commands" in its documentation, escaping as in its toolkit).
fn annotation(name: &str, what: FailOn, sentence: &str) -> String {
    let escaped = |text: &str| {
        let text = text.replace('%', "%25");
        text.replace('\r', "%0D").replace('\n', "%0A")
    };
    let title = format!("{} in {name}", what.text());
    let title = escaped(&title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title={title}::{}", escaped(sentence))
}

/// A finding that the gate fails on, with its sentence: the cell (by its key on the side after, if it exists there), the
/// finding, its values.
type Violation = (FailOn, String);

/// All findings in `comparison` of the given `kinds`: the matrix first, then cell by cell in plan order, then cells of one
/// side. A regression is not listed as a change again.
fn violations(comparison: &Comparison, kinds: &[FailOn]) -> Vec<Violation> {
    let matrix = comparison.matrix.as_ref();
    let mut found: Vec<Violation> = matrix.and_then(of_matrix).into_iter().collect();
    found.extend(comparison.costs.iter().filter_map(of_costs));
    let sides = [&comparison.before, &comparison.after];
    let [before, after] = sides.map(|side| by_key(&side.set.runs, |row| &row.key));
    let no_rows = Vec::new();
    for pair in &comparison.cells {
        found.extend(of_time(pair));
        found.extend(pair.costs.iter().filter_map(|cost| of_cost(pair, cost)));
        let old = before.get(&*pair.before).unwrap_or(&no_rows);
        let new = after.get(&*pair.after).unwrap_or(&no_rows);
        found.extend(of_status(pair, (old, new), kinds));
        found.extend(pair.quality.iter().filter_map(|q| of_quality(pair, q)));
        found.extend(of_facts(pair, kinds));
        if !pair.operations.is_empty() {
            let work = first_text(&pair.operations);
            found.push((
                FailOn::Work,
                format!("{}: a step does other work: {work}", pair.after),
            ));
        }
    }
    for (cells, word) in [
        (&comparison.added, "added"),
        (&comparison.removed, "removed"),
    ] {
        let texts = cells.iter().map(|cell| format!("{}: {word}", cell.key));
        found.extend(texts.map(|text| (FailOn::Change, text)));
    }
    found.retain(|(what, _)| kinds.contains(what));
    found
}

/// What a finding about the whole matrix begins with.
const ALL_CELLS: &str = "all cells together";

fn of_matrix(matrix: &MatrixJudgement) -> Option<Violation> {
    let effect = effect_text(&matrix.ratio, Some(matrix.p_holm), &matrix.threshold);
    of_verdict(&matrix.verdict, ALL_CELLS, Some(effect))
}

fn of_time(pair: &CellPair) -> Option<Violation> {
    let effect = effect_of(&pair.judgement);
    let found = of_verdict(&pair.judgement.verdict, &pair.after, effect);
    found.filter(|_| !pair.needs_no_verdict())
}

fn of_costs(over_cells: &CostOverCells) -> Option<Violation> {
    let matrix = over_cells.matrix.as_ref()?;
    let effect = effect_text(&matrix.ratio, Some(matrix.p_holm), &matrix.threshold);
    let is_more = matrix.verdict == Verdict::More;
    is_more.then(|| more(ALL_CELLS, over_cells.cost, &effect))
}

fn of_cost(pair: &CellPair, own: &CostChange) -> Option<Violation> {
    let effect = effect_of(&own.judgement)?;
    let is_more = own.judgement.verdict == Verdict::More;
    is_more.then(|| more(&pair.after, own.cost, &effect))
}

fn more(cell: &str, cost: Cost, effect: &str) -> Violation {
    let text = format!("{cell}: more: {} {effect}", cost_name(cost));
    (FailOn::of(cost), text)
}

fn of_verdict(verdict: &Verdict, cell: &str, effect: Option<String>) -> Option<Violation> {
    match verdict {
        Verdict::Slower => {
            let text = format!("{cell}: slower: time per sample {}", effect?);
            Some((FailOn::Regression, text))
        }
        Verdict::Faster | Verdict::Same | Verdict::Less | Verdict::More => None,
        Verdict::TooFewRuns(_) | Verdict::Unclear(_) | Verdict::NotComparable(_) => {
            let (word, why) = verdict_words(verdict, None);
            let text = format!("{cell}: time per sample: {word}, {}", why.join("; "));
            Some((FailOn::Unclear, text))
        }
    }
}

fn of_quality(pair: &CellPair, quality: &QualityChange) -> Option<Violation> {
    let (cell, medians) = (&pair.after, medians_text(quality));
    let seeds = count(quality.pairs, "seed");
    let unclear = |why: String| (FailOn::Unclear, format!("{cell}: {medians}: {why}"));
    Some(match quality.verdict {
        QualityVerdict::Equal | QualityVerdict::Better => return None,
        QualityVerdict::Worse => {
            let p = p_text(quality.p_adjusted);
            let text = format!("{cell}: worse: {medians} over {seeds}{p}");
            (FailOn::Regression, text)
        }
        QualityVerdict::TooFewSeeds(needed) => unclear(format!(
            "{seeds}, too few for a direction, which takes {needed}"
        )),
        QualityVerdict::NotTold => unclear(format!("no direction over {seeds}")),
    })
}

/// Facts beyond their tolerance, each column once, except those listed as worse over seeds. Only the verdict over seeds
/// decides whether a changed value is worse: by chance some values get worse.
fn of_facts(pair: &CellPair, kinds: &[FailOn]) -> Vec<Violation> {
    let is_told = |column: &str| {
        let mut quality = pair.quality.iter();
        kinds.contains(&FailOn::Regression)
            && quality.any(|q| q.column == column && q.verdict == QualityVerdict::Worse)
    };
    let facts = pair.facts.iter().filter(|fact| !fact.is_within);
    let facts = facts.filter(|fact| !is_told(&fact.column));
    let columns = grouped(facts, |fact| fact.column.clone()).into_iter();
    let texts = columns.map(|facts| format!("{}: changed: {}", pair.after, facts_text(&facts)));
    texts.map(|text| (FailOn::Change, text)).collect()
}

/// Rows of a cell whose status changed: a regression if they were done before, otherwise a change.
fn of_status(
    pair: &CellPair,
    (before, after): (&[&RunRow], &[&RunRow]),
    kinds: &[FailOn],
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before = before.to_vec();
    before.sort_by_key(|row| row.seed);
    for old in before {
        let new = after.iter().find(|new| new.seed == old.seed);
        if new.is_some_and(|new| new.status == old.status) {
            continue;
        }
        // A row that no longer exists belongs to a seed that was removed from the manifest.
        let is_worse = old.status == Status::Done && new.is_some();
        let what = if is_worse && kinds.contains(&FailOn::Regression) {
            FailOn::Regression
        } else {
            FailOn::Change
        };
        let now = new.map_or("gone".to_owned(), |new| match &*new.reason {
            "" => new.status.to_string(),
            reason => format!("{} ({reason})", new.status),
        });
        let (cell, was, seed) = (&pair.after, old.status, old.seed);
        found.push((
            what,
            format!("{cell}: was {was} with seed {seed}, is {now}"),
        ));
    }
    found
}

fn p_text(p: Option<f64>) -> String {
    let text = p.map(|p| format!(", p = {}", human(p, 2)));
    text.unwrap_or_default()
}

/// The effect of a judgement with a ratio.
fn effect_of(judgement: &Judgement) -> Option<String> {
    let p = judgement.p_holm.or(judgement.p);
    Some(effect_text(&judgement.ratio?, p, &judgement.threshold))
}

/// `1.104× (1.082× to 1.127×) of before, p = 0.0036; threshold 2.0 %`.
fn effect_text(ratio: &Ratio, p: Option<f64>, threshold: &Threshold) -> String {
    let (ratio, p, threshold) = (ratio_text(ratio), p_text(p), percent(threshold.value));
    format!("{ratio}{p}; threshold {threshold}")
}

/// `1.104× (1.082× to 1.127×) of before`.
fn ratio_text(ratio: &Ratio) -> String {
    let times = |value: f64| format!("{value:.3}×");
    let (value, low, high) = (times(ratio.value), times(ratio.low), times(ratio.high));
    format!("{value} ({low} to {high}) of before")
}

fn medians_text(quality: &QualityChange) -> String {
    let (before, after) = quality.medians;
    let (before, after) = (human(before, 5), human(after, 5));
    format!("{} {before} → {after}", quality.column)
}

/// The values of the first seed, and the number of others.
fn facts_text(facts: &[&FactChange]) -> String {
    let Some(fact) = facts.first() else {
        return String::new();
    };
    let relative = fact.relative.map(|relative| {
        let sign = if relative > 0.0 { "+" } else { "" };
        format!(" ({sign}{})", percent(relative))
    });
    let relative = relative.unwrap_or_default();
    let more = match facts.len() - 1 {
        0 => String::new(),
        n => format!(", and with {}", count(n, "more seed")),
    };
    let (column, seed) = (&fact.column, fact.seed);
    let (before, after) = (shown(&fact.before), shown(&fact.after));
    format!("{column} {before} → {after}{relative} with seed {seed}{more}")
}

/// Number of characters of a text that are printed: enough to distinguish digests.
const LETTERS: usize = 12;

/// A value for display: integers unchanged, other numbers with five digits, texts shortened.
fn shown(text: &str) -> String {
    if text.is_empty() {
        return "nothing".to_owned();
    }
    if text.parse::<i64>().is_ok() {
        return text.to_owned();
    }
    if let Ok(value) = text.parse::<f64>() {
        return human(value, 5);
    }
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{} %", human(part * 100.0, 2))
}

#[cfg(test)]
mod tests;
