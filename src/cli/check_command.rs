//! `fieldtrial check-command`: runs a command of a manifest for a short time and shows what it reports and what is
//! missing.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;

use crate::base::shell;
use crate::base::text::{count, escape_control};
use crate::diag::Failure;
use crate::event::{Event, Job, RunId, RunOutcome, Status};
use crate::execute::{CpuShare, Launch, WorkerProgram};
use crate::models::CommandSpec;
use crate::plan::{CellSpec, Feasibility};

use super::output::Stdout;
use super::printed::PrintedMetric;
use super::single_cell::single_cell;
use super::{Outcome, exit_code};

/// Run a command of a manifest for a moment and say what it reports and what is missing
///
/// The command gets its order as in a run, with the default of every parameter. Nothing is stored.
///
/// Exit codes: 0 it works · 1 something is missing, or it fails · 2 a mistake in the manifest
#[derive(Debug, Args)]
pub(super) struct CheckCommandArguments {
    /// The manifest
    manifest: PathBuf,
    /// Name of the model in the manifest
    #[arg(long, value_name = "NAME")]
    model: String,
    /// Override a value of the manifest, as TOML; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Seconds after which the command is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    time: f64,
}

pub(super) fn check_command(arguments: &CheckCommandArguments) -> Outcome {
    let name = &arguments.model;
    let cell = single_cell(&arguments.manifest, &arguments.set, name, None)?;
    let Some(command) = cell.spec.model.command().cloned() else {
        let kind = cell.spec.model.kind();
        let title = format!("`{name}` is a `{kind}`, which trains in Fieldtrial itself");
        let help = "`check-command` is for models of `kind = \"command\"`".to_owned();
        return Err(Failure::without_source(title, Some(help)).into());
    };
    if let Feasibility::Infeasible(reason) | Feasibility::Skipped(reason) = &cell.feasibility {
        let title = format!("`{name}` cannot run here: {reason}");
        return Err(Failure::without_source(title, None).into());
    }
    let mut spec = cell.spec;
    let mut limits = (*spec.limits).clone();
    limits.time = Some(
        limits
            .time
            .map_or(arguments.time, |own| own.min(arguments.time)),
    );
    spec.limits = Arc::new(limits);
    let seed = spec.measure.seeds.first().copied().unwrap_or_default();
    let mut seen = Seen::default();
    let (outcome, kept) = run(&spec, seed, &mut seen)?;
    let lines = report(&spec, &command, &seen, &outcome, &kept);
    let proposed = proposed(name, &command, &seen.printed);
    let mut out = Stdout::new();
    for (key, value) in &lines.told {
        writeln!(out, "{key:<9} {value}")?;
    }
    for line in &lines.missing {
        writeln!(out, "missing   {line}")?;
    }
    write!(out, "{proposed}")?;
    if lines.missing.is_empty() {
        let path = shell::quoted(&arguments.manifest.to_string_lossy());
        let command = shell::command(&format!("run {path}"));
        writeln!(out, "it works  `{command}` runs it")?;
    }
    out.flush()?;
    Ok(exit_code::failed_if(!lines.missing.is_empty()))
}

/// Number of bytes of a program's output in which metrics are searched.
const READ_BYTES: u64 = 1 << 20;

/// Lines for the manifest that turn printed numbers into metrics, for numbers that are not metrics yet.
fn proposed(model: &str, command: &CommandSpec, printed: &str) -> String {
    let is_known = |one: &PrintedMetric| {
        command.metrics.contains_key(&one.name) || command.scrape.contains_key(&one.name)
    };
    let mut found = PrintedMetric::in_output(printed);
    found.retain(|one| !is_known(one));
    if found.is_empty() {
        return String::new();
    }
    let declared: Vec<String> = found
        .iter()
        .filter_map(PrintedMetric::metrics_line)
        .collect();
    let scraped = found.iter().map(PrintedMetric::scrape_line).collect();
    let head =
        "printed   numbers that look like metrics; these lines of the manifest report them\n";
    let section = |(section, lines): (&str, Vec<String>)| match &lines[..] {
        [] => String::new(),
        lines => format!("[models.{model}.{section}]\n{}\n", lines.join("\n")),
    };
    let sections = [("metrics", declared), ("scrape", scraped)].map(section);
    format!("{head}{}", sections.concat())
}

/// What the command has reported while `check-command` ran it.
#[derive(Debug, Default)]
struct Seen {
    epochs: usize,
    by_epoch: BTreeSet<String>,
    warnings: Vec<String>,
    /// Beginning of the command's output.
    printed: String,
}

/// Runs the command with temporary folders; returns its outcome, and the names of files that it left.
fn run(spec: &CellSpec, seed: u64, seen: &mut Seen) -> std::io::Result<(RunOutcome, Vec<String>)> {
    let folder = tempfile::tempdir()?;
    let id = RunId {
        cell: 0,
        seed,
        block: 0,
    };
    let job = Job {
        id,
        spec: Arc::new(spec.clone()),
        estimated_s: None,
        resume: None,
        trial: None,
    };
    let mut worker = WorkerProgram::running_executable(None)?;
    worker.results = Some(folder.path().to_owned());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = CpuShare {
        threads: spec.train.threads.unwrap_or(threads),
        cores: None,
    };
    let stop = AtomicBool::new(false);
    let outcome = worker.launch(&job, share, &stop, &mut |event| {
        match event {
            Event::Epoch(row) => {
                seen.epochs += 1;
                seen.by_epoch.extend(row.validation.keys().cloned());
                seen.by_epoch
                    .extend(row.train_loss.map(|_| "train_loss".to_owned()));
            }
            Event::Warning { message } => seen.warnings.push(message),
            _ => {}
        }
        None
    });
    let logs = std::fs::read_dir(folder.path().join("logs"));
    for log in logs.into_iter().flatten().flatten() {
        let mut text = Vec::new();
        let file = std::fs::File::open(log.path())?;
        file.take(READ_BYTES).read_to_end(&mut text)?;
        seen.printed += &String::from_utf8_lossy(&text);
    }
    let runs = std::fs::read_dir(folder.path().join("files"))
        .into_iter()
        .flatten()
        .flatten();
    let files = runs
        .filter_map(|run| std::fs::read_dir(run.path()).ok())
        .flatten()
        .flatten();
    let names = files.map(|file| escape_control(&file.file_name().to_string_lossy()).into_owned());
    Ok((outcome, names.collect()))
}

#[derive(Debug, Default)]
struct Lines {
    told: Vec<(&'static str, String)>,
    missing: Vec<String>,
}

fn report(
    spec: &CellSpec,
    command: &CommandSpec,
    seen: &Seen,
    outcome: &RunOutcome,
    kept: &[String],
) -> Lines {
    let mut lines = Lines::default();
    if let Some(program) = &spec.program {
        let seed = spec.measure.seeds.first().copied().unwrap_or_default();
        let words = program.arguments.iter();
        let words = words.map(|word| word.replace("{seed}", &seed.to_string()));
        let files = count(program.code.len().saturating_sub(3), "file");
        let code = format!("a change of {files} makes results run again");
        lines.told.push(("command", shell::joined(words)));
        lines.told.push(("code", code));
    }
    let by_epoch: Vec<&str> = seen.by_epoch.iter().map(String::as_str).collect();
    let epochs = match seen.epochs {
        0 => "none".to_owned(),
        count => format!("{count}, with {}", by_epoch.join(", ")),
    };
    lines.told.push(("epochs", epochs));
    let metrics = outcome.facts.as_ref().map(|facts| &facts.metrics);
    let facts = metrics.into_iter().flatten();
    let facts = facts.filter(|(name, _)| command.metrics.contains_key(*name));
    let facts = facts.filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    let times = outcome.times.iter().flat_map(|times| &times.own);
    let times = times.map(|(name, value)| format!("{name} {value}"));
    let values: Vec<String> = facts.chain(times).collect();
    if !values.is_empty() {
        lines.told.push(("metrics", values.join(", ")));
    }
    if !kept.is_empty() {
        lines.told.push(("files", kept.join(", ")));
    }
    lines.told.extend(
        seen.warnings
            .iter()
            .map(|warning| ("warning", warning.clone())),
    );
    let is_cut = outcome.status == Status::Timeout;
    let end = match outcome.status {
        Status::Done => format!("done in {:.3} s", outcome.wall_s),
        status => format!("{status}: {}", outcome.reason),
    };
    lines.told.push(("end", end));
    if outcome.status != Status::Done && !is_cut {
        lines
            .missing
            .push(format!("a run that is done: {}", outcome.reason));
    }
    if is_cut && seen.epochs == 0 && !command.metrics.is_empty() {
        lines.missing.push(
            "events: none arrived in this time; `--time` allows more, `fieldtrial helper python` prints the file that reports them"
                .to_owned(),
        );
    }
    lines
}
