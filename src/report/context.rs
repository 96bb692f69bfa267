//! [`Report`]: everything that a template can show, documented field by field.

use std::path::Path;

use serde::Serialize;

use crate::results::ResultSet;

use super::advice::Advice;
use super::answer::Answer;
use super::links::{Link, links};
use super::names;
use super::section::Theme;
use super::sections::cells::summary;
use super::sections::chosen;
use super::sections::environment::{EnvironmentContext, environments};
use super::sections::findings::{self, Finding};
use super::table::Table;
use super::themes::themes;
use super::view::View;

/// The variable `report` of templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `name` of the manifest.
    pub name: String,
    /// `title` of the manifest, or its name.
    pub title: String,
    /// `question` of the manifest; empty without one.
    pub question: String,
    /// Path of the manifest, relative to the folder that holds `reports/`.
    pub manifest_path: String,
    /// Numbers of cells by status, and of runs: "9 cells: 7 done, 1 oom, 1 skipped; 24 runs".
    pub summary: String,
    /// Settings that all cells share, as `name = value`.
    pub fixed: Vec<String>,
    /// Machines and builds on which the results were measured.
    pub environments: Vec<EnvironmentContext>,
    /// Answer to the manifest's question.
    pub answer: Answer,
    /// Where the time of a step goes, and what limits it.
    pub profile: Answer,
    /// Recommended changes, and outcomes of changes that these results test.
    pub advice: Advice,
    /// What a reader should know before trusting a number: few runs, a busy machine ….
    pub findings: Vec<Finding>,
    /// Why this report is incomplete; empty when it is complete.
    pub incomplete: Vec<String>,
    /// All further sections, grouped by theme.
    pub themes: Vec<Theme>,
    /// Links to other pages of these results and to their files; empty for results in memory.
    pub links: Vec<Link>,
    /// Version of the program that wrote the report.
    pub version: String,
}

impl Report {
    /// Builds the context from results alone: the same results give the same context.
    pub fn of(set: &ResultSet) -> Self {
        Self::advised(set, None, |view| (Advice::of(view), ())).0
    }

    /// Builds the report, with the advice that `advise` returns and with links to files in the results folder; also
    /// returns the second value of `advise`.
    pub(super) fn advised<T: Send>(
        set: &ResultSet,
        folder: Option<&Path>,
        advise: impl FnOnce(&View<'_>) -> (Advice, T) + Send,
    ) -> (Self, T) {
        let mut view = View::view_in_folder(set, folder);
        view.shown = chosen::chosen_rows(&view);
        let view = &view;
        // Both parts are independent; for ten thousand cells each takes seconds.
        let ((advice, beside), (themes, answers)) = rayon::join(
            || advise(view),
            || {
                let found = || (Answer::of(view), findings::found(view));
                rayon::join(|| themes(view), found)
            },
        );
        let mut report = Self::with(view, advice, themes, answers);
        if let Some(folder) = folder {
            report.links = links(folder, set, &report.advice);
        }
        (report, beside)
    }

    fn with(
        view: &View<'_>,
        advice: Advice,
        mut themes: Vec<Theme>,
        (mut answer, findings): (Answer, Vec<Finding>),
    ) -> Self {
        let plan = &view.set.plan;
        let environments = environments(view);
        let place = themes
            .iter()
            .position(|theme| theme.id == "failures" || theme.id == "method");
        let full = advice.theme();
        themes.splice(place.map_or(0..0, |place| place..place), full);
        answer.prepend_outcomes(&advice);
        Self {
            name: plan.name.clone(),
            title: names::title(plan, &plan.name).to_owned(),
            question: plan.question.clone().unwrap_or_default(),
            manifest_path: plan.manifest_path.clone(),
            summary: summary(view),
            fixed: view.shared_settings(),
            answer,
            profile: Answer::of_profile(view, &themes),
            advice,
            findings,
            incomplete: incomplete(&environments),
            environments,
            themes,
            links: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Every plot of the report.
    pub fn plots(&self) -> impl Iterator<Item = &super::PlotContext> {
        let sections = self.themes.iter().flat_map(|theme| &theme.sections);
        let answers = self.answer.figures.iter().chain(&self.profile.figures);
        answers.chain(sections.flat_map(|section| &section.plots))
    }

    /// The table with this id, if there is one.
    pub fn table(&self, id: &str) -> Option<&Table> {
        let sections = self.themes.iter().flat_map(|theme| &theme.sections);
        let answers = self.answer.tables.iter().chain(&self.profile.tables);
        answers
            .chain(sections.flat_map(|section| &section.tables))
            .find(|table| table.id == id)
    }
}

fn incomplete(environments: &[EnvironmentContext]) -> Vec<String> {
    let mut reasons = Vec::new();
    for environment in environments {
        if environment.fields.is_empty() {
            reasons.push(format!("environment {} is not described", environment.id));
        } else if !environment.unknown.is_empty() {
            let unknown = environment.unknown.join(", ");
            reasons.push(format!(
                "of environment {} is unknown: {unknown}",
                environment.id
            ));
        }
    }
    reasons
}

#[cfg(test)]
impl Report {
    /// The table with this id; panics without one.
    pub(super) fn table_or_panic(&self, id: &str) -> &Table {
        self.table(id).expect(id)
    }

    /// Mutable access to the table with this id, for tests.
    pub(super) fn shown_mut(&mut self, id: &str) -> &mut Table {
        let sections = self.themes.iter_mut().flat_map(|theme| &mut theme.sections);
        let mut tables = sections.flat_map(|section| &mut section.tables);
        tables.find(|table| table.id == id).expect(id)
    }
}

#[cfg(test)]
impl super::table::Row {
    /// The texts of the row's fields.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.fields.iter().map(|field| &*field.text).collect()
    }
}

#[cfg(test)]
impl Table {
    /// Index of the column with this heading.
    pub(super) fn column_index_of(&self, heading: &str) -> usize {
        let mut headings = self.columns.iter().map(|column| &*column.heading);
        headings.position(|found| found == heading).expect(heading)
    }

    /// The fields of the column with this heading, from top to bottom.
    pub(super) fn column(&self, heading: &str) -> Vec<super::table::Entry> {
        let place = self.column_index_of(heading);
        let rows = self.rows.iter();
        rows.filter_map(|row| row.fields.get(place).cloned())
            .collect()
    }

    /// The texts of the column with this heading.
    pub(super) fn texts(&self, heading: &str) -> Vec<String> {
        let fields = self.column(heading).into_iter();
        fields.map(|field| field.text).collect()
    }
}
