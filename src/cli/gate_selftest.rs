//! `fieldtrial gate-selftest`: tests whether the gate of `compare` finds planted differences, and nothing else.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::text::count;
use crate::selftest::{self, Check, DRIFT, NOISE, OUTLIERS, RUNS, SEEDS, SelftestError};

use super::gate::{percent, sentence};
use super::interrupt::Interrupt;
use super::output::Stdout;
use super::{Outcome, Problem, exit_code};

/// Check that the gate of `compare` finds what is planted, and nothing between equal sides
///
/// Five comparisons: of two equal sides, and with a slow-down, larger losses, one more product or more memory in one cell,
/// over as many seeds as a verdict takes. The runs come from a script, with the noise of a shared machine, are recorded into
/// results folders, and compared as by `compare --fail-on regression,change,work`, the last with `memory`. Exit code 1 if the
/// gate misses what is planted, or finds anything else. With `--real` the first three are made of real runs of a small network
/// on this machine, in turns.
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
    let check = if arguments.real {
        real
    } else {
        selftest::scripted
    };
    let checks = match check(&folder) {
        Ok(checks) => checks,
        Err(SelftestError::Interrupted) => return Ok(exit_code::INTERRUPTED),
        Err(SelftestError::Machine(failure)) => return Err(failure.into()),
        Err(SelftestError::Bug(sentence)) => return Err(Problem::Bug(sentence)),
    };
    Stdout::new().write_all(text(&conditions(arguments.real), &checks).as_bytes())?;
    let has_failed = checks.iter().any(|check| check.failure.is_some());
    Ok(exit_code::failed_if(has_failed))
}

fn real(folder: &Path) -> Result<Vec<Check>, SelftestError> {
    let program = std::env::current_exe()?;
    let interrupt = Interrupt::listen()?;
    let say = &mut |line: &str| eprintln!("{line}");
    selftest::real(folder, &program, interrupt.is_asked(), say)
}

fn conditions(is_real: bool) -> String {
    let seeds = SEEDS.len();
    if is_real {
        return format!(
            "real runs of this machine: {RUNS} of each of two cells a side, over {seeds} seeds, in turns"
        );
    }
    let [noise, drift, outliers] = [NOISE, DRIFT, OUTLIERS].map(percent);
    format!(
        "scripted runs: {RUNS} of each of four cells a side, over {seeds} seeds, in turns; spread {noise}, drift {drift}, {outliers} twice as long"
    )
}

/// Each check: the planted difference, the gate's findings, and the times.
fn text(conditions: &str, checks: &[Check]) -> String {
    let mut text = format!("{conditions}\n");
    for check in checks {
        show(check, &mut text);
    }
    let failed = checks.iter().filter(|check| check.failure.is_some());
    let all = count(checks.len(), "check");
    let _ = match failed.count() {
        0 => writeln!(text, "\n{all} passed"),
        n => writeln!(text, "\n{n} of {all} failed: do not trust the gate here"),
    };
    text
}

fn show(check: &Check, text: &mut String) {
    let _ = writeln!(text, "\n{}", title(check));
    for violation in &check.found {
        let _ = writeln!(text, "  found   {}", sentence(violation));
    }
    if check.found.is_empty() {
        let _ = writeln!(text, "  found   nothing");
    }
    let shown = |ratio: &Option<f64>| {
        let shown = ratio.map(|ratio| format!("{ratio:.3}×"));
        shown.unwrap_or_else(|| "none".to_owned())
    };
    let ratios: Vec<String> = check.ratios.iter().map(shown).collect();
    let _ = writeln!(text, "  ratios  {}", ratios.join("  "));
    let _ = match &check.failure {
        None => writeln!(text, "  passed"),
        Some(why) => writeln!(text, "  FAILED  {why}"),
    };
}

fn title(check: &Check) -> String {
    match &check.planted {
        None => "nothing planted: both sides are alike".to_owned(),
        Some(planted) => format!("planted in {}: {}", planted.cell, planted.words),
    }
}
