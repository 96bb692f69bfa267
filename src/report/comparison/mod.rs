//! The template `comparison`: two sides of an experiment as one page in each language.
//!
//! Owns [`ComparisonReport`], the documented context, and [`render_comparison`]. What may be said stands in a
//! [`Comparison`]; here it is put into words, tables and plots. A section is one file in `sections/` and one line there;
//! its messages stand beside it in every language (`report::language`).

mod context;
#[cfg(test)]
pub(super) mod golden;
mod head;
mod pace;
mod phrases;
mod scene;
mod sections;
#[cfg(test)]
mod tests;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use minijinja::value::Value;

use crate::compare::Comparison;
use crate::results::{ResultsError, write_if_changed};

use super::language::{Language, Words};
use super::{ReportError, plot, template, tidy};

pub use context::{Code, ComparisonReport, Labels, Part, Section};

/// Its name among templates.
pub(super) const TEMPLATE: &str = "comparison";
/// How the files of its plots begin.
const PLOTS: &str = "comparison-";

/// Writes `comparison.<language>.md` and `.html` with their plots into `folder`, and returns every file that belongs to
/// them, written or unchanged. The same comparison gives the same bytes.
///
/// # Errors
/// [`ReportError`]; files that were there before are then still whole.
pub fn render_comparison(
    comparison: &Comparison,
    folder: &Path,
    languages: &[Language],
) -> Result<Vec<PathBuf>, ReportError> {
    let comparisons = std::slice::from_ref(comparison);
    let files = files(comparisons, folder, languages, None)?;
    write(folder, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The pages of some comparisons of one experiment and their plots, as they are to be written.
pub(super) fn files(
    comparisons: &[Comparison],
    folder: &Path,
    languages: &[Language],
    own: Option<&Path>,
) -> Result<Vec<(PathBuf, String)>, ReportError> {
    let engine = template::engine(own.map(Path::to_owned));
    let (mut pages, mut plots) = (Vec::new(), Vec::new());
    for &language in languages {
        let report = ComparisonReport::of(comparisons, language);
        let context = Value::from(minijinja::value::Serde(&report));
        for format in template::formats(own, TEMPLATE) {
            let name = format!("{TEMPLATE}.{format}.j2");
            let text = template::render(&engine, &name, &context)?;
            let text = if format == "md" { tidy(&text) } else { text };
            let file = format!("{TEMPLATE}.{}.{format}", language.code());
            pages.push((folder.join(file), text));
        }
        for drawing in report.plots() {
            let path = folder.join("plots").join(format!("{}.svg", drawing.id));
            plots.push((path, plot::standalone(&drawing.svg)));
        }
    }
    pages.extend(plots);
    Ok(pages)
}

/// Whether a plot's file is one of a comparison.
pub(super) fn is_plot(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(PLOTS) && name.ends_with(".svg")
}

fn write(folder: &Path, files: &[(PathBuf, String)]) -> Result<(), ReportError> {
    let plots = folder.join("plots");
    fs::create_dir_all(&plots).map_err(|error| ResultsError::Unwritable {
        path: plots.clone(),
        reason: error.to_string(),
    })?;
    for (path, text) in files {
        write_if_changed(path, text.as_bytes())?;
    }
    // A plot that this comparison does not have would be mistaken for one of it.
    for entry in fs::read_dir(&plots).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_plot(&path) && !files.iter().any(|(known, _)| *known == path) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}
