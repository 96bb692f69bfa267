//! Rules about what a report says, in whichever format it is printed.

use crate::report::table::ColumnKind;
use std::collections::BTreeMap;

use crate::report::table::{Column, Row, Table};

use super::subject::{Subject, Text};
use crate::results::{CellInfo, counted_runs, grouped};

/// Prefixes of valid provenances.
const KINDS: [&str; 6] = [
    "measured (",
    "derived (",
    "assumed (",
    "gemessen (",
    "abgeleitet (",
    "angenommen (",
];
/// Words that must not occur in a measurement's provenance.
const NOT_MEASURED: [&str; 7] = [
    "assum",
    "estimat",
    "guess",
    "manifest",
    "annahm",
    "angenommen",
    "schätz",
];
/// Ids of tables with texts copied from files: settings, fields of environments, names of sides.
const OF_WORDS: [&str; 3] = ["settings", "fields", "sides"];

/// R1: each number is measured, derived or assumed; each column states which, and the printed table repeats it.
pub(super) fn r1_numbers_have_source(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let name = format!("{}, {}", table.id, column.heading);
            if column.is_number {
                found.extend(provenance(&column.provenance).map(|why| format!("{name}: {why}")));
                if !table
                    .sources
                    .iter()
                    .any(|source| source.provenance == column.provenance)
                {
                    found.push(format!("{name}: its provenance is not among the table's"));
                }
            } else if column.kind != ColumnKind::Setting
                && !OF_WORDS.contains(&&*table.id)
                && is_all_numbers(table, place)
            {
                found.push(format!("{name}: numbers without a provenance"));
            }
        }
        for text in &subject.texts {
            let Some(part) = text.part_with_table(table) else {
                continue;
            };
            if table.rows.is_empty() {
                continue;
            }
            let part = Text::visible(part);
            for source in &table.sources {
                if !part.contains(&text.escaped(&source.provenance)) {
                    let (name, id) = (&text.name, &table.id);
                    found.push(format!(
                        "{name}, {id}: “{}” is not printed",
                        source.provenance
                    ));
                }
            }
        }
    }
    found
}

fn provenance(told: &str) -> Option<String> {
    let kinds: usize = KINDS.iter().map(|kind| told.matches(kind).count()).sum();
    let begins = KINDS.iter().any(|kind| told.starts_with(kind));
    if !begins || kinds != 1 || !told.ends_with(')') {
        return Some(format!("“{told}” is not one of measured, derived, assumed"));
    }
    let word = NOT_MEASURED.iter().find(|word| told.contains(**word));
    let word = word.filter(|_| told.starts_with("measured") || told.starts_with("gemessen"));
    word.map(|word| format!("“{told}” is not measured: {word}…"))
}

fn is_all_numbers(table: &Table, place: usize) -> bool {
    let mut fields = table.entries(place).map(|(_, entry)| entry).peekable();
    fields.peek().is_some()
        && fields.all(|entry| entry.text.replace(',', "").parse::<f64>().is_ok())
}

/// R2: clocks, memory, shares and times are plausible, or shown as unknown.
pub(super) fn r2_plausible_values(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for field in subject.objects_with_keys(&["name", "value", "class"]) {
        let (name, value) = (field["name"].as_str(), field["value"].as_str());
        let number: Option<f64> = value.and_then(|value| value.parse().ok());
        let (least, most) = match name {
            Some("clock mhz") => (100.0, 10_000.0),
            Some("memory gib" | "logical cores" | "physical cores") => (f64::MIN_POSITIVE, 1e9),
            _ => continue,
        };
        let is_plausible = number.is_some_and(|number| (least..=most).contains(&number));
        if !is_plausible && value != Some("unknown") {
            found.push(format!(
                "{} of {}",
                name.unwrap_or_default(),
                value.unwrap_or_default()
            ));
        }
    }
    for table in &subject.tables {
        for (place, column) in table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| c.is_number)
        {
            let range = match &*column.unit {
                "%" if is_share(column.kind) || column.provenance.contains("NVML") => 0.0..=100.0,
                // Chips shut down long before 150 °C.
                "°C" => 0.0..=150.0,
                "ms" | "s" | "h" | "MiB" | "bytes" | "samples/s" | "GHz" | "MHz" | "W" | "J" => {
                    0.0..=f64::MAX
                }
                _ => continue,
            };
            for (row, entry) in table.entries(place) {
                if let Some(number) = entry.value.filter(|number| !range.contains(number)) {
                    found.push(format!(
                        "{}, {}, {}: {number}",
                        table.id, column.heading, row.key
                    ));
                }
            }
        }
    }
    found
}

/// R3: shares have one denominator and a residual, sum to 100 %, and are shown only if the phases sum to the step.
pub(super) fn r3_shares_sum_to_100(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        let places: Vec<usize> = (0..table.columns.len())
            .filter(|&place| is_share(table.columns[place].kind))
            .collect();
        let Some(first) = places.first() else {
            continue;
        };
        let told = |place: &usize| &*table.columns[*place].provenance;
        let whole = |place: &usize| {
            told(place)
                .rsplit('÷')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        if places.iter().any(|place| whole(place) != whole(first)) {
            found.push(format!("{}: shares of different wholes", table.id));
        }
        let is_residual = |place: &usize| table.columns[*place].kind == ColumnKind::Residual;
        if !places.iter().any(is_residual) {
            found.push(format!("{}: no residual", table.id));
        }
        for row in &table.rows {
            let shares = places.iter().map(|&place| row.fields.get(place)?.value);
            let Some(shares) = shares.collect::<Option<Vec<f64>>>() else {
                continue;
            };
            let sum: f64 = shares.iter().sum();
            if (sum - 100.0).abs() > 0.1 {
                found.push(format!("{}, {}: shares sum to {sum}", table.id, row.key));
            }
            if whole(first).contains("step") && !is_the_step(subject, &row.key) {
                found.push(format!(
                    "{}: the phases are not the step, and their shares are shown",
                    row.key
                ));
            }
        }
    }
    found
}

/// Whether a cell's phases sum to its step within one percent.
fn is_the_step(subject: &Subject<'_>, key: &str) -> bool {
    let blocks: Vec<_> = subject
        .set
        .blocks
        .iter()
        .filter(|run| run.key == key)
        .collect();
    let counted = counted_runs(&blocks);
    let mut times = counted.iter().filter_map(|run| run.times.as_deref());
    times.all(|times| {
        let p = &times.phases;
        let sum = p.data_wait_ms + p.transfer_ms + p.forward_ms + p.loss_ms + p.backward_ms;
        let sum = sum + p.optimizer_ms + p.other_ms;
        (sum - times.phase_step_ms()).abs() <= 0.01 * times.phase_step_ms()
    })
}

/// R5: the rows of a ranking have one task; rows with a ratio have the same work, code and environment.
pub(super) fn r5_comparable_rows(subject: &Subject<'_>) -> Vec<String> {
    let cells: BTreeMap<&str, &CellInfo> = subject
        .set
        .plan
        .cells
        .iter()
        .map(|cell| (&*cell.key, cell))
        .collect();
    let environments: BTreeMap<&str, &str> = subject
        .set
        .timings
        .iter()
        .map(|row| (&*row.key, &*row.env_id))
        .collect();
    let has_treatment = subject
        .set
        .plan
        .compare
        .get("treatment")
        .is_some_and(serde_json::Value::is_string);
    let mut found = Vec::new();
    for table in &subject.tables {
        let rows = table
            .rows
            .iter()
            .filter(|row| cells.contains_key(&*row.key));
        let all: Vec<_> = rows.collect();
        let tasks = all.iter().map(|row| &*cells[&*row.key].task_signature);
        let is_ranked = table.id.starts_with("decision");
        if is_ranked && differ(tasks) {
            found.push(format!("{}: cells of different tasks are ranked", table.id));
        }
        let against = |column: &Column| column.provenance.contains("baseline");
        let Some(place) = table.columns.iter().position(against) else {
            continue;
        };
        let is_ratio = |text: &str| text.contains('×');
        let ratio = |row: &&&Row| {
            row.fields
                .get(place)
                .is_some_and(|entry| is_ratio(&entry.text))
        };
        let with_ratio: Vec<_> = all.iter().filter(ratio).collect();
        // Each task has its own baseline.
        let by_task = grouped(with_ratio, |row| &*cells[&*row.key].task_signature);
        let works = |row: &&&Row| {
            let cell = cells[&*row.key];
            let is_command = subject.set.plan.is_trained_by_command(cell);
            (
                // Values of a declared treatment are to be compared, although their work differs.
                Some(&cell.work_signature).filter(|_| !has_treatment),
                // The code hash of a command covers only its own program, so it may differ.
                cell.code_hash.as_ref().filter(|_| !is_command),
                environments.get(&*row.key),
            )
        };
        if by_task.iter().any(|rows| differ(rows.iter().map(works))) {
            found.push(format!(
                "{}: ratios between cells of different work, code or machine",
                table.id
            ));
        }
    }
    found
}

/// Whether the column is one of the shares of a whole, including the residual.
fn is_share(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Share | ColumnKind::Residual)
}

fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(&value) != first.as_ref())
}
