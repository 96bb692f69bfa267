//! [`Section`] and [`Theme`]: the content of a page below its answer, ready for templates.

use serde::Serialize;

use crate::base::units::human_integer;

use super::sections::plots::PlotContext;
use super::table::Table;

/// Largest number of rows of a table, except tables of cells.
pub(super) const ROWS: usize = 200;
/// Largest number of sentences in a section.
const VERDICTS: usize = 6;

/// A group of related sections: one collapsible part of a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Theme {
    /// Name for links and for templates: `speed`.
    pub id: String,
    /// Heading of the theme.
    pub title: String,
    /// Sections of the theme, none of them empty.
    pub sections: Vec<Section>,
}

/// A section, shown in the order of its fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// Name for links: `cells`.
    pub id: String,
    /// The section's name in a list of sections.
    pub name: String,
    /// Heading; empty if the first table has the heading.
    pub title: String,
    /// Text above the tables, a paragraph each.
    pub paragraphs: Vec<String>,
    /// Tables; their headings are one level lower if the section has a heading.
    pub tables: Vec<Table>,
    /// Plots, shown below the tables.
    pub plots: Vec<PlotContext>,
    /// Images, shown below the plots.
    pub images: Vec<ImageContext>,
    /// Text below the tables, as a list.
    pub points: Vec<String>,
    /// The rule from which the list of sentences results; empty for none.
    pub rule: String,
    /// Content of a file.
    pub code: Option<Code>,
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Code {
    /// Language of the code (`toml`, `diff`).
    pub syntax: String,
    /// The whole text.
    pub text: String,
    /// A Markdown fence that is longer than any in the text.
    pub fence: String,
}

/// Note below a table that shows only the first [`ROWS`] of `all` rows; `None` if it shows all.
pub(super) fn cut_note(all: usize) -> Option<String> {
    let number = human_integer(all as u64);
    let words = "rows; all cells are in the CSV files beside this report.";
    (all > ROWS).then(|| format!("The first {ROWS} of {number} {words}"))
}

impl Section {
    /// A section that consists of one table.
    pub(crate) fn table(table: Table) -> Self {
        Self {
            id: format!("section-{}", table.id),
            name: table.title.clone(),
            tables: vec![table],
            ..Self::default()
        }
    }

    /// A section of a table and the sentences that follow from `rule`; empty if the table has no rows.
    ///
    /// At most [`VERDICTS`] sentences are kept, with the number of the others, and the first [`ROWS`] rows.
    pub(crate) fn of_table_and_rule(
        mut table: Table,
        rule: impl Into<String>,
        verdicts: Vec<String>,
    ) -> Self {
        if table.rows.is_empty() {
            return Self::default();
        }
        table.cut = table.cut.or_else(|| cut_note(table.rows.len()));
        table.rows.truncate(ROWS);
        Self {
            rule: rule.into(),
            ..Self::table(table).with_sentences(verdicts)
        }
    }

    /// A section under a heading, without content yet.
    pub(crate) fn titled(id: &str, title: impl Into<String>) -> Self {
        let title = title.into();
        Self {
            id: id.to_owned(),
            name: title.clone(),
            title,
            ..Self::default()
        }
    }

    /// Sets the sentences; at most [`VERDICTS`] are kept, with the number of the others.
    pub(crate) fn with_sentences(self, mut sentences: Vec<String>) -> Self {
        let all = sentences.len();
        if all > VERDICTS {
            sentences.truncate(VERDICTS - 1);
            let more = human_integer((all + 1 - VERDICTS) as u64);
            sentences.push(format!("And {more} more sentences of this kind."));
        }
        Self {
            points: sentences,
            ..self
        }
    }

    /// A section of plots without a heading.
    pub(crate) fn plots(id: &str, plots: Vec<PlotContext>) -> Self {
        Self {
            id: id.to_owned(),
            plots,
            ..Self::default()
        }
    }

    /// Whether the section shows nothing: tables without rows, no plot, no sentence.
    pub(crate) fn is_empty(&self) -> bool {
        let has_rows = self.tables.iter().any(|table| !table.rows.is_empty());
        let has_words = !self.paragraphs.is_empty() || !self.points.is_empty();
        let has_others = !self.plots.is_empty() || !self.images.is_empty() || self.code.is_some();
        !has_rows && !has_words && !has_others
    }
}

impl Code {
    /// The content with a suitable fence.
    pub(crate) fn of(syntax: &str, text: &str) -> Self {
        Self {
            syntax: syntax.to_owned(),
            text: text.trim_end().to_owned(),
            fence: fence(text),
        }
    }
}

/// Backticks for a fence: longer than any sequence of backticks in the text.
fn fence(text: &str) -> String {
    let mut longest = 2;
    let mut current = 0;
    for letter in text.chars() {
        current = if letter == '`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat(longest + 1)
}

/// An image, for templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImageContext {
    /// Heading: kind of image, cell and seed.
    pub title: String,
    /// What the image shows.
    pub caption: String,
    /// File name; the image is `samples/<file>`.
    pub file: String,
    /// Width in pixels; 0 if the file does not exist.
    pub width: u32,
    /// Height in pixels; 0 if the file does not exist.
    pub height: u32,
    /// The file in base64, so that an HTML page needs no other file; empty if it does not exist.
    pub base64: String,
}
