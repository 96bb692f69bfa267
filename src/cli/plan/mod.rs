//! `fieldtrial plan`: shows what a manifest would run.

mod explain;
mod search;
mod summary;
mod table;

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::execute::{Basis, Estimator, Expected};
use crate::manifest;
use crate::plan::{Feasibility, Only, Plan, PlanOptions, PlannedCell};
use crate::progress::Detail;

use super::fingerprints::Fingerprints;
use super::run_plan::{Outlook, say_held_out};
use super::{Outcome, Problem, exit_code};
use summary::Summary;

/// Rows of a large plan's table, at the beginning and at the end.
const SHOWN: usize = 20;

/// Largest plan for which the store is searched for finished runs.
const RESUMED: usize = 100_000;

/// Show every cell of a manifest and whether it can run
///
/// Nothing is run and nothing is generated.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial plan experiments/ddpm.toml
  fieldtrial plan experiments/ddpm.toml --set train.epochs=3 --set 'matrix.batch-size=[8, 16]'
  fieldtrial plan experiments/ddpm.toml --only 'device=cpu,batch-size=8|16' --format csv
  fieldtrial plan experiments/ddpm.toml --explain 'batch-size=8,workers=0'")]
pub(super) struct PlanArguments {
    /// The manifest
    manifest: PathBuf,
    /// Override a value of the manifest, as TOML; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Choose cells: AXIS=VALUE|VALUE,AXIS=VALUE
    #[arg(long, value_name = "CELLS")]
    only: Option<String>,
    /// How to print the cells
    #[arg(long, value_enum, default_value_t = Format::Table, conflicts_with_all = ["explain", "digest"])]
    format: Format,
    /// Print what the axes stand for and how one cell is resolved: the first, or the one with this key
    #[arg(long, value_name = "KEY", num_args = 0..=1, default_missing_value = "", conflicts_with = "digest")]
    explain: Option<String>,
    /// Print the number of cells, the first and the last, and one digest over all cell hashes
    #[arg(long)]
    digest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Csv,
    Json,
}

pub(super) fn plan(arguments: &PlanArguments) -> Outcome {
    let known = Fingerprints::beside(&arguments.manifest);
    let manifest = manifest::load(&arguments.manifest, &arguments.set)?;
    let only = arguments.only.as_deref().map(Only::parse).transpose()?;
    let options = PlanOptions {
        only,
        ..PlanOptions::default()
    };
    let plan = Plan::new(&manifest, &known.inputs(), options)?;
    eprint!(
        "{}",
        plan.warnings.render_each(Failure::is_stderr_coloured())
    );
    say_held_out(&plan, Detail::Normal);
    let mut out = BufWriter::new(io::stdout().lock());
    let summary = match (&arguments.explain, arguments.digest, arguments.format) {
        (Some(key), ..) => return explain::explain(&plan, key, &mut out),
        (None, true, _) => digest(&plan, &mut out)?,
        (None, false, Format::Table) => table(&plan, &mut out)?,
        (None, false, Format::Csv) => csv(&plan, &mut out)?,
        (None, false, Format::Json) => json(&plan, &mut out)?,
    };
    out.flush()?;
    known.keep();
    Ok(summary.exit_code())
}

fn chosen(plan: &Plan) -> impl Iterator<Item = PlannedCell> {
    plan.cells().filter(|cell| plan.is_selected(cell))
}

/// Counts of the selected cells, and the first and last cells for the table.
fn survey(plan: &Plan) -> (Summary, Vec<PlannedCell>, VecDeque<PlannedCell>) {
    if plan.is_whole() && plan.search.is_none() {
        let first: Vec<PlannedCell> = plan.cells().take(SHOWN).collect();
        let rest = plan.len() - first.len();
        let last = plan.cells().after(plan.len() - rest.min(SHOWN));
        return (counted(plan), first, last.collect());
    }
    let mut summary = Summary::default();
    let (mut first, mut last) = (Vec::new(), VecDeque::new());
    for cell in chosen(plan) {
        summary.add(&cell.outline());
        if first.len() < SHOWN {
            first.push(cell);
        } else {
            last.push_back(cell);
            if last.len() > SHOWN {
                last.pop_front();
            }
        }
    }
    (summary, first, last)
}

fn counted(plan: &Plan) -> Summary {
    let size = share_size(plan);
    let starts: Vec<usize> = (0..plan.len()).step_by(size).collect();
    let share = |start: usize| {
        let mut summary = Summary::default();
        for cell in plan.cells().after(start).outlines().take(size) {
            summary.add(&cell);
        }
        summary
    };
    let shares: Vec<Summary> = starts.into_par_iter().map(share).collect();
    let mut summary = Summary::default();
    for share in &shares {
        summary.merge(share);
    }
    summary
}

fn table(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let (summary, first, mut last) = survey(plan);
    writeln!(out, "{}", plan.title)?;
    if let Some(question) = &plan.question {
        writeln!(out, "{question}")?;
    }
    let left_out = summary.cells() - first.len() - last.len();
    let outlook = Outlook::of(plan)?;
    let estimator = outlook.estimator();
    let estimate = |cell: &PlannedCell| {
        expected(&estimator, cell).map(|expected| human_seconds(expected.seconds))
    };
    let last = last.make_contiguous();
    let mut cells = first.iter().chain(&*last);
    let has_estimate = cells.any(|cell| estimate(cell).is_some());
    if let Some(search) = &plan.search {
        let shown = table::table(plan, &first, last, left_out, None);
        let (space, studies) = (search::text(plan), summary.of_search(search));
        write!(out, "\n{space}\n{shown}\n{studies}\n")?;
        return Ok(summary);
    }
    let estimates: Option<table::Estimate<'_>> = has_estimate.then_some(&estimate);
    let shown = table::table(plan, &first, last, left_out, estimates);
    write!(out, "\n{shown}\n{summary}\n")?;
    // Finished and remaining runs, if they fit into memory.
    if plan.len() <= RESUMED {
        let cells: Vec<PlannedCell> = plan.cells().collect();
        write!(out, "{}", outlook.text(plan, &cells))?;
    }
    Ok(summary)
}

/// The expected time of a cell's first run, if it can run.
fn expected(estimator: &Estimator<'_>, cell: &PlannedCell) -> Option<Expected> {
    (cell.feasibility == Feasibility::Runs)
        .then(|| estimator.run(cell, 0))
        .flatten()
}

fn basis_text(basis: Basis) -> &'static str {
    match basis {
        Basis::SameCell => "same cell",
        Basis::SameWork => "same work",
        Basis::SameKind => "same kind",
    }
}

fn csv(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let mut summary = Summary::default();
    let names = plan
        .axes
        .iter()
        .map(|axis| axis.name.replace(['-', '.'], "_"));
    let header: Vec<String> = std::iter::once("key".to_owned())
        .chain(names)
        .chain(
            [
                "status",
                "reason",
                "seeds",
                "repeats",
                "cell_hash",
                "run_estimate_s",
                "estimated_from",
            ]
            .map(str::to_owned),
        )
        .collect();
    let outlook = Outlook::of(plan)?;
    let estimator = outlook.estimator();
    record(out, header.iter().map(String::as_str))?;
    for cell in chosen(plan) {
        summary.add(&cell.outline());
        let (status, reason) = summary::status(&cell.feasibility);
        let measure = &cell.spec.measure;
        let (seeds, repeats) = (measure.seeds.len().to_string(), measure.repeats.to_string());
        let axes = cell.axes.iter().map(|text| &**text);
        let expected = expected(&estimator, &cell);
        let seconds = expected.map(|expected| format!("{:.3e}", expected.seconds));
        let basis = expected.map_or("", |expected| basis_text(expected.basis));
        let seconds = seconds.unwrap_or_default();
        let hash = cell.cell_hash.as_str();
        let rest = [status, reason, &seeds, &repeats, hash, &seconds, basis];
        record(
            out,
            std::iter::once(cell.spec.key.as_str())
                .chain(axes)
                .chain(rest),
        )?;
    }
    Ok(summary)
}

/// One CSV line (RFC 4180).
fn record<'a>(out: &mut impl Write, fields: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let quoted = |field: &str| {
        if field.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    };
    writeln!(out, "{}", fields.map(quoted).collect::<Vec<_>>().join(","))
}

/// One JSON object; the cells are written one after the other, so that a large plan needs no memory.
fn json(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let mut summary = Summary::default();
    let mut head = serde_json::json!({
        "name": plan.name, "title": plan.title, "question": plan.question, "axes": plan.axes, "variants": plan.variants,
        "measure": plan.measure, "report": plan.report, "compare": plan.compare, "cost": plan.cost,
    });
    if plan.search.is_some() {
        head["search"] = serde_json::to_value(&plan.search).unwrap_or_default();
    }
    let text = head.to_string();
    // Leave the object open for the cells.
    write!(
        out,
        "{},\"cells\":[",
        text.strip_suffix('}').unwrap_or(&text)
    )?;
    let outlook = Outlook::of(plan)?;
    let estimator = outlook.estimator();
    for (index, cell) in chosen(plan).enumerate() {
        summary.add(&cell.outline());
        let expected = expected(&estimator, &cell);
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\n{}", explain::cell_json(&cell, expected))?;
    }
    writeln!(out, "\n]}}")?;
    Ok(summary)
}

const SHARE: usize = 1 << 12;

fn share_size(plan: &Plan) -> usize {
    plan.len().div_ceil(rayon::current_num_threads()).max(SHARE)
}

/// A part of the cells, in order: counts, concatenated hashes, and lines about the first and the last.
#[derive(Default)]
struct Share {
    summary: Summary,
    hashes: String,
    first: Option<String>,
    last: Option<String>,
}

impl Share {
    fn of(plan: &Plan, start: usize, count: usize) -> Self {
        let mut share = Self::default();
        let mut last = None;
        let cells = plan.cells().after(start).take(count);
        for cell in cells.filter(|cell| plan.is_selected(cell)) {
            share.summary.add(&cell.outline());
            share.hashes.push_str(&cell.cell_hash);
            share.first.get_or_insert_with(|| hash_and_key(&cell));
            last = Some(cell);
        }
        share.last = last.as_ref().map(hash_and_key);
        share
    }
}

fn hash_and_key(cell: &PlannedCell) -> String {
    format!("{} {}", cell.cell_hash, cell.spec.key)
}

fn digest(plan: &Plan, out: &mut impl Write) -> Result<Summary, Problem> {
    let size = share_size(plan);
    let starts: Vec<usize> = (0..plan.len()).step_by(size).collect();
    let shares = starts.into_par_iter();
    let shares: Vec<Share> = shares.map(|start| Share::of(plan, start, size)).collect();
    let mut summary = Summary::default();
    let mut hasher = blake3::Hasher::new();
    for share in &shares {
        summary.merge(&share.summary);
        hasher.update(share.hashes.as_bytes());
    }
    writeln!(out, "{summary}")?;
    let first = shares.iter().find_map(|share| share.first.as_ref());
    let last = shares.iter().rev().find_map(|share| share.last.as_ref());
    if let (Some(first), Some(last)) = (first, last) {
        writeln!(out, "first  {first}\nlast   {last}")?;
    }
    writeln!(out, "digest {}", hasher.finalize())?;
    Ok(summary)
}

impl Summary {
    /// If every selected cell is infeasible, it is the user's mistake.
    fn exit_code(&self) -> u8 {
        if self.cells() > 0 && self.is_all_infeasible() {
            eprintln!("error: no cell can run on any machine; the reasons stand in the plan");
            return exit_code::MISTAKE;
        }
        exit_code::GOOD
    }
}
