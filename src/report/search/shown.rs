//! [`Shown`]: tables whose columns say what they show of an item.

use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Row, Table};

use super::trials::{Search, Study, Trial};

/// A trial with its study.
pub(super) type OfStudy<'s, 'v, 'a> = (&'s Study<'v, 'a>, Trial<'v, 'a>);

/// What a column shows of an item.
type Of<'f, T> = Box<dyn Fn(&T) -> Entry + 'f>;

/// Columns, each with the field that it has for an item.
pub(super) struct Shown<'f, T>(Vec<(Column, Of<'f, T>)>);

impl<'f, T> Shown<'f, T> {
    /// No column yet.
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// With one more column.
    pub(super) fn and(mut self, column: Column, of: impl Fn(&T) -> Entry + 'f) -> Self {
        self.0.push((column, Box::new(of)));
        self
    }

    /// With a column of words.
    pub(super) fn words<S: Into<String>>(self, heading: &str, of: impl Fn(&T) -> S + 'f) -> Self {
        self.and(Column::text(heading), move |item| Entry::text(of(item)))
    }

    /// With a column of numbers.
    pub(super) fn number(
        self,
        heading: &str,
        unit: &str,
        how: &Provenance,
        of: impl Fn(&T) -> Entry + 'f,
    ) -> Self {
        self.and(Column::number(heading, unit, how), of)
    }

    /// The table with a row for each item, about the cell that `key` names; of none where that is empty.
    pub(super) fn table<'k>(
        self,
        naming: (&str, &str, String),
        items: &[T],
        key: impl Fn(&T) -> &'k str,
    ) -> Table {
        let rows = items.iter().map(|item| Row {
            key: key(item).to_owned(),
            fields: self.0.iter().map(|(_, of)| of(item)).collect(),
            missing: None,
        });
        let rows = rows.collect();
        let columns = self.0.into_iter().map(|(column, _)| column);
        Table::of_rows(naming, columns.collect(), rows)
    }
}

/// Columns that begin with the study, where there are several, and the trial.
pub(super) fn of_trials<'f, 's: 'f, 'v: 'f, 'a: 'f, T: 'f>(
    search: &Search<'_, '_>,
    of: fn(&T) -> &OfStudy<'s, 'v, 'a>,
) -> Shown<'f, T> {
    let mut shown = Shown::new();
    if search.studies.len() > 1 {
        shown = shown.words("study", move |item| of(item).0.name.clone());
    }
    shown.and(Column::setting("trial"), move |item| {
        Entry::text(of(item).1.info.number.to_string())
    })
}
