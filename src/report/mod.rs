//! From results files to reports: contexts, templates, plots. Everything is read from files; nothing here depends on
//! the running program.
//!
//! Owns [`render`] and [`Report`], the documented context that templates receive. It computes no verdicts: medians and
//! intervals come from `timings.csv`, verdicts between results from `compare`. A template is one file per format in
//! `reports/templates/`; a user's file of the same name in `reports/templates` beside the results replaces the
//! program's.

mod advice;
mod answer;
mod apart;
mod clock;
mod column;
mod comparison;
mod context;
#[cfg(test)]
mod contract;
mod data;
mod error;
mod history;
pub mod importance;
mod judged;
mod language;
mod links;
mod live;
mod measure;
mod mistake;
mod names;
mod number;
mod pages;
mod plot;
mod quality;
mod search;
mod section;
mod sections;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod themes;
mod timing;
mod view;
mod write;

pub use crate::plan::{Language, TEMPLATES};
use advice::AdviceFiles;
pub use advice::{Advice, AdviceItem, RULES, Rule};
pub use answer::{Answer, BestCells};
pub use apart::{RENDER_MEMORY_LIMIT, render_for_parent, set_render_program};
pub use column::{Column, ColumnKind};
pub use comparison::{
    ComparisonReport, Labels, Part, comparison_answer, comparison_costs, comparison_unmatched,
    comparison_waiting, deciding_metrics, render_comparison,
};
pub use context::Report;
pub use error::ReportError;
pub use history::{
    duration, environment_summary, first_and_newest, history_commit, history_sentences,
    history_summary, history_title, most_sessions, render_history,
};
pub(crate) use judged::distinct;
pub(crate) use language::Words;
pub use links::Link;
pub use live::{LiveCurve, LivePage, LiveRun};
pub use number::Number;
pub use pages::languages;
pub use section::{Code, ImageContext, Section, Theme};
pub use sections::environment::{EnvironmentContext, EnvironmentField};
pub use sections::findings::Finding;
pub use sections::plots::PlotContext;
pub use table::{Entry, Row, Source, Table};
pub use template::own_templates;

use std::path::{Path, PathBuf};

use minijinja::value::Value;

use crate::plan::{COMPARISON_TEMPLATE, suggest_template};
use crate::results::{self, ResultSet};
use pages::{main_template, stem, template_names};
use write::{File, remove_old_page, write_all};

/// The template for which the context is also written as JSON.
const PROFILING: &str = "profiling";

/// What to render.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportOptions {
    /// Templates; if empty, those of the manifest's `[report]`.
    pub templates: Vec<String>,
    /// Languages of the template `comparison`; if empty, those of the manifest's `[report]`.
    pub languages: Vec<Language>,
}

/// Renders the reports of a results folder and returns every file of them, written or unchanged.
///
/// The first template that the manifest names writes `report.md` and `report.html`, every other one
/// `report-<template>.md` and `.html`, templates with only one format write only that one. The plots that a page shows
/// are written to `plots/`; with the template `profiling`, all plots are, and all data are written to `report.json`. The
/// template `comparison` has a context and file names of its own: `comparison.<language>.md` and `.html`. The same
/// results give the same bytes.
///
/// # Errors
/// [`ReportError`]; then existing files are unchanged.
pub fn render(folder: &Path, options: &ReportOptions) -> Result<Vec<PathBuf>, ReportError> {
    let set = results::read(folder)?;
    let own = templates_beside(folder);
    let mut templates = chosen(options, &set, own.as_deref())?;
    let count = templates.len();
    templates.retain(|name| name != COMPARISON_TEMPLATE);
    let is_compared = templates.len() < count;
    let (mut files, mut advice) = (Vec::new(), None);
    if !templates.is_empty() {
        let (found, made) = reports(folder, &set, &templates, own.as_deref())?;
        (files, advice) = (found, Some(made));
    }
    if is_compared {
        let languages = languages(&options.languages, &set.plan);
        let comparisons = comparison::along_treatment(folder, &set)?;
        files.extend(comparison::files(
            &comparisons,
            folder,
            &languages,
            own.as_deref(),
        )?);
    }
    write_all(folder, &files)?;
    remove_old_page(folder, &files);
    let files = files.into_iter().map(|(path, _)| path);
    let advised = advice.map(AdviceFiles::write).transpose()?;
    Ok(files.chain(advised.into_iter().flatten()).collect())
}

/// The answer to the manifest's question, in the sentences of the report.
pub fn answer(set: &ResultSet, folder: &Path) -> Vec<String> {
    let view = view::View::view_in_folder(set, Some(folder));
    let mut answer = Answer::of(&view);
    answer.prepend_outcomes(&Advice::of(&view));
    answer.sentences
}

/// The cells that no test separates from the best in the report's answer, the best first.
pub fn best_cells(set: &ResultSet, folder: &Path) -> BestCells {
    BestCells::of(&view::View::view_in_folder(set, Some(folder)))
}

/// The pages of templates over one result, with their plots, and the recommendations for it.
fn reports(
    folder: &Path,
    set: &ResultSet,
    templates: &[String],
    own: Option<&Path>,
) -> Result<(Vec<File>, AdviceFiles), ReportError> {
    let (report, advice) = Report::advised(set, Some(folder), |view| advice::prepare(folder, view));
    let engine = template::engine(own.map(Path::to_owned));
    let context = Value::from(minijinja::value::Serde(&report));
    let mut files = Vec::new();
    let first = main_template(set);
    for name in templates {
        let stem = stem(name, first.as_deref());
        for format in template::formats(own, name) {
            let text = write::page(own, &engine, (name, format), &context)?;
            files.push((folder.join(format!("{stem}.{format}")), text));
        }
    }
    let mut plots: Vec<&PlotContext> = report.plots().collect();
    if templates.iter().any(|name| name == PROFILING) {
        // `report.json` contains every plot's name.
        files.push((folder.join("report.json"), data::text(&report)));
    } else {
        plots.retain(write::is_shown(folder, &files));
    }
    files.extend(write::plot_files(folder, plots.into_iter()));
    Ok((files, advice))
}

/// The context of templates for a results folder, as JSON: `report`, and, if the manifest requests the template
/// `comparison`, its context by language in `comparison`.
///
/// # Errors
/// [`ReportError`]: results that cannot be read, or compared.
pub fn context(folder: &Path) -> Result<String, ReportError> {
    let set = results::read(folder)?;
    let (report, _) = Report::advised(&set, Some(folder), |view| advice::prepare(folder, view));
    let mut context = serde_json::json!({ "report": report });
    let options = ReportOptions::default();
    let own = templates_beside(folder);
    if chosen(&options, &set, own.as_deref())?.contains(&COMPARISON_TEMPLATE.to_owned()) {
        let comparisons = comparison::along_treatment(folder, &set)?;
        for language in languages(&options.languages, &set.plan) {
            let compared = ComparisonReport::of(&comparisons, language);
            context["comparison"][language.code()] = serde_json::json!(compared);
        }
    }
    Ok(results::pretty_json(&context))
}

/// `reports/templates` beside the results folder, if it has a template that differs from the program's.
fn templates_beside(folder: &Path) -> Option<PathBuf> {
    let beside = folder.join("..").join("templates");
    template::has_own(&beside).then_some(beside)
}

/// The templates that were requested, else those of the manifest.
fn chosen(
    options: &ReportOptions,
    set: &ResultSet,
    own: Option<&Path>,
) -> Result<Vec<String>, ReportError> {
    let mut names = options.templates.clone();
    if names.is_empty() {
        names = template_names(set);
    }
    let is_unknown = |name: &&String| template::formats(own, name).is_empty();
    match names.iter().find(is_unknown) {
        None => Ok(names),
        Some(unknown) => Err(ReportError::UnknownTemplate {
            name: unknown.clone(),
            meant: suggest_template(unknown).map_or_else(String::new, |meant| format!("; {meant}")),
            known: TEMPLATES.map(|(name, _)| format!("`{name}`")).join(", "),
        }),
    }
}
