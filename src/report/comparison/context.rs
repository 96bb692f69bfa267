//! [`ComparisonReport`]: everything that the template `comparison` can show, documented field by field.

use serde::Serialize;

use crate::base::text::kebab_case;
use crate::compare::Comparison;
use crate::report::section::Section;
use crate::report::sections::plots::PlotContext;

use super::account::answer;
use super::scene::Scene;
use super::{Language, Words, head, sections};

/// The variable `report` of the template `comparison`: all texts in one language.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// Code of the language (`en`, `de`).
    pub language: String,
    /// `name` of the manifest.
    pub name: String,
    /// "Before/after: " followed by the `title` of the manifest, or its name.
    pub title: String,
    /// `question` of the manifest; empty without one.
    pub question: String,
    /// Texts of the template itself, such as headings.
    pub labels: Labels,
    /// One part for each pair of sides; comparing along an axis can give several.
    pub parts: Vec<Part>,
    /// Sentence with the version of the program that wrote the page.
    pub written_by: String,
}

/// Texts of the template itself in one language.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Labels {
    /// Name of the list of sections.
    pub sections: String,
    /// Heading of the answer.
    pub answer: String,
    /// Heading of the details below the answer, which open on click.
    pub details: String,
    /// Heading of the warnings.
    pub warnings: String,
}

/// The comparison of two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Name for links; empty for a single part.
    pub id: String,
    /// Heading: the names of both sides; empty for a single part.
    pub title: String,
    /// Sides that are compared, in sentences.
    pub intro: Vec<String>,
    /// Warnings to read before the figures.
    pub warnings: Vec<String>,
    /// The outcome of the change, in sentences.
    pub answer: Vec<String>,
    /// Plot of the factors of the change, or of its cells.
    pub figures: Vec<PlotContext>,
    /// Times, memory and quality before and after; none if no cell is on both sides.
    pub decision: Option<Section>,
    /// All other sections.
    pub sections: Vec<Section>,
}

impl Labels {
    /// The labels in the language of a page.
    pub(crate) fn of(words: Words) -> Self {
        Self {
            sections: words.section_list(),
            answer: words.answer_title(),
            details: words.details_title(),
            warnings: words.warnings(),
        }
    }
}

impl ComparisonReport {
    /// Builds the context of some comparisons of one experiment, in one language.
    ///
    /// Several comparisons are parts of one page; their sections and plots have distinct names.
    pub fn of(comparisons: &[Comparison], language: Language) -> Self {
        let words = Words::in_language(language);
        let is_one = comparisons.len() == 1;
        let parts = comparisons.iter().map(|comparison| {
            let mut part = Part::of(&Scene::of(comparison, language));
            if is_one {
                (part.id, part.title) = (String::new(), String::new());
            }
            part.named(language)
        });
        let plan = comparisons.first().map(|first| &first.after.set.plan);
        let name = comparisons.first().map_or("", |first| &first.name);
        let translated = plan.map(|plan| plan.translated.clone()).unwrap_or_default();
        let title = translated.title.in_language(language);
        let title = title
            .or_else(|| plan.map(|plan| plan.title.clone()))
            .unwrap_or_default();
        let question = translated.question.in_language(language);
        let question = question.or_else(|| plan.and_then(|plan| plan.question.clone()));
        Self {
            language: language.code().to_owned(),
            name: name.to_owned(),
            title: words.page_title(if title.is_empty() {
                name.to_owned()
            } else {
                title
            }),
            question: question.unwrap_or_default(),
            labels: Labels::of(words),
            parts: parts.collect(),
            written_by: words.written_by(env!("CARGO_PKG_VERSION")),
        }
    }

    /// Every plot of the page.
    pub fn plots(&self) -> impl Iterator<Item = &PlotContext> {
        self.parts.iter().flat_map(|part| {
            let sections = part.sections.iter().flat_map(|section| &section.plots);
            part.figures.iter().chain(sections)
        })
    }
}

impl Part {
    fn of(scene: &Scene<'_>) -> Self {
        let comparison = scene.comparison;
        let (before, after) = (&comparison.before.name, &comparison.after.name);
        let mut sentences = answer::sentences(scene);
        // For a single cell the answer already lists each cost with its values.
        if comparison.cells.len() > 1 {
            sentences.extend(sections::costs::summary(scene));
        }
        Self {
            id: kebab_case(after),
            title: format!("{before} → {after}"),
            intro: head::intro(scene),
            warnings: head::warnings(scene),
            answer: sentences,
            figures: answer::figure(scene).into_iter().collect(),
            decision: sections::summary::section(scene),
            sections: sections::comparison_sections(scene),
        }
    }

    /// Gives every section, table and plot a name that is unique in the page and its folder.
    fn named(mut self, language: Language) -> Self {
        let before = (!self.id.is_empty()).then(|| format!("{}-", self.id));
        let before = before.unwrap_or_default();
        let code = language.code();
        for plot in &mut self.figures {
            plot.id = format!("comparison-{before}{}-{code}", plot.id);
        }
        for section in self.decision.iter_mut().chain(&mut self.sections) {
            section.id = format!("{before}{}", section.id);
            for table in &mut section.tables {
                table.id = format!("{before}{}", table.id);
            }
            for plot in &mut section.plots {
                plot.id = format!("comparison-{before}{}-{code}", plot.id);
            }
        }
        self
    }
}
