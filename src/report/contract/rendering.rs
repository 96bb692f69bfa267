//! Rules about how a report is printed.

use crate::report::table::ColumnKind;
use serde_json::Value;

use crate::report::table::{Entry, Row, Table};

use super::subject::{Subject, Text};
use crate::report::sections::findings::RULES;
use crate::report::view::View;

/// R4: every measured cell has a row in the table of times, unless that table says that it is cut; the first [`LISTED`]
/// cells without measurement are in a list with their reason.
pub(super) fn r4_every_cell_listed(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let view = View::of(subject.set);
    let (measured, others): (Vec<_>, Vec<_>) =
        view.cells.iter().partition(|cell| cell.is_measured());
    let table = |id: &str| subject.tables.iter().find(|table| table.id.starts_with(id));
    let speed = table("speed");
    let keys: Vec<&str> = speed
        .iter()
        .flat_map(|table| &table.rows)
        .map(|row| &*row.key)
        .collect();
    let expected: Vec<&str> = measured.iter().map(|cell| &*cell.info.key).collect();
    let is_grouped = speed.is_some_and(|table| table.cut.is_some());
    if !is_grouped && keys != expected {
        found.push("speed: other rows than the measured cells".to_owned());
    }
    let listed = subject.section("without-result");
    let points = listed.map(|section| section["points"].as_array().map_or(0, Vec::len));
    let others = others
        .iter()
        .filter(|cell| cell.info.trial.is_none())
        .count();
    // A list that is cut has a last item that says so.
    if points.unwrap_or(0) < others.min(LISTED) {
        found.push(format!(
            "{others} cells without a measurement, and {points:?} are listed"
        ));
    }
    for table in &subject.tables {
        let short = |row: &&Row| row.fields.len() != table.columns.len();
        let without = |row: &Row| row.missing.as_deref().unwrap_or_default().is_empty();
        for row in table.rows.iter().filter(short).filter(|row| without(row)) {
            found.push(format!(
                "{}, {}: values are missing without a reason",
                table.id, row.key
            ));
        }
        let texts = subject.texts.iter();
        found.extend(texts.flat_map(|text| printed_rows(text, table)));
    }
    found
}

/// Largest number of cells in a list.
const LISTED: usize = 100;

fn printed_rows(text: &Text, table: &Table) -> Vec<String> {
    let Some(part) = text.part_with_table(table) else {
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

/// R6: numbers in the decision table equal those in the other tables, and every sentence of the answer is printed.
pub(super) fn r6_answer_printed(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let (decisions, others): (Vec<&Table>, Vec<&Table>) = subject
        .tables
        .iter()
        .partition(|table| table.id.starts_with("decision"));
    let is_grouped = others.iter().any(|table| table.cut.is_some());
    // Trials are printed only in the decision table of a search.
    let decisions = decisions
        .into_iter()
        .filter(|_| subject.set.plan.search.is_none());
    for table in decisions {
        for row in table
            .rows
            .iter()
            .filter(|row| !row.key.is_empty() && !is_grouped)
        {
            let elsewhere = others.iter().flat_map(|other| &other.rows);
            let same: Vec<&Entry> = elsewhere
                .filter(|other| other.key == row.key)
                .flat_map(|other| &other.fields)
                .collect();
            let numbers = row
                .fields
                .iter()
                .zip(&table.columns)
                .filter(|(_, column)| column.is_number);
            for (entry, column) in numbers.filter(|(entry, _)| entry.text != "–") {
                let is_it = |other: &&Entry| other.text.contains(&entry.text);
                if !same.is_empty() && !same.iter().any(is_it) {
                    found.push(format!(
                        "{}, {}: {} stands in no other table",
                        row.key, column.heading, entry.text
                    ));
                }
            }
        }
    }
    for sentence in answers(subject) {
        let silent = subject
            .texts
            .iter()
            .filter(|text| !text.prints_text(&sentence));
        found.extend(silent.map(|text| format!("{}: “{sentence}” is not printed", text.name)));
    }
    for (place, answer) in ["answer", "profile"].into_iter().enumerate() {
        let sentences = subject.context[answer]["sentences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for sentence in sentences.iter().filter_map(Value::as_str) {
            let own = subject
                .texts
                .iter()
                .filter(|text| text.name.starts_with("profiling") == (place == 1));
            let silent = own.filter(|text| !text.prints_text(sentence));
            found.extend(silent.map(|text| format!("{}: “{sentence}” is not printed", text.name)));
        }
    }
    found
}

/// The sentences of a comparison's answers.
fn answers(subject: &Subject<'_>) -> Vec<String> {
    let parts = subject.context["parts"].as_array().into_iter().flatten();
    let answers = parts.flat_map(|part| part["answer"].as_array().into_iter().flatten());
    answers
        .filter_map(|sentence| Some(sentence.as_str()?.to_owned()))
        .collect()
}

/// R7: a finding has a known rule and values, and is printed.
pub(super) fn r7_findings_printed(subject: &Subject<'_>) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for finding in list(&subject.context["findings"]) {
        let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let (rule, text) = (word("rule"), word("text"));
        if !RULES.iter().any(|(known, ..)| *known == rule) {
            found.push(format!("{rule}: not among the rules that are checked"));
        }
        if !text.contains(|c: char| c.is_ascii_digit()) {
            found.push(format!("{rule}: “{text}” has no values"));
        }
        for printed in &subject.texts {
            // HTML has no backticks, but code elements, so the texts between backticks are searched one by one.
            let says = text.split('`').all(|part| printed.prints_text(part));
            if !printed.prints_text(&rule) || !says {
                found.push(format!("{}: finding {rule} is not printed", printed.name));
            }
        }
    }
    found
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
/// Words for the smallest effect that a test could have shown.
const DETECTABLE: [&str; 2] = ["smallest detectable", "nachweisbare"];

/// R8: no claim of significance without a test; every "no change" has its smallest detectable effect.
pub(super) fn r8_significance_tested(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in &subject.texts {
        let mut own = text.whole.clone();
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

/// R12: integers have no fraction, zero has no sign, and no character is lost.
pub(super) fn r12_number_format(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            if column.kind != ColumnKind::Count {
                continue;
            }
            let broken = table.entries(place).filter(|(_, entry)| {
                let is_whole =
                    |value: f64| value.fract() == 0.0 && !entry.text.contains(['.', 'e']);
                entry.value.is_some_and(|value| !is_whole(value))
            });
            found.extend(
                broken
                    .map(|(_, entry)| format!("{}, {}: {}", table.id, column.heading, entry.text)),
            );
        }
    }
    for text in &subject.texts {
        let own = &text.whole;
        let words = own.split([' ', '\n', '|', '>', '<', '(', ')', '"']);
        let zeros = words.filter(|word| is_negative_zero(word));
        found.extend(zeros.map(|word| format!("{}: {word}", text.name)));
        if own.contains('\u{fffd}') {
            found.push(format!("{}: a letter did not survive", text.name));
        }
        let title = subject.context["title"].as_str().unwrap_or_default();
        if !text.prints_text(title) {
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

/// R18: texts depend only on the results: no time of day, no path of this machine, no memory address.
pub(super) fn r18_only_results_in_text(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in &subject.texts {
        let own = &text.whole;
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

/// Whether a word is a time of day, such as `10:42:07` or `2026-01-31T10:42`.
fn is_time(word: &str) -> bool {
    let clock = word.rsplit('T').next().unwrap_or_default();
    let parts: Vec<&str> = clock.split(':').collect();
    let is_two = |part: &&str| part.len() == 2 && part.chars().all(|c| c.is_ascii_digit());
    (word.contains('T') && parts.len() >= 2 || parts.len() == 3) && parts.iter().all(is_two)
}
