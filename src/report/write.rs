//! Writes the files of pages (texts and plots), and removes outdated ones.

use std::fs;
use std::path::{Path, PathBuf};

use minijinja::Environment;
use minijinja::value::Value;

use super::error::ReportError;
use super::pages::MAIN_PAGE_STEM;
use super::plot::standalone;
use super::sections::plots::PlotContext;
use super::{apart, template};
use crate::base::temporary::remove_abandoned;
use crate::base::text::escape_control_crlf_to_lf;
use crate::plan::COMPARISON_TEMPLATE;
use crate::results::{ResultsError, write_if_changed};

/// Prefix of the file names of history pages and plots.
pub(super) const HISTORY: &str = "history";

/// Path and content of a file.
pub(super) type File = (PathBuf, String);

/// The text of a page from the template `name`, from the user's folder `own` if it exists there.
pub(super) fn page(
    own: Option<&Path>,
    engine: &Environment<'_>,
    (name, format): (&str, &str),
    context: &Value,
) -> Result<String, ReportError> {
    let text = apart::render(own, engine, &format!("{name}.{format}.j2"), context)?;
    Ok(if format == "md" { tidy(&text) } else { text })
}

/// Plots as separate files.
pub(super) fn plot_files<'p>(
    folder: &Path,
    plots: impl Iterator<Item = &'p PlotContext>,
) -> impl Iterator<Item = File> {
    let folder = folder.join("plots");
    plots.map(move |plot| {
        let path = folder.join(format!("{}.svg", plot.id));
        (path, standalone(&plot.svg))
    })
}

/// Whether a page refers to a plot's file: one of `pages`, or a page in the folder from another template.
pub(super) fn is_shown(folder: &Path, pages: &[File]) -> impl Fn(&&PlotContext) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let others = files.map(|file| file.path()).filter(|path| {
        let ending = path.extension().unwrap_or_default();
        template::FORMATS.iter().any(|format| ending == *format)
            && pages.iter().all(|(page, _)| page != path)
    });
    let others = others.filter_map(|path| fs::read_to_string(path).ok());
    let new = pages.iter().map(|(_, text)| text.clone());
    let texts: Vec<String> = new.chain(others).collect();
    move |plot| {
        let file = format!("plots/{}.svg", plot.id);
        texts.iter().any(|text| text.contains(&file))
    }
}

/// Merges consecutive blank lines, which empty sections of Markdown templates leave; fenced code is not changed.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_blank, mut is_fenced) = (true, false);
    for line in text.lines() {
        is_fenced ^= line.starts_with("```");
        let line = if is_fenced { line } else { line.trim_end() };
        if line.is_empty() && is_blank && !is_fenced {
            continue;
        }
        is_blank = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Writes files, and removes plots of the same kind of report (result, comparison or history) that are no longer part
/// of it.
pub(super) fn write_all(folder: &Path, files: &[File]) -> Result<(), ReportError> {
    let plots = folder.join("plots");
    fs::create_dir_all(&plots).map_err(ResultsError::unwritable(&plots))?;
    remove_abandoned(folder);
    remove_abandoned(&plots);
    for (path, text) in files {
        // JSON text already has its control characters escaped.
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let text = if is_json {
            text.clone()
        } else {
            escape_control_crlf_to_lf(text)
        };
        write_if_changed(path, text.as_bytes())?;
    }
    for entry in fs::read_dir(&plots).into_iter().flatten().flatten() {
        let plot = entry.path();
        let is_plot = plot.extension().is_some_and(|extension| extension == "svg");
        let mut written = files.iter().map(|(path, _)| path);
        let is_ours = written.clone().any(|path| kind(path) == kind(&plot));
        if is_plot && is_ours && !written.any(|path| *path == plot) {
            let _ = fs::remove_file(plot);
        }
    }
    Ok(())
}

/// The kind of a page or plot, from its file name: a comparison, a history, else one result.
fn kind(path: &Path) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut kinds = [COMPARISON_TEMPLATE, HISTORY].into_iter();
    kinds.find(|kind| name.starts_with(kind))
}

/// If the first template has only one format, removes an old page in the other format, which would seem to belong to
/// it.
pub(super) fn remove_old_page(folder: &Path, files: &[File]) {
    let pages = template::FORMATS.map(|format| folder.join(format!("{MAIN_PAGE_STEM}.{format}")));
    let is_written = |page: &Path| files.iter().any(|(path, _)| path == page);
    if pages.iter().any(|page| is_written(page)) {
        for page in pages.iter().filter(|page| !is_written(page)) {
            let _ = fs::remove_file(page);
        }
    }
}
