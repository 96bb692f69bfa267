//! `fieldtrial gate-selftest`: tests whether the gate of `compare` finds planted differences, and nothing else.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::text::count;
use crate::base::units::human;
use crate::selftest::{self, Check, DRIFT, NOISE, OUTLIERS, RUNS, SEEDS, SelftestError};

use super::gate::finding_text;
use super::interrupt::Interrupt;
use super::output::Stdout;
use super::{Outcome, Problem, exit_code};

/// Check that the gate of `compare` catches what is planted, and is silent where nothing is
///
/// Three comparisons: of two sides that are alike, with a slow-down in one cell, and with larger losses in one cell, over
/// as many seeds as a verdict takes. The runs come from a script, with the noise of a shared machine, and go through the recorder into results folders, which
/// are compared as by `compare --fail-on regression,change`. Exit code 1 where the gate misses what is planted, or finds
/// anything else. With `--real` the same is done by real runs of a small network on this machine, in turns.
///
/// Example: `fieldtrial gate-selftest`
#[derive(Debug, Args)]
pub(super) struct GateSelftestArguments {
    /// Train for real, on this machine: less than a minute
    #[arg(long)]
    real: bool,
    /// Keep the results in this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn gate_selftest(arguments: &GateSelftestArguments) -> Outcome {
    let temporary = tempfile::tempdir()?;
    let folder = arguments.out.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;
    let folder = std::path::absolute(folder)?;
    let checks = if arguments.real {
        real(&folder)
    } else {
        selftest::scripted(&folder)
    };
    let checks = match checks {
        Ok(checks) => checks,
        Err(SelftestError::Interrupted) => return Ok(exit_code::INTERRUPTED),
        Err(SelftestError::Machine(failure)) => return Err(failure.into()),
        Err(SelftestError::Bug(sentence)) => return Err(Problem::Bug(sentence)),
    };
    Stdout::new().write_all(text(&conditions(arguments.real), &checks).as_bytes())?;
    let has_failed = checks.iter().any(|check| check.failure.is_some());
    Ok(if has_failed {
        exit_code::FAILED
    } else {
        exit_code::GOOD
    })
}

fn real(folder: &Path) -> Result<Vec<Check>, SelftestError> {
    let program = std::env::current_exe()?;
    let interrupt = Interrupt::listen()?;
    let say = &mut |line: &str| eprintln!("{line}");
    selftest::real(folder, &program, interrupt.is_asked(), say)
}

fn conditions(is_real: bool) -> String {
    let percent = |part: f64| format!("{} %", human(part * 100.0, 2));
    let seeds = SEEDS.len();
    if is_real {
        return format!(
            "real runs of this machine: {RUNS} of each of two cells a side, over {seeds} seeds, in turns"
        );
    }
    format!(
        "scripted runs: {RUNS} of each of four cells a side, over {seeds} seeds, in turns; spread {}, drift {}, {} twice as long",
        percent(NOISE),
        percent(DRIFT),
        percent(OUTLIERS)
    )
}

/// Each check: the planted difference, the gate's findings, and the times.
fn text(conditions: &str, checks: &[Check]) -> String {
    let mut text = format!("{conditions}\n");
    for check in checks {
        show(check, &mut text);
    }
    let failed = checks.iter().filter(|check| check.failure.is_some());
    let (failed, all) = (failed.count(), count(checks.len(), "check"));
    let _ = match failed {
        0 => writeln!(text, "\n{all} passed"),
        _ => writeln!(
            text,
            "\n{failed} of {all} failed: do not trust the gate here"
        ),
    };
    text
}

fn show(check: &Check, text: &mut String) {
    let _ = writeln!(text, "\n{}", title(check));
    for violation in &check.found {
        let cell = violation.cell.as_deref().unwrap_or("all cells together");
        let _ = writeln!(
            text,
            "  found   {cell}: {}",
            finding_text(&violation.finding)
        );
    }
    if check.found.is_empty() {
        let _ = writeln!(text, "  found   nothing");
    }
    let ratios = check.ratios.iter();
    let ratios = ratios.map(|(_, ratio)| ratio.map_or("none".to_owned(), |r| format!("{r:.3}×")));
    let ratios: Vec<String> = ratios.collect();
    let _ = writeln!(text, "  ratios  {}", ratios.join("  "));
    let _ = match &check.failure {
        None => writeln!(text, "  passed"),
        Some(why) => writeln!(text, "  FAILED  {why}"),
    };
}

fn title(check: &Check) -> String {
    check.planted.as_ref().map_or_else(
        || "nothing planted: both sides are alike".to_owned(),
        |planted| format!("planted in {}: {}", planted.cell, planted.words),
    )
}
