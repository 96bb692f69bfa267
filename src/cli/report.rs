//! `fieldtrial report`: writes the report of existing results.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::diag::Failure;
use crate::plan::COMPARISON_TEMPLATE;
use crate::report::{Language, ReportError, ReportOptions, context, render};
use crate::results::{no_results_error, results_folder};

use super::language::language;
use super::{Outcome, exit_code};

/// Write the report of finished results again, from the results files alone
///
/// Example: `fieldtrial report ddpm --open`
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// Results folder, its name under `reports/`, or the manifest that has this name
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Template to render; may be repeated; without it, those that the manifest names. Only the first that the manifest
    /// names writes `report.md` and `report.html`; every other one writes `report-NAME.md` and `.html`
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,
    /// Languages of the template `comparison`, separated by commas; without it, those that the manifest names
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = language)]
    lang: Vec<Language>,
    /// Print what templates see, as JSON, and write nothing
    #[arg(long, conflicts_with_all = ["template", "lang", "open"])]
    context: bool,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

pub(super) fn report(arguments: &ReportArguments) -> Outcome {
    let given = &arguments.results;
    let folder = results_folder(given).ok_or_else(|| no_results_error(given))?;
    if arguments.context {
        let text = context(&folder).map_err(ReportError::into_failure)?;
        io::stdout().write_all(text.as_bytes())?;
        return Ok(exit_code::GOOD);
    }
    let options = ReportOptions {
        templates: arguments.template.clone(),
        languages: arguments.lang.clone(),
    };
    let files = render(&folder, &options).map_err(ReportError::into_failure)?;
    let is = |path: &Path, kind: &str| path.extension() == Some(OsStr::new(kind));
    let is_comparison = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(COMPARISON_TEMPLATE))
    };
    if !arguments.lang.is_empty() && !files.iter().any(is_comparison) {
        eprintln!(
            "note: only the template `{COMPARISON_TEMPLATE}` has languages, and it is not among these pages"
        );
    }
    let mut out = io::stdout().lock();
    for page in files.iter().filter(|path| !is(path, "svg")) {
        writeln!(out, "{}", page.display())?;
    }
    if arguments.open {
        let Some(page) = files.iter().find(|path| is(path, "html")) else {
            let title = "the report has no page to open: its template writes no HTML";
            return Err(Failure::without_source(title, None).into());
        };
        open(page)?;
    }
    Ok(exit_code::GOOD)
}

fn open(page: &Path) -> Result<(), Failure> {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let started = Command::new(program).arg(page).spawn();
    started.map(|_| ()).map_err(|error| {
        let title = format!("cannot open `{}`: {error}", page.display());
        let help = "the report is written; open it in a browser".to_owned();
        Failure::without_source(title, Some(help))
    })
}
