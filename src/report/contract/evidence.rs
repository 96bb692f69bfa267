//! Rules about the basis of a report's numbers: runs, fits, machines, treatments, counters.

use crate::report::table::ColumnKind;
use std::collections::BTreeMap;

use serde_json::Value;

use super::subject::Subject;
use crate::plan::toml_text;
use crate::report::sections::cells::executions;
use crate::report::view::View;
use crate::results::IntervalKind;

/// R9: a median over several runs has an interval; a figure of a single run says so.
pub(super) fn r9_dispersion_shown(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let runs: BTreeMap<&str, usize> = subject
        .set
        .timings
        .iter()
        .map(|row| (&*row.key, row.n))
        .collect();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            if !column.provenance.contains("median of n runs") {
                continue;
            }
            let several = table.entries(place).filter(|(row, entry)| {
                let is_several = runs.get(&*row.key).is_some_and(|n| *n > 1);
                is_several && entry.value.is_some()
            });
            let told: Vec<bool> = several.map(|(_, entry)| entry.interval.is_some()).collect();
            if !told.is_empty() && !told.contains(&true) {
                found.push(format!(
                    "{}, {}: medians without dispersion",
                    table.id, column.heading
                ));
            }
        }
    }
    let single = subject
        .set
        .timings
        .iter()
        .flat_map(|row| row.values.values());
    let is_single =
        single.clone().count() > 0 && single.clone().all(|i| i.kind == IntervalKind::Single);
    for text in subject.texts.iter().filter(|_| is_single) {
        let says = text.whole.contains("ran once (n = 1)");
        if text.shows_table(subject, "speed") && !says {
            found.push(format!("{}: does not say that n = 1", text.name));
        }
    }
    found
}

/// R10: extrapolated values come from a fit, have an error, and are marked as not measured.
pub(super) fn r10_extrapolation_marked(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            if column.kind != ColumnKind::Extrapolated {
                continue;
            }
            let name = format!("{}, {}", table.id, column.heading);
            let is_fit = ["least squares", "fit"]
                .iter()
                .any(|word| column.provenance.contains(word));
            if !column.provenance.starts_with("derived (") || !is_fit {
                found.push(format!("{name}: not from a fit"));
            }
            let silent = subject.texts.iter();
            let silent = silent.filter(|text| {
                text.part_with_table(table)
                    .is_some_and(|part| !part.contains("not measured"))
            });
            found.extend(
                silent.map(|text| format!("{name}: not marked as not measured in {}", text.name)),
            );
            let without = table
                .entries(place)
                .filter(|(_, entry)| entry.text != "–" && entry.interval.is_none());
            found.extend(without.map(|(_, entry)| format!("{name}: {} has no error", entry.text)));
        }
    }
    found
}

/// Fields that the description of an environment must have, with their names in reports.
const ENVIRONMENT: [&str; 9] = [
    "architecture",
    "build_profile",
    "build_rustc",
    "cpu_model",
    "devices",
    "logical_cores",
    "memory_gib",
    "os",
    "clock_mhz",
];

/// R11: every environment is described in full, or every text says that the report is incomplete.
pub(super) fn r11_environment_complete(subject: &Subject<'_>) -> Vec<String> {
    let reasons: Vec<&str> = subject.context["incomplete"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut found = Vec::new();
    let mut ids: Vec<&str> = subject
        .set
        .blocks
        .iter()
        .map(|run| &*run.env_id)
        .filter(|id| !id.is_empty())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let environment = subject
            .set
            .environments
            .get(id)
            .cloned()
            .unwrap_or_default();
        let value = |name: &str| {
            environment
                .must_match
                .get(name)
                .or(environment.warn.get(name))
        };
        let lacks =
            |name: &&str| value(name).is_none_or(|value| value.is_empty() || value == "unknown");
        for name in ENVIRONMENT.iter().filter(|name| lacks(name)) {
            let words = &*name.replace('_', " ");
            if !reasons.iter().any(|reason| {
                reason.contains(id) && (reason.contains(words) || reason.contains("not described"))
            }) {
                found.push(format!(
                    "environment {id} lacks {words}, and the report is not marked"
                ));
            }
        }
    }
    for text in &subject.texts {
        for reason in reasons.iter().filter(|reason| !text.prints_text(reason)) {
            found.push(format!("{}: “{reason}” is not printed", text.name));
        }
    }
    found
}

/// R13: if an axis is the treatment, the report says what each value sets, and what else differs.
pub(super) fn r13_factors_listed(subject: &Subject<'_>) -> Vec<String> {
    let plan = &subject.set.plan;
    let Some(treatment) = plan.compare.get("treatment").and_then(Value::as_str) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let used = plan.variants.iter().filter(|_| treatment == "variant");
    for (name, sets) in used {
        for (path, value) in sets {
            let line = format!("{path} = {}", toml_text(value));
            // Checked only if treatments are compared.
            let comparing = subject
                .texts
                .iter()
                .filter(|text| text.shows_table(subject, "speed"));
            for text in comparing.filter(|text| !text.prints_text(&line)) {
                found.push(format!(
                    "{}: {name} sets {line}, which is not printed",
                    text.name
                ));
            }
        }
    }
    let told = subject.context["findings"].to_string();
    for path in crate::report::sections::treatment::undeclared_settings(&View::of(subject.set)) {
        if !told.contains(&path) {
            found.push(format!(
                "cells along {treatment} differ in {path}, which is not told"
            ));
        }
    }
    found
}

/// R14: a ratio says what is divided by what, in its formula or in the table.
pub(super) fn r14_ratio_direction(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let is_ratio = |text: &str| text.ends_with('×') && text.len() > "×".len();
            if !table.entries(place).any(|(_, entry)| is_ratio(&entry.text)) {
                continue;
            }
            let has_direction = ["÷", " over "]
                .iter()
                .any(|word| column.provenance.contains(word));
            if !has_direction && !table.about.contains("ratios of ") {
                found.push(format!(
                    "{}, {}: a ratio without a direction",
                    table.id, column.heading
                ));
            }
        }
    }
    found
}

/// R15: runs that shared the machine are counted, with their total time.
pub(super) fn r15_concurrent_runs_counted(subject: &Subject<'_>) -> Vec<String> {
    let view = View::of(subject.set);
    let runs = executions(&view);
    let shared: Vec<_> = runs.iter().filter(|(_, run)| !run.exclusive).collect();
    if shared.is_empty() {
        return Vec::new();
    }
    let seconds = shared.iter();
    let seconds = seconds.filter_map(|(_, run)| Some(run.times.as_deref()?.total_s));
    let sum = crate::base::units::human_seconds(seconds.sum());
    let expected = [
        format!(
            "{} of {} shared the machine with another run of Fieldtrial",
            shared.len(),
            crate::base::text::count(runs.len(), "run")
        ),
        format!("took {sum} in sum"),
    ];
    let method = subject
        .section("measured")
        .map(ToString::to_string)
        .unwrap_or_default();
    let missing = expected.iter().filter(|words| !method.contains(*words));
    missing
        .map(|words| format!("“{words}” is not said of runs side by side"))
        .collect()
}

/// R16: costs include all runs, also failed ones; the last row of the table is their total.
pub(super) fn r16_costs_include_failures(subject: &Subject<'_>) -> Vec<String> {
    let runs = executions(&View::of(subject.set)).len();
    let tables = subject.tables.iter().filter(|table| table.id == "cost");
    let counted = tables.filter_map(|table| {
        let place = table
            .columns
            .iter()
            .position(|column| column.kind == ColumnKind::Count)?;
        table.rows.last()?.fields.get(place)?.value
    });
    let wrong = counted.filter(|counted| (counted - runs as f64).abs() > 0.0);
    wrong
        .map(|counted| format!("cost of {counted} runs of {runs}"))
        .collect()
}

/// R17: utilisation comes from a counter, never from shares of phases.
pub(super) fn r17_utilisation_from_counters(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for table in &subject.tables {
        for column in table.columns.iter().filter(|column| column.is_number) {
            let is_utilisation = column.kind == ColumnKind::Utilisation;
            let counters = ["NVML", "wait4", "counter", "CPU seconds"];
            let is_counted = counters.iter().any(|word| column.provenance.contains(word));
            if is_utilisation && (!is_counted || column.provenance.contains("phase")) {
                found.push(format!(
                    "{}, {}: {}",
                    table.id, column.heading, column.provenance
                ));
            }
        }
    }
    found
}
