//! [`ComparisonReport`]: everything that the template `comparison` can show, documented field by field.

use serde::Serialize;

use crate::compare::Comparison;
use crate::report::sections::headline::Headline;
use crate::report::sections::plots::PlotContext;
use crate::report::table::Table;

use super::scene::Scene;
use super::{Language, Words, head, sections};

/// What the template `comparison` sees, under the name `report`: all in one language.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// Code of the language (`en`, `de`).
    pub language: String,
    /// `name` of the manifest.
    pub name: String,
    /// "Before/after: " and the `title` of the manifest, or its name.
    pub title: String,
    /// `question` of the manifest; empty for none.
    pub question: String,
    /// Words that the template itself says.
    pub labels: Labels,
    /// One for each pair of sides; of one result along an axis there can be several.
    pub parts: Vec<Part>,
    /// Which version of the program wrote it, in a sentence.
    pub written_by: String,
}

/// Words that the template says beside what it is given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Labels {
    /// Name of the list of sections.
    pub sections: String,
    /// What stands before a link to the table with a figure.
    pub table: String,
    /// Heading of the warnings.
    pub warnings: String,
    /// What opens a text that is folded.
    pub show: String,
    /// What stands where there is no headline.
    pub no_headline: String,
}

/// Two sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Stands in links; empty where there is one part only.
    pub id: String,
    /// Its heading: what is compared with what; empty where there is one part only.
    pub title: String,
    /// What is compared with what, in sentences.
    pub intro: Vec<String>,
    /// What to know before reading a figure.
    pub warnings: Vec<String>,
    /// The figures at its head, the same values as in the tables.
    pub headlines: Vec<Headline>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A section of a comparison.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// Stands in links: `cells`.
    pub id: String,
    /// Its name in the list of sections.
    pub name: String,
    /// Heading; empty where its first table has the heading.
    pub title: String,
    /// What it says above its tables, a paragraph each.
    pub paragraphs: Vec<String>,
    /// Its tables; those of a section with a heading stand one level lower.
    pub tables: Vec<Table>,
    /// Its plots.
    pub plots: Vec<PlotContext>,
    /// What it says below, as a list.
    pub points: Vec<String>,
    /// A text as it stands in a file.
    pub code: Option<Code>,
}

/// A text as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Code {
    /// What it is written in (`toml`, `diff`).
    pub syntax: String,
    /// All of it.
    pub text: String,
    /// A Markdown fence that is longer than any in the text.
    pub fence: String,
}

impl ComparisonReport {
    /// Builds the context of some comparisons of one experiment, in one language.
    ///
    /// Several comparisons are parts of one page; their sections and plots have names of their own.
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
        let title = plan.map_or(name, |plan| &plan.title);
        Self {
            language: language.code().to_owned(),
            name: name.to_owned(),
            title: words.page_title(if title.is_empty() { name } else { title }),
            question: plan
                .and_then(|plan| plan.question.clone())
                .unwrap_or_default(),
            labels: head::labels(words),
            parts: parts.collect(),
            written_by: words.written_by(env!("CARGO_PKG_VERSION")),
        }
    }

    /// Every plot.
    pub fn plots(&self) -> impl Iterator<Item = &PlotContext> {
        let sections = self.parts.iter().flat_map(|part| &part.sections);
        sections.flat_map(|section| &section.plots)
    }
}

impl Part {
    fn of(scene: &Scene<'_>) -> Self {
        Self {
            id: head::id(scene),
            title: head::title(scene),
            intro: head::intro(scene),
            warnings: head::warnings(scene),
            headlines: head::headlines(scene),
            sections: sections::of(scene),
        }
    }

    /// Gives every section, table and plot a name that no other of the page and of its folder has.
    fn named(mut self, language: Language) -> Self {
        let before = if self.id.is_empty() {
            String::new()
        } else {
            format!("{}-", self.id)
        };
        let code = language.code();
        for section in &mut self.sections {
            section.id = format!("{before}{}", section.id);
            for table in &mut section.tables {
                table.id = format!("{before}{}", table.id);
            }
            for plot in &mut section.plots {
                plot.id = format!("comparison-{before}{}-{code}", plot.id);
            }
        }
        for headline in &mut self.headlines {
            headline.link = format!("{before}{}", headline.link);
        }
        self
    }
}

impl Section {
    /// A section that is one table.
    pub(crate) fn table(table: Table) -> Self {
        Self {
            id: format!("section-{}", table.id),
            name: table.title.clone(),
            tables: vec![table],
            ..Self::default()
        }
    }

    /// A section under a heading, without content yet.
    pub(crate) fn titled(id: &str, title: String) -> Self {
        Self {
            id: id.to_owned(),
            name: title.clone(),
            title,
            ..Self::default()
        }
    }
}

impl Code {
    /// A text, fenced.
    pub(crate) fn of(syntax: &str, text: &str) -> Self {
        Self {
            syntax: syntax.to_owned(),
            text: text.trim_end().to_owned(),
            fence: crate::report::context::fence(text),
        }
    }
}
