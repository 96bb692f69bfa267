//! Rules about how a report is printed.

use serde_json::Value;

use super::subject::{Shown, Subject, Text};
use crate::report::view::View;

/// Tables whose rows are not the cells: those that differ in one setting only, and the components of each.
const OTHERS: [&str; 3] = ["batch-size", "workers", "components"];
/// Statuses with which the reason for a missing row begins.
const REASONS: [&str; 11] = [
    "not run: ",
    "diverged: ",
    "timeout: ",
    "oom: ",
    "failed: ",
    "panicked: ",
    "killed: ",
    "pruned: ",
    "done, ",
    "unknown: ",
    "not comparable: ",
];

/// Tables over cells have the same rows, a missing one has a reason, and all of them are printed.
pub(super) fn r4(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let over_cells = |table: &&Shown| is_over_cells(subject, table);
    let keys = |table: &Shown| -> Vec<String> {
        let keys = table.rows.iter().map(|row| row.key.clone());
        // A row of sums below the cells has no key; nor has the one group of all cells.
        let is_one_group = table.rows.iter().all(|row| row.key.is_empty());
        let is_cell = |key: &String| !key.is_empty() || table.cut.is_some() && is_one_group;
        keys.filter(is_cell).collect()
    };
    let tables: Vec<&Shown> = subject.tables.iter().filter(over_cells).collect();
    let expected: Vec<String> = if tables.iter().any(|table| table.cut.is_some()) {
        tables.first().map(|table| keys(table)).unwrap_or_default()
    } else {
        subject
            .set
            .plan
            .cells
            .iter()
            .map(|cell| cell.key.clone())
            .collect()
    };
    for table in tables {
        if keys(table) != expected {
            found.push(format!("{}: other rows than the cells", table.id));
        }
    }
    for table in &subject.tables {
        for row in table
            .rows
            .iter()
            .filter(|row| row.fields.len() != table.columns.len())
        {
            let reason = row.missing.as_deref().unwrap_or_default();
            if !REASONS.iter().any(|begin| reason.starts_with(begin)) {
                found.push(format!(
                    "{}, {}: values are missing without a reason",
                    table.id, row.key
                ));
            }
        }
        found.extend(
            subject
                .texts
                .iter()
                .flat_map(|text| printed_rows(text, table)),
        );
    }
    found
}

/// Whether a table begins with the axes that vary, as those over all cells do.
fn is_over_cells(subject: &Subject<'_>, table: &Shown) -> bool {
    let view = View::of(subject.set);
    let axes = match &view.grouping {
        Some(grouping) => grouping
            .axes
            .iter()
            .map(|&place| subject.set.plan.axes[place].name.clone())
            .collect(),
        None => view
            .axis_columns()
            .into_iter()
            .map(|column| column.heading)
            .collect::<Vec<_>>(),
    };
    let headings = table.columns.iter().map(|column| &column.heading);
    !OTHERS.contains(&&*table.id) && headings.take(axes.len()).eq(axes.iter())
}

fn printed_rows(text: &Text, table: &Shown) -> Vec<String> {
    let Some(part) = text.of_table(table) else {
        return Vec::new();
    };
    let name = format!("{}, {}", text.name, table.id);
    let mut found = Vec::new();
    let shown = text.rows_of(part);
    if shown != table.rows.len() {
        found.push(format!("{name}: {shown} rows of {}", table.rows.len()));
    }
    let reasons = table.rows.iter().filter_map(|row| row.missing.as_deref());
    let untold = reasons.filter(|reason| !part.contains(&text.escaped(reason)));
    found.extend(untold.map(|reason| format!("{name}: “{reason}” is not printed")));
    found
}

/// A headline is a field of the table that it links to, and is printed as it stands there.
pub(super) fn r6(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for headline in subject.having(&["title", "number", "link", "remarks"]) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (title, link) = (word(&headline["title"]), word(&headline["link"]));
        let (figure, interval) = (
            word(&headline["number"]["text"]),
            word(&headline["number"]["interval"]),
        );
        let is_it = |table: &Shown| {
            let mut entries = table.rows.iter().flat_map(|row| &row.fields);
            let is_grouped = table.cut.is_some();
            entries.any(|entry| {
                entry.text == figure && entry.detail == interval
                    || is_grouped
                        && entry
                            .detail
                            .split(" to ")
                            .chain([&*entry.text])
                            .any(|end| end == figure)
            })
        };
        let linked = subject.tables.iter().filter(|table| table.id == link);
        if !linked.into_iter().any(is_it) {
            found.push(format!("{title}: {figure} stands in no field of {link}"));
        }
        for text in &subject.texts {
            let title = text.escaped(&title);
            let shown = text.escaped(&figure);
            // Within a longer phrase, "best accuracy over trials", it is no headline.
            let stands_alone = |(begin, _): &(usize, &str)| {
                let rest = &text.whole[begin + title.len()..];
                !rest.starts_with(' ')
            };
            let places = text.whole.match_indices(&title);
            let mut places = places.filter(stands_alone).peekable();
            // Several headlines can have one title.
            let is_near = |(begin, _): (usize, &str)| {
                let rest = text.whole[begin + title.len()..].chars();
                rest.take(60).collect::<String>().contains(&shown)
            };
            if places.peek().is_some() && !places.any(is_near) {
                found.push(format!(
                    "{}: “{title}” is not printed with {figure}",
                    text.name
                ));
            }
        }
    }
    found
}

/// A finding has a known rule and values; where findings are printed, so is everything that was checked.
pub(super) fn r7(subject: &Subject<'_>) -> Vec<String> {
    let findings = &subject.context["findings"];
    let list = |name: &str| findings[name].as_array().cloned().unwrap_or_default();
    let checked: Vec<String> = list("checked")
        .iter()
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect();
    let mut found = Vec::new();
    for finding in list("found") {
        let (rule, text) = (
            finding["rule"].as_str().unwrap_or_default(),
            finding["text"].as_str().unwrap_or_default(),
        );
        if !checked
            .iter()
            .any(|known| known.starts_with(&format!("{rule}: ")))
        {
            found.push(format!("{rule}: not among the rules that were checked"));
        }
        if !text.contains(|c: char| c.is_ascii_digit()) {
            found.push(format!("{rule}: “{text}” has no values"));
        }
        for printed in subject.texts.iter().filter(|printed| has_findings(printed)) {
            if !printed.says(rule) || !printed.says(text) {
                found.push(format!("{}: finding {rule} is not printed", printed.name));
            }
        }
    }
    for printed in subject.texts.iter().filter(|printed| has_findings(printed)) {
        let unsaid = checked.iter().filter(|rule| !printed.says(rule));
        found.extend(
            unsaid.map(|rule| format!("{}: “{rule}” was checked and is not printed", printed.name)),
        );
    }
    found
}

fn has_findings(text: &Text) -> bool {
    ["## Findings", "<h2>Findings"]
        .iter()
        .any(|heading| text.whole.contains(heading))
}

/// Words that claim what only a test can show.
const CLAIMS: [&str; 11] = [
    "significan",
    "p-value",
    "statistically",
    "provably",
    "proves that",
    "no doubt",
    "signifikan",
    "p-wert",
    "statistisch",
    "beweist",
    "zweifellos",
];
/// Words that claim that nothing changed.
const SAMENESS: [&str; 6] = [
    "no change",
    "no difference",
    "unchanged",
    "keine änderung",
    "kein unterschied",
    "unverändert",
];
/// Words of a sentence that names its test.
const TESTS: [&str; 6] = [
    "mann–whitney",
    "permutation test",
    "sign-flip",
    "mann-whitney",
    "permutationstest",
    "vorzeichentest",
];
/// Words of a sentence that tells what would have been seen.
const DETECTABLE: [&str; 2] = ["smallest detectable", "nachweisbare"];

/// No word of significance without a test; beside every "no change" the smallest detectable effect.
pub(super) fn r8(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in &subject.texts {
        let mut own = text.before_manifest().to_owned();
        for users in ["title", "question"] {
            let words = subject.context[users].as_str().unwrap_or_default();
            if !words.is_empty() {
                own = own.replace(&text.escaped(words), "");
            }
        }
        for sentence in own.to_lowercase().split(['.', '\n', ';']) {
            let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
            if has(&CLAIMS) && !has(&TESTS) || has(&SAMENESS) && !has(&DETECTABLE) {
                found.push(format!("{}: {}", text.name, sentence.trim()));
            }
        }
    }
    found
}

/// Columns of counts.
const COUNTS: [&str; 6] = ["n", "rank", "parameters", "steps", "epochs", "cells"];

/// Integers have no fraction, zero has no sign, and letters survive.
pub(super) fn r12(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let is_count = column.is_number && column.unit.is_empty();
            if !is_count || !COUNTS.contains(&&*column.heading) {
                continue;
            }
            let broken = table.entries(place).filter(|(_, entry)| {
                entry.text.contains('.') || entry.text.contains('e') && entry.number().is_some()
            });
            found.extend(
                broken
                    .map(|(_, entry)| format!("{}, {}: {}", table.id, column.heading, entry.text)),
            );
        }
    }
    for text in &subject.texts {
        let own = text.before_manifest();
        let words = own.split([' ', '\n', '|', '>', '<', '(', ')', '"']);
        let zeros = words.filter(|word| is_negative_zero(word));
        found.extend(zeros.map(|word| format!("{}: {word}", text.name)));
        if own.contains('\u{fffd}') {
            found.push(format!("{}: a letter did not survive", text.name));
        }
        let title = subject.context["title"].as_str().unwrap_or_default();
        if !text.says(title) {
            found.push(format!("{}: the title did not survive", text.name));
        }
    }
    found
}

fn is_negative_zero(word: &str) -> bool {
    let digits = word
        .trim_end_matches([',', ';', '%', '×'])
        .strip_prefix(['-', '−']);
    digits
        .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| matches!(c, '0' | '.')))
}

/// Nothing in a text but the data: no time of day, no path of this machine, no address in memory.
pub(super) fn r18(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in &subject.texts {
        let own = text.before_manifest();
        for trace in [
            "/home/", "/tmp/", "/root/", "/Users/", "C:\\", "0x7f", "0x55",
        ] {
            if own.contains(trace) {
                found.push(format!("{}: {trace}", text.name));
            }
        }
        let times = own.split(|c: char| !c.is_ascii_digit() && c != ':' && c != '-' && c != 'T');
        let times = times.filter(|word| is_time(word));
        found.extend(times.map(|word| format!("{}: {word}", text.name)));
    }
    found
}

/// `10:42:07` or `2026-01-31T10:42`.
fn is_time(word: &str) -> bool {
    let clock = word.rsplit('T').next().unwrap_or_default();
    let parts: Vec<&str> = clock.split(':').collect();
    let is_two = |part: &&str| part.len() == 2 && part.chars().all(|c| c.is_ascii_digit());
    (word.contains('T') && parts.len() >= 2 || parts.len() == 3) && parts.iter().all(is_two)
}
