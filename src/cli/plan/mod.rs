//! `fieldtrial plan`: shows what a manifest would run.

mod explain;
mod search;
mod summary;
mod table;

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::plan::{Plan, PlannedCell};
use crate::progress::Verbosity;
use crate::results::{csv_of, json_line};

use super::run_plan::{StoredRuns, plan_of, print_data_remarks};
use super::{Outcome, Problem, exit_code};
use summary::{Summary, basis_text, chosen, expected};

/// Largest number of rows of the table.
const SHOWN: usize = 40;

/// Largest number of cells of a plan for which finished runs are searched in the store.
const RESUMED: usize = 100_000;

/// Show every cell of a manifest and whether it can run
///
/// Nothing is run and nothing is generated.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial plan experiments/ddpm.toml
  fieldtrial plan experiments/ddpm.toml --set train.epochs=3 --set 'matrix.batch-size=[8, 64]'
  fieldtrial plan experiments/ddpm.toml --only 'device=cpu,batch-size=8|32' --format csv
  fieldtrial plan experiments/quickstart.toml --explain 'model=mlp,dataset=curved,models.mlp.hidden=64'")]
pub(super) struct PlanArguments {
    /// The manifest
    manifest: PathBuf,
    /// Override a value of the manifest, as TOML; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Choose cells: AXIS=VALUE|VALUE,AXIS=VALUE
    #[arg(long, value_name = "AXIS=VALUE,…")]
    only: Option<String>,
    /// How to print the cells
    #[arg(long, value_enum, default_value_t = Format::Table, conflicts_with = "explain")]
    format: Format,
    /// Print what the axes stand for and how one cell is resolved: the first, or the one with this key
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = "")]
    explain: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
}

pub(super) fn plan(arguments: &PlanArguments) -> Outcome {
    let only = arguments.only.as_ref();
    let plan = plan_of(&arguments.manifest, &arguments.set, only, None)?;
    let warnings = plan.warnings.render_each(Failure::is_stderr_coloured());
    eprint!("{warnings}");
    print_data_remarks(&plan, Verbosity::Normal);
    let mut out = BufWriter::new(io::stdout().lock());
    let summary = match (&arguments.explain, arguments.format) {
        (Some(key), _) => return explain::explain(&plan, key, &mut out),
        (None, Format::Table) => table(&plan, &mut out)?,
        (None, Format::Csv) => csv(&plan, &mut out)?,
        (None, Format::Json) => json(&plan, &mut out)?,
    };
    out.flush()?;
    if summary.is_all_infeasible() {
        eprintln!("error: no cell can run on any machine; the reasons stand in the plan");
        return Ok(exit_code::MISTAKE);
    }
    Ok(exit_code::GOOD)
}

/// Counts of the selected cells, and the first cells for the table.
fn survey<'a>(cells: impl Iterator<Item = Cow<'a, PlannedCell>>) -> (Summary, Vec<PlannedCell>) {
    let (mut summary, mut shown) = (Summary::default(), Vec::new());
    for cell in cells {
        summary.add(&cell);
        if shown.len() < SHOWN {
            shown.push(cell.into_owned());
        }
    }
    (summary, shown)
}

fn table(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    // A small plan's cells are made once, for the table and for the counts of runs.
    let is_small = plan.search.is_none() && plan.len() <= RESUMED;
    let cells: Option<Vec<PlannedCell>> = is_small.then(|| plan.cells().collect());
    let (summary, shown) = match &cells {
        Some(cells) => {
            let selected = cells.iter().filter(|cell| plan.is_selected(cell));
            survey(selected.map(Cow::Borrowed))
        }
        None => survey(chosen(plan).map(Cow::Owned)),
    };
    writeln!(out, "{}", plan.title)?;
    if let Some(question) = &plan.question {
        writeln!(out, "{question}")?;
    }
    let left_out = summary.cells() - shown.len();
    let stored = StoredRuns::of(plan)?;
    let estimator = stored.estimator();
    let estimate = |cell: &PlannedCell| {
        expected(&estimator, cell).map(|expected| human_seconds(expected.seconds))
    };
    let has_estimate = plan.search.is_none() && shown.iter().any(|cell| estimate(cell).is_some());
    let estimates: Option<table::Estimate<'_>> = has_estimate.then_some(&estimate);
    let shown = table::cells_table(plan, &shown, left_out, estimates);
    if plan.search.is_some() {
        let (space, studies) = (search::text(plan), summary.of_search(plan));
        write!(out, "\n{space}\n{shown}\n{studies}\n")?;
        return Ok(summary);
    }
    write!(out, "\n{shown}\n{summary}\n")?;
    if let Some(cells) = &cells {
        write!(out, "{}", stored.text(plan, cells))?;
    }
    Ok(summary)
}

fn csv(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let mut summary = Summary::default();
    let axes = plan.axes.iter();
    let axes = axes.map(|axis| axis.name.replace(['-', '.'], "_"));
    let rest = [
        "status",
        "reason",
        "seeds",
        "repeats",
        "cell_hash",
        "run_estimate_s",
        "estimated_from",
    ];
    let (key, rest) = ("key".to_owned(), rest.map(str::to_owned));
    let stored = StoredRuns::of(plan)?;
    let estimator = stored.estimator();
    let header: Vec<String> = [key].into_iter().chain(axes).chain(rest).collect();
    let mut rows = vec![header];
    for cell in chosen(plan) {
        summary.add(&cell);
        let (status, reason) = summary::status(&cell.feasibility);
        let measure = &cell.spec.measure;
        let expected = expected(&estimator, &cell);
        let seconds = expected.map(|expected| format!("{:.3e}", expected.seconds));
        let basis = expected.map_or("", |expected| basis_text(expected.basis));
        let rest = [
            status.to_owned(),
            reason.to_owned(),
            measure.seeds.len().to_string(),
            measure.repeats.to_string(),
            cell.cell_hash.clone(),
            seconds.unwrap_or_default(),
            basis.to_owned(),
        ];
        let axes = cell.axes.iter().map(ToString::to_string);
        rows.push(
            [cell.spec.key]
                .into_iter()
                .chain(axes)
                .chain(rest)
                .collect(),
        );
    }
    out.write_all(&csv_of(&rows))?;
    Ok(summary)
}

/// One JSON object; the cells are written one after the other, so that a large plan needs little memory.
fn json(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let mut summary = Summary::default();
    let mut head = serde_json::json!({
        "name": plan.name, "title": plan.title, "question": plan.question, "axes": plan.axes, "variants": plan.variants,
        "measure": plan.measure, "report": plan.report, "compare": plan.compare, "cost": plan.cost,
    });
    if plan.search.is_some() {
        head["search"] = serde_json::to_value(&plan.search).unwrap_or_default();
    }
    let text = json_line(&head);
    // Leave the object open for the cells.
    let text = text.strip_suffix('}').unwrap_or(&text);
    write!(out, "{text},\"cells\":[")?;
    let stored = StoredRuns::of(plan)?;
    let estimator = stored.estimator();
    for (index, cell) in chosen(plan).enumerate() {
        summary.add(&cell);
        let expected = expected(&estimator, &cell);
        let comma = if index == 0 { "" } else { "," };
        let cell = json_line(&explain::cell_json(&cell, expected));
        write!(out, "{comma}\n{cell}")?;
    }
    writeln!(out, "\n]}}")?;
    Ok(summary)
}
