//! From results files to reports: contexts, templates, plots. Files in, files out: nothing here has seen the run.
//!
//! Owns [`render`] and [`Report`], the documented context that templates see. It decides nothing about results: medians
//! and intervals stand in `timings.csv`, verdicts between results are `compare`'s. A template is one file per format in
//! `reports/templates/`; a user's own file of the same name beside the results takes its place.

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
pub use apart::{PAGE_MEMORY, answer_parent, render_apart_by};
pub use column::{Column, ColumnKind};
pub use comparison::{
    ComparisonReport, Labels, Part, comparison_answer, comparison_costs, comparison_matching,
    comparison_waiting, cost_name, cost_value, deciding_metrics, render_comparison, verdict_words,
};
pub use context::Report;
pub use error::ReportError;
pub use history::{
    duration, first_and_newest, history_commit, history_sentences, history_summary, history_title,
    machine, most_sessions, render_history,
};
pub(crate) use judged::distinct;
pub use links::Link;
pub use live::{LiveCurve, LivePage, LiveRun};
pub use number::{Number, Provenance};
pub use pages::languages;
pub use section::{Code, SampleContext, Section, Theme};
pub use sections::environment::{EnvironmentContext, EnvironmentField, SystemField};
pub use sections::findings::Finding;
pub use sections::plots::PlotContext;
pub use table::{Entry, Row, Source, Table};
pub use template::own_templates;

use std::path::{Path, PathBuf};

use minijinja::value::Value;

use crate::plan::{COMPARISON, template_meant};
use crate::results::{self, ResultSet};
use pages::{main_template, named, stem};
use write::{File, remove_old_page, write_all};

/// The template that everything is written for as data, too.
const PROFILING: &str = "profiling";

/// What to render.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportOptions {
    /// Templates; where there are none, those of the manifest's `[report]`.
    pub templates: Vec<String>,
    /// Languages of the template `comparison`; where there are none, those of the manifest's `[report]`.
    pub languages: Vec<Language>,
}

/// Renders the reports of a results folder and returns every file that belongs to them, written or unchanged.
///
/// The first template that the manifest names writes `report.md` and `report.html`, every other one `report-<template>.md`
/// and `.html`, those of one format only that; the plots that a page shows lie in `plots/`. Beside the template `profiling`
/// everything stands as data in `report.json`, with all plots in `plots/`. The template `comparison` has a name and a context of its own: `comparison.<language>.md` and `.html`.
/// The same results give the same bytes.
///
/// # Errors
/// [`ReportError`]; files that were there before are then still whole.
pub fn render(folder: &Path, options: &ReportOptions) -> Result<Vec<PathBuf>, ReportError> {
    let set = results::read(folder)?;
    let own = templates_beside(folder);
    let mut templates = chosen(options, &set, own.as_deref())?;
    let count = templates.len();
    templates.retain(|name| name != COMPARISON);
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
    let view = view::View::within(set, Some(folder));
    let mut answer = Answer::of(&view);
    answer.follow(&Advice::of(&view));
    answer.sentences
}

/// The cells that the report's answer does not tell from the best, the best first.
pub fn best_cells(set: &ResultSet, folder: &Path) -> BestCells {
    BestCells::of(&view::View::within(set, Some(folder)))
}

/// The pages of templates over one result, with their plots, and the advice that goes with them.
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
        // It names every plot.
        files.push((folder.join("report.json"), data::text(&report)));
    } else {
        plots.retain(write::is_shown(folder, &files));
    }
    files.extend(write::plot_files(folder, plots.into_iter()));
    Ok((files, advice))
}

/// What templates see of a results folder, as JSON: `report`, field by field; and where its manifest asks for the template
/// `comparison`, what that sees, under `comparison` by language.
///
/// # Errors
/// [`ReportError`]: results that cannot be read, or compared.
pub fn context(folder: &Path) -> Result<String, ReportError> {
    let set = results::read(folder)?;
    let (report, _) = Report::advised(&set, Some(folder), |view| advice::prepare(folder, view));
    let mut context = serde_json::json!({ "report": report });
    let options = ReportOptions::default();
    let own = templates_beside(folder);
    if chosen(&options, &set, own.as_deref())?.contains(&COMPARISON.to_owned()) {
        let comparisons = comparison::along_treatment(folder, &set)?;
        for language in languages(&options.languages, &set.plan) {
            let compared = ComparisonReport::of(&comparisons, language);
            context["comparison"][language.code()] = serde_json::json!(compared);
        }
    }
    Ok(results::pretty_json(&context))
}

/// `reports/templates` beside the results folder, where it has a template that is not a copy of the program's.
fn templates_beside(folder: &Path) -> Option<PathBuf> {
    let beside = folder.join("..").join("templates");
    template::has_own(&beside).then_some(beside)
}

/// The templates that were asked for, else those of the manifest.
fn chosen(
    options: &ReportOptions,
    set: &ResultSet,
    own: Option<&Path>,
) -> Result<Vec<String>, ReportError> {
    let mut names = options.templates.clone();
    if names.is_empty() {
        names = named(set);
    }
    let is_unknown = |name: &&String| template::formats(own, name).is_empty();
    match names.iter().find(is_unknown) {
        None => Ok(names),
        Some(unknown) => Err(ReportError::UnknownTemplate {
            name: unknown.clone(),
            meant: template_meant(unknown).map_or_else(String::new, |meant| format!("; {meant}")),
            known: TEMPLATES.map(|(name, _)| format!("`{name}`")).join(", "),
        }),
    }
}
