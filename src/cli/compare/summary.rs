//! A comparison on a terminal: both sides, the cells, all differences; and separately the answer of its page.

use std::fmt::Write;

use crate::base::statistics::range;
use crate::base::text::count;
use crate::compare::{
    Comparison, Design, EnvironmentChange, FieldChange, FieldClass, Origin, Side, ThresholdSource,
    Verdict, Work,
};
use crate::diag::list;
use crate::report::{self, comparison_answer, distinct};

use super::cells;
use super::costs;
use super::differences;
use super::page::{Page, Printing};
use super::words::{percent, without_nbsp, wrapped};

const COMMIT: usize = 8;

/// The printed text without the answer.
pub(super) fn details(comparison: &Comparison, printing: Printing) -> Page {
    let mut page = Page::new(printing);
    page.add(&format!(
        "{}\n{}\n",
        title(comparison),
        machines(&comparison.before, &comparison.after)
    ));
    page.add(&environment(&comparison.environment));
    cells::add(&mut page, comparison);
    if let Some(sentence) = needed(comparison) {
        page.add(&format!("\n{sentence}"));
    }
    costs::add(&mut page, comparison);
    differences::add(&mut page, comparison);
    page.text = without_nbsp(&page.text);
    page
}

/// The answers of comparisons, at the end of the text; if there are several, each below its title.
pub(super) fn answers(comparisons: &[&Comparison]) -> String {
    let mut text = String::new();
    for (place, comparison) in comparisons.iter().enumerate() {
        let sentences = comparison_answer(comparison);
        let indent = if comparisons.len() == 1 {
            text.push_str("\nAnswer\n");
            "  "
        } else {
            let heading = if place == 0 { "\nAnswers\n" } else { "" };
            let _ = writeln!(text, "{heading}  {}", title(comparison));
            "    "
        };
        for sentence in sentences {
            let _ = writeln!(text, "{indent}{sentence}");
        }
    }
    without_nbsp(&wrapped(&text))
}

/// One line for all experiments without a difference.
pub(super) fn unchanged_line(comparisons: &[&Comparison]) -> String {
    let names = comparisons.iter().map(|one| &*one.name);
    let sides = comparisons.first().map(|one| {
        let name = |side: &Side| match &side.origin {
            Origin::Git { .. } => called(side),
            _ => side.name.clone(),
        };
        format!("{} → {}: ", name(&one.before), name(&one.after))
    });
    wrapped(&format!(
        "{}no difference in {}.",
        sides.unwrap_or_default(),
        list(names)
    ))
}

/// The first line about a comparison: `quickstart: main (0150c8ca) → working tree (reports/quickstart)`.
fn title(comparison: &Comparison) -> String {
    let (before, after) = (&comparison.before, &comparison.after);
    match &comparison.along {
        Some(axis) => {
            let value = |side: &Side| match &side.origin {
                Origin::Value { value, .. } => value.clone(),
                _ => side.name.clone(),
            };
            let name = &comparison.name;
            format!("{name}: {axis} {} → {}", value(before), value(after))
        }
        None => format!(
            "{}: {} → {}",
            comparison.name,
            called(before),
            called(after)
        ),
    }
}

fn called(side: &Side) -> String {
    match &side.origin {
        Origin::Git { commit, .. } => {
            let short: String = commit.chars().take(COMMIT).collect();
            if side.name == short {
                side.name.clone()
            } else {
                format!("{} ({short})", side.name)
            }
        }
        Origin::Folder { path } if *path != side.name => format!("{} ({path})", side.name),
        _ => side.name.clone(),
    }
}

/// The machine and build: `AMD EPYC, 2 cores, release build`; those of both sides if they differ.
fn machines(before: &Side, after: &Side) -> String {
    let (old, new) = (machine(before), machine(after));
    if old == new {
        format!("Measured on {old}.")
    } else {
        format!("Measured on {old} before, on {new} after.")
    }
}

fn machine(side: &Side) -> String {
    let set = &side.set;
    let ids = set.timings.iter().map(|row| &row.env_id);
    let known = ids.filter_map(|id| set.environments.get(id));
    let names = distinct(known.map(report::environment_summary));
    if names.is_empty() {
        "nothing yet".to_owned()
    } else {
        names.join(" and ")
    }
}

fn environment(change: &EnvironmentChange) -> String {
    let mut text = String::new();
    for (class, heading) in [
        (FieldClass::MustMatch, "differs and must match"),
        (FieldClass::Warn, "differs, and may affect times"),
        (FieldClass::Info, "differs"),
    ] {
        for change in change.fields.iter().filter(|field| field.class == class) {
            if text.is_empty() {
                text.push_str("\nEnvironment\n");
            }
            let _ = writeln!(text, "  {heading}: {}", field(change));
        }
    }
    if change.is_across {
        text.push_str(
            "  Times are compared across environments, as asked: a ratio may be the machine's or the build's.\n",
        );
    }
    text
}

fn field(change: &FieldChange) -> String {
    let values = |values: &[String]| -> String {
        let texts = values.iter().map(|value| match &**value {
            "" => "–".to_owned(),
            hash if is_hash(hash) => hash.chars().take(COMMIT).collect(),
            text => text.to_owned(),
        });
        texts.collect::<Vec<_>>().join(" and ")
    };
    let name = change.field.replace('_', " ");
    format!(
        "{name}: {} → {}",
        values(&change.before),
        values(&change.after)
    )
}

fn is_hash(text: &str) -> bool {
    text.len() >= 16 && text.chars().all(|letter| letter.is_ascii_hexdigit())
}

/// Text: the design of the measurement, which threshold had to be exceeded, and how many runs a cell needs.
fn needed(comparison: &Comparison) -> Option<String> {
    let cells = comparison.cells.iter();
    let compared: Vec<_> = cells
        .filter(|cell| !matches!(cell.judgement.verdict, Verdict::NotComparable(_)))
        .collect();
    let first = compared.first()?;
    let all = |design| compared.iter().all(|cell| cell.judgement.design == design);
    let how = if all(Design::Interleaved) {
        "Runs of both sides were made in one session and are compared in pairs"
    } else if all(Design::UntilSure) {
        "Runs of both sides were made in one session, in pairs, until each cell's verdict was sure"
    } else if all(Design::Sessions) {
        "Runs of the two sides were made in different sessions"
    } else {
        "Some cells' runs were made in one session, others' in two"
    };
    let source = match first.judgement.threshold.source {
        ThresholdSource::Manifest => "set by the manifest",
        ThresholdSource::MeasuredWithin => "measured on this machine within a session",
        ThresholdSource::MeasuredBetween => "measured on this machine between sessions",
        ThresholdSource::Default => "the default, as this machine's noise was not measured",
    };
    let thresholds = compared.iter().map(|cell| cell.judgement.threshold.value);
    let (least, most) = range(&thresholds.collect::<Vec<f64>>())?;
    let more = match (percent(least), percent(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}, by cell,"),
    };
    let mut text = format!("{how}; differences above {more} matter ({source}).");
    let is_short = |verdict: &Verdict| matches!(verdict, Verdict::TooFewRuns(_));
    let mut verdicts = compared.iter().map(|cell| &cell.judgement.verdict);
    if verdicts.any(is_short) {
        let _ = write!(
            text,
            " A verdict on a single cell needs at least {} per side.",
            count(comparison.needed_runs, "run")
        );
    }
    let is_treatment = |work: &Work| matches!(work, Work::Treatments(_));
    if compared.iter().any(|cell| is_treatment(&cell.work)) {
        text.push_str(" The two do different work per sample: the ratio is one of treatments, and no speed-up.");
    }
    Some(text)
}
