//! `--fail-on`: which findings of a comparison cause exit code 1; each is one line on standard error.

use clap::ValueEnum;

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{
    Comparison, FactChange, FailOn, Finding, QualityChange, QualityVerdict, Ratio, Threshold,
    Violation, violations,
};
use crate::report::{cost_name, verdict_words};

use super::exit_code;
use super::work::first_text;

/// What `--fail-on` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOnArgument {
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

impl FailOnArgument {
    /// The value on the command line.
    pub(super) fn text(self) -> &'static str {
        word(self.kind())
    }

    fn kind(self) -> FailOn {
        match self {
            Self::Regression => FailOn::Regression,
            Self::Change => FailOn::Change,
            Self::Work => FailOn::Work,
            Self::CpuTime => FailOn::CpuTime,
            Self::Memory => FailOn::Memory,
            Self::Energy => FailOn::Energy,
            Self::Unclear => FailOn::Unclear,
        }
    }
}

/// Prints the gate's findings in the comparisons, and returns the exit code: [`exit_code::FAILED`] if there are any.
///
/// On GitHub Actions every line is also printed as an annotation, which the page of the workflow run shows.
pub(super) fn gate<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
    fail_on: &[FailOnArgument],
) -> u8 {
    let kinds: Vec<FailOn> = fail_on.iter().map(|argument| argument.kind()).collect();
    let is_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    let mut code = exit_code::GOOD;
    for comparison in comparisons {
        for violation in violations(comparison, &kinds) {
            code = exit_code::FAILED;
            eprintln!("{}", line(&comparison.name, &violation));
            if is_github {
                eprintln!("{}", annotation(&comparison.name, &violation));
            }
        }
    }
    code
}

/// A violation in one line: kind, experiment, cell, figure, values.
fn line(name: &str, violation: &Violation) -> String {
    format!("{}: {name}: {}", word(violation.what), sentence(violation))
}

/// The same as a workflow command of GitHub ("Workflow commands" in its documentation, escaping as in its toolkit).
fn annotation(name: &str, violation: &Violation) -> String {
    let escaped = |text: &str| {
        let text = text.replace('%', "%25");
        text.replace('\r', "%0D").replace('\n', "%0A")
    };
    let title = format!("{} in {name}", word(violation.what));
    let title = escaped(&title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title={title}::{}", escaped(&sentence(violation)))
}

fn word(what: FailOn) -> &'static str {
    match what {
        FailOn::Regression => "regression",
        FailOn::Change => "change",
        FailOn::Work => "work",
        FailOn::CpuTime => "cpu-time",
        FailOn::Memory => "memory",
        FailOn::Energy => "energy",
        FailOn::Unclear => "unclear",
    }
}

/// A violation as a sentence: the cell, the finding, its values.
pub(super) fn sentence(violation: &Violation) -> String {
    let cell = violation.cell.as_deref().unwrap_or("all cells together");
    format!("{cell}: {}", finding_text(&violation.finding))
}

/// A finding with its values, in one line.
fn finding_text(finding: &Finding) -> String {
    match finding {
        Finding::Slower {
            ratio,
            p,
            threshold,
        } => format!(
            "slower: time per sample {}",
            effect_text(ratio, *p, threshold)
        ),
        Finding::CostsMore {
            cost,
            ratio,
            p,
            threshold,
        } => format!(
            "more: {} {}",
            cost_name(*cost),
            effect_text(ratio, *p, threshold)
        ),
        Finding::WorseQuality(quality) => {
            let (seeds, p) = (count(quality.pairs, "seed"), p_text(quality.p));
            format!("worse: {} over {seeds}{p}", medians_text(quality))
        }
        Finding::FactsChanged(facts) => format!("changed: {}", facts_text(facts)),
        Finding::WorkChanged(changes) => format!("a step does other work: {}", first_text(changes)),
        Finding::StatusChanged {
            seed,
            before,
            after,
            reason,
        } => {
            let after = after.map_or("gone".to_owned(), |status| status.to_string());
            let reason = Some(reason).filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(" ({reason})"));
            let reason = reason.unwrap_or_default();
            format!("was {before} with seed {seed}, is {after}{reason}")
        }
        Finding::Added => "added".to_owned(),
        Finding::Removed => "removed".to_owned(),
        Finding::TimeUndecided(verdict) => {
            let (word, why) = verdict_words(verdict, None);
            format!("time per sample: {word}, {}", why.join("; "))
        }
        Finding::QualityUndecided(quality) => {
            let seeds = count(quality.pairs, "seed");
            let needed = match quality.verdict {
                QualityVerdict::TooFewSeeds(needed) => {
                    format!("{seeds}, too few for a direction, which takes {needed}")
                }
                _ => format!("no direction over {seeds}"),
            };
            format!("{}: {needed}", medians_text(quality))
        }
    }
}

fn p_text(p: Option<f64>) -> String {
    let text = p.map(|p| format!(", p = {}", human(p, 2)));
    text.unwrap_or_default()
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
fn facts_text(facts: &[FactChange]) -> String {
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
mod tests {
    use super::*;
    use crate::compare::testing::comparison;

    #[test]
    fn every_violation_is_one_line_with_its_values() {
        let comparison = comparison();
        let kinds = [
            FailOn::Regression,
            FailOn::Change,
            FailOn::Work,
            FailOn::CpuTime,
            FailOn::Memory,
            FailOn::Energy,
            FailOn::Unclear,
        ];
        let found = violations(&comparison, &kinds);
        let lines: Vec<String> = found.iter().map(|v| line("ddpm", v)).collect();
        assert!(lines.iter().all(|line| !line.contains('\n')));
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn an_annotation_escapes_special_characters() {
        let violation = Violation {
            what: FailOn::Regression,
            cell: Some("a=1,b=50%".to_owned()),
            finding: Finding::Added,
        };
        let expected = "::error title=regression in a%3Ab::a=1,b=50%25: added";
        assert_eq!(annotation("a:b", &violation), expected);
    }
}
