//! `plan --explain`: the meaning of axes, and the settings of one cell.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::shell;
use crate::base::text::escape_control_crlf_to_lf;
use crate::base::units::human_seconds;
use crate::cli::run_plan::{self, StoredRuns};
use crate::cli::{Outcome, Problem, exit_code};
use crate::compare::collect_settings;
use crate::datasets::DatasetSpec;
use crate::diag::{Failure, did_you_mean};
use crate::execute::{EstimateBasis, ExpectedRunTime};
use crate::losses::LossSpec;
use crate::plan::{Plan, PlannedCell};

use super::summary::{basis_text, chosen, expected, status};

/// Explains the plan and the cell with `key` (the first cell if it is empty).
pub(super) fn explain(plan: &Plan, key: &str, out: &mut impl Write) -> Outcome {
    let mut text = Vec::new();
    write(plan, key, &mut text)?;
    // Control characters are escaped, since strings of a manifest may contain them.
    out.write_all(escape_control_crlf_to_lf(&String::from_utf8_lossy(&text)).as_bytes())?;
    out.flush()?;
    Ok(exit_code::GOOD)
}

fn write(plan: &Plan, key: &str, out: &mut impl Write) -> Result<(), Problem> {
    let is_meant = |cell: &PlannedCell| key.is_empty() || cell.spec.key == key;
    let cell = chosen(plan).find(is_meant);
    let cell = cell.ok_or_else(|| unknown_key(plan, key))?;
    if !plan.cell_axes().is_empty() {
        axes(plan, out)?;
    }
    for (name, set) in &plan.variants {
        writeln!(out, "variant {name}")?;
        for (path, value) in set {
            writeln!(out, "  {path} = {value}")?;
        }
    }
    if plan.search.is_some() {
        writeln!(out, "search")?;
        for line in super::search::text(plan).lines() {
            let indent = if line.is_empty() { "" } else { "  " };
            writeln!(out, "{indent}{line}")?;
        }
    }
    describe(&cell, out)?;
    if plan.search.is_none() {
        runs(plan, &cell, out)?;
    }
    Ok(())
}

fn unknown_key(plan: &Plan, key: &str) -> Failure {
    let known = chosen(plan).take(1000);
    let known: Vec<String> = known.map(|cell| cell.spec.key).collect();
    let example = known.first();
    let example = example.map(|first| format!("keys look like `{first}`"));
    let advice = did_you_mean(key, known.iter().map(String::as_str)).or(example);
    Failure::without_source(format!("there is no cell `{key}`"), advice)
}

fn axes(plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    let widths = plan.cell_axes().iter().map(|axis| axis.name.len());
    let width = widths.max().unwrap_or(0);
    writeln!(out, "axes")?;
    for axis in plan.cell_axes() {
        let path = (axis.name != axis.path).then(|| format!("{}: ", axis.path));
        let (path, values) = (path.unwrap_or_default(), axis.values.join(", "));
        writeln!(out, "  {:<width$}  {path}{values}", axis.name)?;
    }
    Ok(())
}

fn describe(cell: &PlannedCell, out: &mut impl Write) -> io::Result<()> {
    let (status, reason) = status(&cell.feasibility);
    let colon = if reason.is_empty() { "" } else { ": " };
    writeln!(out, "cell {}\n  {status}{colon}{reason}", cell.spec.key)?;
    match &cell.spec.program {
        Some(program) => writeln!(out, "  command: {}", shell::joined(&program.arguments))?,
        None => data(cell, out)?,
    }
    writeln!(out, "  cell hash       {}", cell.cell_hash)?;
    for (name, digest) in &cell.hash_parts {
        writeln!(out, "    {name:<15} {digest}")?;
    }
    writeln!(out, "  task signature  {}", cell.task_signature)?;
    writeln!(out, "  work signature  {}", cell.work_signature)?;
    writeln!(out, "resolved")?;
    resolved(cell, out)
}

fn data(cell: &PlannedCell, out: &mut impl Write) -> io::Result<()> {
    let facts = &cell.facts;
    let (train, validation) = (facts.train_samples, facts.validation_samples);
    let test = facts.test_samples;
    writeln!(
        out,
        "  samples: {train} to train on, {validation} to validate on, {test} to test on"
    )?;
    if facts.fingerprint.is_none() {
        writeln!(out, "  data: to be generated")?;
    }
    Ok(())
}

/// Writes every run of the cell: whether its result is kept or it runs and why, with the estimated time.
fn runs(plan: &Plan, cell: &PlannedCell, out: &mut impl Write) -> Result<(), Problem> {
    let stored = StoredRuns::of(plan)?;
    let lines = stored.runs_of(plan, cell);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "runs")?;
    for line in lines {
        writeln!(out, "  {line}")?;
    }
    let Some(expected) = expected(&stored.estimator(), cell) else {
        writeln!(out, "  {}", run_plan::NOTHING_LIKE_IT)?;
        return Ok(());
    };
    let basis = match expected.basis {
        EstimateBasis::SameCell => "runs of the cell",
        EstimateBasis::SameWork => "runs of the same work at other sizes",
        EstimateBasis::SameKind => "runs of its kind at another size",
    };
    let time = human_seconds(expected.seconds);
    writeln!(
        out,
        "  estimated {time} a run, from {basis} on this machine"
    )?;
    Ok(())
}

/// Writes the resolved sections of the cell, in the order of a manifest.
fn resolved(cell: &PlannedCell, out: &mut impl Write) -> io::Result<()> {
    let spec = &cell.spec;
    let (model, dataset) = (&spec.model_name, &spec.dataset_name);
    lines(out, &format!("models.{model}"), &spec.model)?;
    // A command without a dataset has no such section, and its loss is not shown.
    if *spec.dataset != DatasetSpec::Absent {
        lines(out, &format!("datasets.{dataset}"), &spec.dataset)?;
    }
    if *spec.loss != LossSpec::Own {
        lines(out, "loss", &spec.loss)?;
    }
    lines(out, "train", &spec.train)?;
    lines(out, "loader", &spec.loader)?;
    lines(out, "validation", &spec.validation)?;
    lines(out, "measure", &spec.measure)?;
    lines(out, "limits", &spec.limits)
}

/// Writes one line per value, by its full path; unset values are left out.
fn lines(out: &mut impl Write, path: &str, section: &impl Serialize) -> io::Result<()> {
    let section = serde_json::to_value(section).unwrap_or_default();
    let mut settings = BTreeMap::new();
    collect_settings(path, &section, &mut settings);
    let mut settings = settings.iter();
    settings.try_for_each(|(path, value)| writeln!(out, "  {path} = {value}"))
}

pub(super) fn cell_json(cell: &PlannedCell, expected: Option<ExpectedRunTime>) -> Value {
    let (status, reason) = status(&cell.feasibility);
    let parts = cell.hash_parts.iter();
    let parts = parts.map(|(name, digest)| ((*name).to_owned(), json!(**digest)));
    let parts: serde_json::Map<String, Value> = parts.collect();
    json!({
        "key": cell.spec.key, "axes": cell.axes, "status": status, "reason": reason, "cell_hash": cell.cell_hash,
        "hash_parts": parts, "task_signature": cell.task_signature, "work_signature": cell.work_signature,
        "flops_per_sample": cell.flops_per_sample,
        "run_estimate_s": expected.map(|expected| expected.seconds),
        "estimated_from": expected.map(|expected| basis_text(expected.basis)),
        "spec": cell.spec,
    })
}
