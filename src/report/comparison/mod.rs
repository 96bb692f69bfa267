//! The template `comparison`: two sides of an experiment as one page in each language.
//!
//! Owns [`ComparisonReport`], the documented context, and [`render_comparison`]. The verdicts come from a
//! [`Comparison`]; this module writes them as text, tables and plots. A section is one file in `sections/` and one
//! entry in its list `SECTIONS`; the file contains its messages in every language (`report::language`).

mod account;
mod context;
#[cfg(test)]
pub(super) mod golden;
mod head;
mod phrases;
mod scene;
mod sections;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use minijinja::value::Value;

use crate::compare::{Comparison, Options, Origin, Side, searches_beside};
use crate::plan::COMPARISON_TEMPLATE;
use crate::results::{ResultSet, read_noise};

use super::language::{Language, Words};
use super::{ReportError, template, write};

pub(super) use account::search::plot as best_over_time_plot;
pub(super) use account::spread;
pub use context::{ComparisonReport, Labels, Part};

/// Writes `comparison.<language>.md` and `.html` with their plots into `folder`, and returns every file of them,
/// written or unchanged. The same comparison gives the same bytes.
///
/// # Errors
/// [`ReportError`]; then existing files are unchanged.
pub fn render_comparison(
    comparison: &Comparison,
    folder: &Path,
    languages: &[Language],
) -> Result<Vec<PathBuf>, ReportError> {
    let comparisons = std::slice::from_ref(comparison);
    let files = files(comparisons, folder, languages, None)?;
    write::write_all(folder, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The answer of a comparison in English, one string per sentence, as on its page.
pub fn comparison_answer(comparison: &Comparison) -> Vec<String> {
    account::answer::sentences(&scene::Scene::of(comparison, Language::English))
}

/// The metric that decides between the cells of a pair, by the key of the cell after; pairs without one are left out.
pub fn deciding_metrics(comparison: &Comparison) -> BTreeMap<&str, String> {
    let scene = scene::Scene::of(comparison, Language::English);
    let metrics = scene
        .matched_cells()
        .map(|matched| (&*matched.pair.after, matched.metric()));
    metrics
        .filter_map(|(key, metric)| Some((key, metric?)))
        .collect()
}

/// Cells and axes that only one side has, in English, one string per sentence, as on the page.
pub fn comparison_unmatched(comparison: &Comparison) -> Vec<String> {
    sections::matching::points(&scene::Scene::of(comparison, Language::English))
}

/// Verdicts on costs in English, one string per sentence, as on the page.
pub fn comparison_costs(comparison: &Comparison) -> Vec<String> {
    sections::costs::summary(&scene::Scene::of(comparison, Language::English))
}

/// A warning in English, without a full stop, that runs took much more wall time than CPU time; `None` if they did not.
pub fn comparison_waiting(comparison: &Comparison) -> Option<String> {
    head::waiting_warning(&scene::Scene::of(comparison, Language::English))
}

/// The pages of some comparisons of one experiment and their plots, with their contents.
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
        for format in template::formats(own, COMPARISON_TEMPLATE) {
            let text = write::page(own, &engine, (COMPARISON_TEMPLATE, format), &context)?;
            let file = format!("{COMPARISON_TEMPLATE}.{}.{format}", language.code());
            pages.push((folder.join(file), text));
        }
        plots.extend(write::plot_files(folder, report.plots()));
    }
    pages.extend(plots);
    Ok(pages)
}

/// Compares one result along its treatment: the baseline, or else the first value, with each other value whose changes
/// are not part of another's.
///
/// # Errors
/// [`ReportError::NoTreatment`] if the manifest declares no treatment, or one with a single value.
pub(super) fn along_treatment(
    folder: &Path,
    set: &ResultSet,
) -> Result<Vec<Comparison>, ReportError> {
    let treatment = set.plan.compare.get("treatment");
    let treatment = treatment.and_then(|name| name.as_str());
    let axis = treatment.and_then(|name| set.plan.axes.iter().find(|axis| axis.is_called(name)));
    let Some(axis) = axis.filter(|axis| axis.values.len() > 1) else {
        return Err(ReportError::NoTreatment);
    };
    let side = Side {
        name: set.plan.name.clone(),
        origin: Origin::Folder {
            path: folder.to_string_lossy().into_owned(),
        },
        set: set.clone(),
        noise: read_noise(folder)?,
        searches: searches_beside(folder, set),
        until_sure: BTreeSet::new(),
    };
    let compared = Comparison::along_values(&side, &axis.name, (None, None), &Options::default());
    let compared = compared.map_err(|failure| ReportError::Comparison(Box::new(failure)))?;
    Ok(account::without_contained_comparisons(compared))
}
