//! After the last run of `fieldtrial run`: the report, and suggested commands.

use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::base::text::count;
use crate::plan::Plan;
use crate::progress::Verbosity;
use crate::report::{self, ReportError, ReportOptions};
use crate::results::{self, relative_to_current_dir};

use super::Problem;
use super::problem::mistake;
use super::run_arguments::RunArguments;

/// Writes the report, unless disabled, and returns its first file.
pub(super) fn render(no_report: bool, plan: &Plan) -> Result<Option<PathBuf>, Problem> {
    if no_report {
        return Ok(None);
    }
    let files = report::render(&plan.results_folder, &ReportOptions::default());
    let files = files.map_err(ReportError::into_failure)?;
    Ok(files.first().map(|path| relative_to_current_dir(path)))
}

/// The summary sentences at the head of the report; empty for a shard and without a report. They are computed from the
/// results files, as in the report: values there are rounded, so that equal values are ties in rank tests.
pub(super) fn summary_sentences(
    arguments: &RunArguments,
    folder: &Path,
) -> Result<Vec<String>, Problem> {
    if arguments.shard.is_some() || arguments.no_report {
        return Ok(Vec::new());
    }
    let results = results::read(folder).map_err(mistake)?;
    Ok(report::answer(&results, folder))
}

/// Suggests the command that tests the recommendations. Prints nothing for a shard, without a report, or with `--quiet`.
pub(super) fn suggest_commands(arguments: &RunArguments, plan: &Plan) -> Result<(), Problem> {
    if arguments.shard.is_none() && arguments.detail() > Verbosity::Quiet && !arguments.no_report {
        say_recommendations(&plan.results_folder)?;
    }
    Ok(())
}

/// One line about recommendations that have not been tested.
fn say_recommendations(folder: &Path) -> Result<(), Problem> {
    let next = folder.join("next.toml");
    if !next.is_file() {
        return Ok(());
    }
    let rows = results::read_recommendations(folder).map_err(mistake)?;
    let open = rows.iter().filter(|row| row.status == "proposed").count();
    if open > 0 {
        let (what, next) = (
            count(open, "recommendation"),
            relative_to_current_dir(&next),
        );
        let run = shell::command(&shell::joined(["run", &*next.to_string_lossy()]));
        let tests = if open == 1 { "tests it" } else { "tests them" };
        eprintln!("{what}: {run} {tests}");
    }
    Ok(())
}
