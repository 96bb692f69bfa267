//! `--fail-on`: which findings of a comparison cause exit code 1; each is one line on standard error.

use clap::ValueEnum;

use crate::base::text::count;
use crate::compare::{
    CellPair, Comparison, Cost, FactChange, Judgement, MatrixJudgement, QualityChange,
    QualityVerdict, Ratio, Threshold, Verdict,
};
use crate::report::Words;
use crate::results::{RunRow, Status, by_key, grouped};

use super::compare::metrics::{in_words, quality_text};
use super::compare::words::{percent, ratio, verdict, without_nbsp};
use super::exit_code;
use super::work::largest_change_text;

/// Kinds of findings that `--fail-on` accepts. The gate adds no judgement: a regression is a verdict "slower" or "worse" of
/// the comparison.
// The doc comments of the values are their help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// A cell is slower, or a metric is worse over the seeds; or a run that had finished now ends with another status
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
    /// No verdict was possible: too few runs, an unclear or incomparable time, a metric without a direction
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
            let sentence = without_nbsp(&sentence);
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

/// A finding that the gate fails on, and a sentence with the cell (its key on the side after, if the cell exists
/// there), the finding and its values.
type Violation = (FailOn, String);

/// All findings in `comparison` of the given `kinds`: the matrix first, then cell by cell in plan order, then cells of
/// one side. A regression is not listed as a change again.
fn violations(comparison: &Comparison, kinds: &[FailOn]) -> Vec<Violation> {
    let matrix = comparison.matrix.as_ref();
    let time = matrix.and_then(|matrix| of_matrix(matrix, None));
    let mut found: Vec<Violation> = time.into_iter().collect();
    let costs = comparison.costs.iter();
    found.extend(costs.filter_map(|own| of_matrix(own.matrix.as_ref()?, Some(own.cost))));
    let sides = [&comparison.before, &comparison.after];
    let [before, after] = sides.map(|side| by_key(&side.set.runs, |row| &row.key));
    let no_rows = Vec::new();
    for pair in &comparison.cells {
        let time = of_cell(&pair.after, None, &pair.judgement);
        found.extend(time.filter(|_| !pair.needs_no_verdict()));
        let costs = pair.costs.iter();
        found.extend(costs.filter_map(|own| of_cell(&pair.after, Some(own.cost), &own.judgement)));
        let old = before.get(&*pair.before).unwrap_or(&no_rows);
        let new = after.get(&*pair.after).unwrap_or(&no_rows);
        found.extend(of_status(pair, (old, new), kinds));
        found.extend(pair.quality.iter().filter_map(|q| of_quality(pair, q)));
        found.extend(of_facts(pair, kinds));
        if !pair.operations.is_empty() {
            let work = largest_change_text(&pair.operations);
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

/// Subject of a finding about the whole matrix, where other findings name a cell.
const ALL_CELLS: &str = "all cells together";

fn of_matrix(matrix: &MatrixJudgement, cost: Option<Cost>) -> Option<Violation> {
    let p = Some(matrix.p_holm);
    let effect = (&matrix.ratio, &matrix.threshold);
    of_verdict(ALL_CELLS, cost, (&matrix.verdict, p), Some(effect))
}

fn of_cell(cell: &str, cost: Option<Cost>, own: &Judgement) -> Option<Violation> {
    let p = own.p_holm.or(own.p);
    let effect = own.ratio.as_ref().map(|ratio| (ratio, &own.threshold));
    of_verdict(cell, cost, (&own.verdict, p), effect)
}

/// The violation that corresponds to a verdict on `cost` (`None` is the time), or `None` if the verdict is none. Its
/// sentence: `CELL: time per sample: slower, p = 0.0036, 1.104× (1.082–1.127); threshold 2.0 %`.
fn of_verdict(
    cell: &str,
    cost: Option<Cost>,
    (own, p): (&Verdict, Option<f64>),
    effect: Option<(&Ratio, &Threshold)>,
) -> Option<Violation> {
    let what = match (own, cost) {
        (Verdict::Slower, None) => FailOn::Regression,
        (Verdict::More, Some(cost)) => FailOn::of(cost),
        (Verdict::TooFewRuns(_) | Verdict::Unclear(_) | Verdict::NotComparable(_), None) => {
            FailOn::Unclear
        }
        _ => return None,
    };
    let effect = effect.filter(|_| what != FailOn::Unclear);
    let effect = effect.map(|(times, threshold)| {
        let threshold = percent(threshold.value);
        format!("{}; threshold {threshold}", ratio(times))
    });
    let (word, why) = verdict(own, p, None);
    let parts: Vec<String> = [word].into_iter().chain(why).chain(effect).collect();
    let words = Words::default();
    let name = cost.map_or(words.timed(), |cost| words.cost(cost));
    Some((what, format!("{cell}: {name}: {}", parts.join(", "))))
}

fn of_quality(pair: &CellPair, quality: &QualityChange) -> Option<Violation> {
    let what = match quality.verdict {
        QualityVerdict::Equal | QualityVerdict::Better => return None,
        QualityVerdict::Worse => FailOn::Regression,
        QualityVerdict::TooFewSeeds(_) | QualityVerdict::NotTold => FailOn::Unclear,
    };
    Some((what, format!("{}: {}", pair.after, quality_text(quality))))
}

/// Facts (losses, metrics) that changed beyond their tolerance, each column once, except those listed as worse over the
/// seeds. They count as changed, not as worse: with a single seed a value may get worse by chance.
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

/// The values of a fact before and after with the first seed, and the number of further seeds with a change.
fn facts_text(facts: &[&FactChange]) -> String {
    let Some(fact) = facts.first() else {
        return String::new();
    };
    let more = match facts.len() - 1 {
        0 => String::new(),
        n => format!(", and with {}", count(n, "more seed")),
    };
    format!("{} with seed {}{more}", in_words(fact), fact.seed)
}

#[cfg(test)]
mod tests;
