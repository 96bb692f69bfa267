//! `fieldtrial report`: the report of results that are there already.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::diag::{Failure, did_you_mean, list};
use crate::plan::results_root;
use crate::report::{ReportError, ReportOptions, context, render};

use super::{Outcome, exit_code};

/// Write the report of finished results again, from the results files alone
///
/// Example: `fieldtrial report ddpm --open`
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// Results folder, its name under `reports/`, or the manifest that has this name
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Template to render; may be repeated; without it, those that the manifest names
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,
    /// Print what templates see, as JSON, and write nothing
    #[arg(long, conflicts_with_all = ["template", "open"])]
    context: bool,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

pub(super) fn report(arguments: &ReportArguments) -> Outcome {
    let folder = results_folder(&arguments.results)?;
    if arguments.context {
        let text = context(&folder).map_err(ReportError::into_failure)?;
        io::stdout().write_all(text.as_bytes())?;
        return Ok(exit_code::GOOD);
    }
    let options = ReportOptions {
        templates: arguments.template.clone(),
    };
    let files = render(&folder, &options).map_err(ReportError::into_failure)?;
    let pages = files
        .iter()
        .filter(|path| path.extension() != Some(OsStr::new("svg")));
    let mut out = io::stdout().lock();
    for page in pages {
        writeln!(out, "{}", page.display())?;
    }
    if arguments.open {
        let is_page = |path: &&PathBuf| path.extension() == Some(OsStr::new("html"));
        let Some(page) = files.iter().find(is_page) else {
            let title = "the report has no page to open: its template writes no HTML";
            return Err(Failure::plain(title, None).into());
        };
        open(page)?;
    }
    Ok(exit_code::GOOD)
}

/// The folder that was meant: itself, or a name under `reports/`, for which a manifest's file name stands too.
fn results_folder(given: &Path) -> Result<PathBuf, Failure> {
    let has_results = |folder: &Path| folder.join("plan.json").is_file();
    if has_results(given) {
        return Ok(given.to_owned());
    }
    let is_manifest = given.extension() == Some(OsStr::new("toml"));
    let (root, name) = if is_manifest {
        (results_root(given), given.file_stem().unwrap_or_default())
    } else {
        (results_root(Path::new("manifest.toml")), given.as_os_str())
    };
    let named = root.join(name);
    if has_results(&named) {
        return Ok(from_here(&named));
    }
    let known = names_below(&root);
    let name = name.to_string_lossy();
    let names = || known.iter().map(String::as_str);
    let help = if known.is_empty() {
        "`fieldtrial run MANIFEST` makes some".to_owned()
    } else {
        let all = || format!("there are results of {}", list(names()));
        did_you_mean(&name, names()).unwrap_or_else(all)
    };
    let title = format!("no results in `{}`", given.display());
    Err(Failure::plain(title, Some(help)))
}

/// Shorter to read, where it is possible.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

fn names_below(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("plan.json").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
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
        Failure::plain(title, Some(help))
    })
}
