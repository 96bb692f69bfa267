//! The input of a check: the results, and the report as templates receive and print it.

use std::path::PathBuf;

use minijinja::value::Value as Context;
use serde::Serialize;
use serde_json::Value;

use crate::plan::COMPARISON_TEMPLATE;
use crate::report::table::{Entry, Row, Table};
use crate::report::write;
use crate::report::{ComparisonReport, Report, TEMPLATES, template};
use crate::results::ResultSet;

/// The formats of a template.
const FORMATS: [&str; 2] = ["md", "html"];

/// A report with the results and texts that are checked.
pub(super) struct Subject<'a> {
    /// The results that the report is checked against.
    pub(super) set: &'a ResultSet,
    /// Variables of the templates.
    pub(super) context: Value,
    /// Every table in the context.
    pub(super) tables: Vec<Table>,
    /// The texts that the templates print.
    pub(super) texts: Vec<Text>,
}

/// A printed report.
pub(super) struct Text {
    /// File name of the template.
    pub(super) name: String,
    /// Whether the text is HTML; otherwise it is Markdown.
    pub(super) is_page: bool,
    /// The whole text.
    pub(super) whole: String,
}

impl<'a> Subject<'a> {
    /// The report of `set`, printed by the program's templates.
    pub(super) fn of(set: &'a ResultSet) -> Self {
        Self::with(set, &Report::of(set), None)
    }

    /// `report` checked against `set`, printed by the templates in `own` which replace the program's templates of the
    /// same name.
    pub(super) fn with(set: &'a ResultSet, report: &Report, own: Option<PathBuf>) -> Self {
        Self::made(set, report, printed(report, own))
    }

    /// A comparison's pages in one language, checked against the results of the side after.
    pub(super) fn of_comparison(
        set: &'a ResultSet,
        report: &ComparisonReport,
        own: Option<PathBuf>,
    ) -> Self {
        let engine = template::engine(own);
        let values = Context::from(minijinja::value::Serde(report));
        let texts = FORMATS.map(|format| {
            let name = format!("{COMPARISON_TEMPLATE}.{}.{format}", report.language);
            Text::of(&engine, (COMPARISON_TEMPLATE, format), &values, name)
        });
        Self::made(set, report, texts.into())
    }

    fn made(set: &'a ResultSet, report: &impl Serialize, texts: Vec<Text>) -> Self {
        let context = serde_json::to_value(report).expect("a context");
        let mut found = Vec::new();
        having(&context, &["columns", "rows", "sources"], &mut found);
        let tables = found.into_iter();
        let tables = tables.map(|table| serde_json::from_value(table.clone()).expect("a table"));
        Self {
            set,
            tables: tables.collect(),
            texts,
            context,
        }
    }

    /// The section with this id, if there is one.
    pub(super) fn section(&self, id: &str) -> Option<&Value> {
        let themes = self.context["themes"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let mut sections = themes
            .iter()
            .flat_map(move |theme| theme["sections"].as_array().map_or(&[][..], Vec::as_slice));
        sections.find(|section| section["id"] == id)
    }

    /// Objects of the context that have all these keys.
    pub(super) fn objects_with_keys(&self, keys: &[&str]) -> Vec<&Value> {
        let mut found = Vec::new();
        having(&self.context, keys, &mut found);
        found
    }
}

/// Prints a report by every template in both formats.
pub(super) fn printed(report: &Report, own: Option<PathBuf>) -> Vec<Text> {
    let engine = template::engine(own);
    let context = Context::from(minijinja::value::Serde(report));
    let of_results = TEMPLATES
        .iter()
        .filter(|(name, _)| *name != COMPARISON_TEMPLATE);
    let all = of_results.flat_map(|(name, _)| FORMATS.map(|format| (*name, format)));
    all.map(|from| {
        let name = format!("{}.{}.j2", from.0, from.1);
        Text::of(&engine, from, &context, name)
    })
    .collect()
}

fn having<'v>(value: &'v Value, keys: &[&str], found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => {
            if keys.iter().all(|key| map.contains_key(*key)) {
                found.push(value);
            }
            map.values().for_each(|inner| having(inner, keys, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| having(inner, keys, found)),
        _ => {}
    }
}

impl Text {
    /// Output of the template `name` in a format.
    fn of(
        engine: &minijinja::Environment<'_>,
        (template, format): (&str, &str),
        context: &Context,
        name: String,
    ) -> Self {
        let text = write::page(None, engine, (template, format), context);
        Self {
            name,
            is_page: format == "html",
            whole: text.expect("renders"),
        }
    }

    /// `text` escaped for this format.
    pub(super) fn escaped(&self, text: &str) -> String {
        if self.is_page {
            html(text)
        } else {
            template::markdown(text)
        }
    }

    /// Whether the page prints `text`.
    pub(super) fn prints_text(&self, text: &str) -> bool {
        self.whole.contains(&self.escaped(text))
    }

    /// The part of the text that shows a table; `None` if the template does not show it.
    pub(super) fn part_with_table(&self, table: &Table) -> Option<&str> {
        if self.is_page {
            let begin = self
                .whole
                .find(&format!("<section id=\"{}\">", html(&table.id)))?;
            let part = &self.whole[begin..];
            Some(&part[..part.find("</section>").unwrap_or(part.len())])
        } else {
            let heading = |mark: &str| format!("\n{mark} {}\n", self.escaped(&table.title));
            let begin = ["##", "###", "####"].iter().find_map(|mark| {
                let heading = heading(mark);
                Some(self.whole.find(&heading)? + heading.len())
            })?;
            let part = &self.whole[begin..];
            Some(&part[..part.find("\n#").unwrap_or(part.len())])
        }
    }

    /// Whether this text (HTML or Markdown) shows a table whose id begins with `id`.
    pub(super) fn shows_table(&self, subject: &Subject<'_>, id: &str) -> bool {
        let mut tables = subject
            .tables
            .iter()
            .filter(|table| table.id.starts_with(id));
        tables.any(|table| self.part_with_table(table).is_some())
    }

    /// The visible text of a part of the page, without tooltips.
    pub(super) fn visible(part: &str) -> String {
        let mut pieces = part.split(" title=\"");
        let mut seen = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            seen.push_str(piece.split_once('"').map_or(piece, |(_, rest)| rest));
        }
        seen
    }

    /// Number of rows in the table of `part`, without its heading.
    pub(super) fn rows_of(&self, part: &str) -> usize {
        if self.is_page {
            part.matches("<tr").count().saturating_sub(1)
        } else {
            let rows = part.lines().filter(|line| line.starts_with('|'));
            rows.count().saturating_sub(2)
        }
    }
}

fn html(text: &str) -> String {
    // Uses the escaping of the template engine itself.
    let mut engine = minijinja::Environment::new();
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::Html);
    engine
        .render_str("{{ text }}", minijinja::context! { text })
        .expect("renders")
}

impl Table {
    /// The fields of the column with index `place`, from rows that have one.
    pub(super) fn entries(&self, place: usize) -> impl Iterator<Item = (&Row, &Entry)> {
        let rows = self.rows.iter();
        rows.filter_map(move |row| Some((row, row.fields.get(place)?)))
    }
}
