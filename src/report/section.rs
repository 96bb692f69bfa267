//! [`Section`] and [`Theme`]: what a page shows below its answer, ready to draw.

use serde::Serialize;

use crate::base::units::human_integer;

use super::sections::plots::PlotContext;
use super::table::Table;

/// Rows that a table of anything but cells has at most.
pub(super) const ROWS: usize = 200;
/// Sentences of a section at most.
const VERDICTS: usize = 6;

/// Sections that belong together: one part of a page that opens and closes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Theme {
    /// Name in links, by which templates choose: `speed`.
    pub id: String,
    /// Heading of the theme.
    pub title: String,
    /// Sections of the theme, none of them empty.
    pub sections: Vec<Section>,
}

/// A section, drawn in the order of its fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// Stands in links: `cells`.
    pub id: String,
    /// The section's name in a list of sections.
    pub name: String,
    /// Heading; empty where its first table has the heading.
    pub title: String,
    /// Text above the tables, a paragraph each.
    pub paragraphs: Vec<String>,
    /// Tables; those of a section with a heading are one level lower.
    pub tables: Vec<Table>,
    /// Plots.
    pub plots: Vec<PlotContext>,
    /// Images.
    pub images: Vec<SampleContext>,
    /// Text below the tables, as a list.
    pub points: Vec<String>,
    /// The rule that made the list; empty for none.
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

/// Note of a table of the first [`ROWS`] of `all` rows on the others; `None` where it has all.
pub(super) fn cut(all: usize) -> Option<String> {
    let number = human_integer(all as u64);
    let words = "rows; all cells are in the CSV files beside this report.";
    (all > ROWS).then(|| format!("The first {ROWS} of {number} {words}"))
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

    /// A table with the sentences of `rule`. Without rows the section is empty.
    ///
    /// Beyond [`VERDICTS`] sentences the rest is counted, and of the table the first [`ROWS`] rows stay.
    pub(crate) fn judged(mut table: Table, rule: impl Into<String>, verdicts: Vec<String>) -> Self {
        if table.rows.is_empty() {
            return Self::default();
        }
        table.cut = table.cut.or_else(|| cut(table.rows.len()));
        table.rows.truncate(ROWS);
        Self {
            rule: rule.into(),
            ..Self::table(table).saying(verdicts)
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

    /// This section with these sentences; beyond [`VERDICTS`] the rest is counted.
    pub(crate) fn saying(self, mut sentences: Vec<String>) -> Self {
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

    /// Plots without a heading.
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
    /// A text, fenced.
    pub(crate) fn of(syntax: &str, text: &str) -> Self {
        Self {
            syntax: syntax.to_owned(),
            text: text.trim_end().to_owned(),
            fence: fence(text),
        }
    }
}

/// Backquotes for a fence, more than in any run of them in the text.
fn fence(text: &str) -> String {
    let mut longest = 2;
    let mut current = 0;
    for letter in text.chars() {
        current = if letter == '`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat(longest + 1)
}

/// An image, as templates place it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleContext {
    /// Heading: what it is, of which cell and seed.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// Its file is `samples/<file>`.
    pub file: String,
    /// Width in pixels; 0 where the file is not there.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The file in base64, so that a page needs no other file; empty where it is not there.
    pub base64: String,
}
