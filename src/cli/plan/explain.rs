//! `plan --explain`: the meaning of axes, and the settings of one cell.

use std::io::Write;

use serde_json::{Value, json};

use crate::base::units::human_seconds;
use crate::cli::run_plan::{self, Outlook};
use crate::cli::{Outcome, Problem, exit_code};
use crate::diag::{Failure, did_you_mean};
use crate::execute::{Basis, Expected};
use crate::plan::{Plan, PlannedCell};

use super::summary::status;

/// Explains the plan and the cell with `key` (the first cell if it is empty).
pub(super) fn explain(plan: &Plan, key: &str, out: &mut impl Write) -> Outcome {
    let cell = if key.is_empty() {
        super::chosen(plan).next()
    } else {
        super::chosen(plan).find(|cell| cell.spec.key == key)
    };
    let Some(cell) = cell else {
        return Err(unknown_key(plan, key).into());
    };
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
        describe(&cell, out)?;
        out.flush()?;
        return Ok(exit_code::GOOD);
    }
    describe(&cell, out)?;
    runs(plan, &cell, out)?;
    out.flush()?;
    Ok(exit_code::GOOD)
}

fn unknown_key(plan: &Plan, key: &str) -> Failure {
    let known: Vec<String> = super::chosen(plan)
        .take(1000)
        .map(|cell| cell.spec.key)
        .collect();
    let example = known
        .first()
        .map(|first| format!("keys look like `{first}`"));
    let advice = did_you_mean(key, known.iter().map(String::as_str)).or(example);
    Failure::plain(format!("there is no cell `{key}`"), advice)
}

fn axes(plan: &Plan, out: &mut impl Write) -> std::io::Result<()> {
    let width = plan
        .cell_axes()
        .iter()
        .map(|axis| axis.name.len())
        .max()
        .unwrap_or(0);
    writeln!(out, "axes")?;
    for axis in plan.cell_axes() {
        let short = if axis.name == axis.path {
            ""
        } else {
            &axis.path
        };
        let values = axis.values.join(", ");
        let line = if short.is_empty() {
            values
        } else {
            format!("{short}: {values}")
        };
        writeln!(out, "  {:<width$}  {line}", axis.name)?;
    }
    Ok(())
}

fn describe(cell: &PlannedCell, out: &mut impl Write) -> std::io::Result<()> {
    let (status, reason) = status(&cell.feasibility);
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    writeln!(out, "cell {}\n  {status}{reason}", cell.spec.key)?;
    let facts = &cell.facts;
    let (train, validation, test) = (
        facts.train_samples,
        facts.validation_samples,
        facts.test_samples,
    );
    writeln!(
        out,
        "  samples: {train} to train on, {validation} to validate on, {test} to test on"
    )?;
    if facts.fingerprint.is_none() {
        writeln!(out, "  data: to be generated")?;
    }
    writeln!(out, "  cell hash       {}", cell.cell_hash)?;
    for (name, digest) in &cell.hash_parts {
        writeln!(out, "    {name:<15} {digest}")?;
    }
    writeln!(
        out,
        "  task signature  {}\n  work signature  {}",
        cell.task_signature, cell.work_signature
    )?;
    writeln!(out, "resolved")?;
    for (section, value) in sections(cell) {
        lines(out, &section, &value)?;
    }
    Ok(())
}

/// Every run of the cell: whether it is kept, or runs and why, and the estimated time.
fn runs(plan: &Plan, cell: &PlannedCell, out: &mut impl Write) -> Result<(), Problem> {
    let outlook = Outlook::of(plan)?;
    let lines = outlook.runs_of(cell);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "runs")?;
    for line in lines {
        writeln!(out, "  {line}")?;
    }
    let Some(expected) = super::expected(&outlook.estimator(), cell) else {
        writeln!(out, "  {}", run_plan::NOTHING_LIKE_IT)?;
        return Ok(());
    };
    let seconds = human_seconds(expected.seconds);
    let basis = match expected.basis {
        Basis::SameCell => "runs of the cell",
        Basis::SameWork => "runs of the same work at other sizes",
        Basis::SameKind => "runs of its kind at another size",
    };
    writeln!(
        out,
        "  estimated {seconds} a run, from {basis} on this machine"
    )?;
    Ok(())
}

/// The resolved sections in the order of a manifest.
fn sections(cell: &PlannedCell) -> Vec<(String, Value)> {
    let spec = &cell.spec;
    let value = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    vec![
        (
            format!("models.{}", spec.model_name),
            value(serde_json::to_value(&spec.model)),
        ),
        (
            format!("datasets.{}", spec.dataset_name),
            value(serde_json::to_value(&spec.dataset)),
        ),
        ("loss".to_owned(), value(serde_json::to_value(&spec.loss))),
        ("train".to_owned(), value(serde_json::to_value(&spec.train))),
        (
            "loader".to_owned(),
            value(serde_json::to_value(&spec.loader)),
        ),
        (
            "validation".to_owned(),
            value(serde_json::to_value(&spec.validation)),
        ),
        (
            "measure".to_owned(),
            value(serde_json::to_value(&spec.measure)),
        ),
        (
            "limits".to_owned(),
            value(serde_json::to_value(&spec.limits)),
        ),
    ]
}

/// One line per value, by its full path; unset values are left out.
fn lines(out: &mut impl Write, path: &str, value: &Value) -> std::io::Result<()> {
    match value {
        Value::Null => Ok(()),
        Value::Object(map) => map
            .iter()
            .try_for_each(|(key, value)| lines(out, &format!("{path}.{key}"), value)),
        other => writeln!(out, "  {path} = {other}"),
    }
}

pub(super) fn cell_json(cell: &PlannedCell, expected: Option<Expected>) -> Value {
    let (status, reason) = status(&cell.feasibility);
    let parts: serde_json::Map<String, Value> = cell
        .hash_parts
        .iter()
        .map(|(name, digest)| ((*name).to_owned(), (**digest).into()))
        .collect();
    json!({
        "key": cell.spec.key, "axes": cell.axes, "status": status, "reason": reason, "cell_hash": cell.cell_hash,
        "hash_parts": parts, "task_signature": cell.task_signature, "work_signature": cell.work_signature,
        "flops_per_sample": cell.flops_per_sample,
        "run_estimate_s": expected.map(|expected| expected.seconds),
        "estimated_from": expected.map(|expected| super::basis_text(expected.basis)),
        "spec": cell.spec,
    })
}
