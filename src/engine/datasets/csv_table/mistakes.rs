//! [`Mistakes`]: values of a table that contradict the manifest, counted by column, with settings that would accept
//! them.

use std::collections::{BTreeMap, BTreeSet};

use csv::Position;

use super::super::{DatasetError, Faults, FilePaths};
use super::CsvSpec;
use super::dates::{DATE_FORMATS, days};
use super::files::DataFile;
use super::layout::{Layout, Role};
use super::number_form::{FormCounts, NumberForm, units_line};
use super::reading::line_of;
use super::value::Row;
use crate::base::text::count;
use crate::diag::list_of;
use crate::manifest::toml_key;

/// Texts that often mean a missing value.
pub(super) const MISSING_TEXTS: [&str; 14] = [
    "NA", "N/A", "#N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None", "missing", "-", "?",
    ".",
];
/// Largest number of lines of TOML that a message proposes.
const PROPOSED: usize = 8;

/// Why a value cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mistake {
    Missing,
    NoNumber,
    NoDate,
    /// A number that is not above 0 and therefore has no logarithm (`log = true`).
    NotPositive,
    /// The row has no value in the column that decides the split.
    NoSplit,
    /// A value of a label column that is neither 0 nor 1.
    NoLabel,
}

/// All mistakes of one kind in a column: their number, and the first one.
struct Seen {
    count: usize,
    text: String,
    place: Option<Position>,
    /// For [`Mistake::NoNumber`]: in which other forms (separators, units) the texts are numbers.
    fits: FormCounts,
    /// Index of the file, and index of the column in it.
    file: usize,
    column: usize,
}

#[derive(Default)]
pub(super) struct Mistakes {
    by_column: BTreeMap<(usize, Mistake), Seen>,
    /// The first row whose number of columns differs from the header's, with the number of such rows, and the first
    /// one's number of columns.
    ragged: Option<(Seen, usize)>,
    /// Indices of the files that have mistakes.
    files: BTreeSet<usize>,
}

impl Mistakes {
    pub(super) fn add(&mut self, column: usize, mistake: Mistake, text: &str, row: Row<'_>) {
        let seen = self.by_column.entry((column, mistake));
        let seen = seen.or_insert_with(|| first(text, row, column));
        seen.count += 1;
        if mistake == Mistake::NoNumber {
            seen.fits.add(text);
        }
        self.files.insert(row.file);
    }

    pub(super) fn ragged(&mut self, row: Row<'_>) {
        let (seen, _) = self
            .ragged
            .get_or_insert_with(|| (first("", row, 0), row.record.len()));
        seen.count += 1;
        self.files.insert(row.file);
    }

    /// An error that reports all mistakes; `Ok` if there are none. `files` are the files that were read, each with its
    /// numbers of all rows and of used rows.
    pub(super) fn into_result(
        self,
        spec: &CsvSpec,
        layout: &Layout,
        files: &[(DataFile, [usize; 2])],
    ) -> Result<(), DatasetError> {
        if self.by_column.is_empty() && self.ragged.is_none() {
            return Ok(());
        }
        let mut faults = self.faults(spec, layout, files);
        let proposed = self.proposed(spec, layout);
        if self.ragged.is_some() {
            let separator = spec.separator.0.escape_debug();
            faults.help = Some(format!(
                "it is ragged: every row needs as many columns as the header; a value that has a `{separator}` stands in quotes"
            ));
        } else if let ([line], true) = (&*proposed, self.is_of_target(layout)) {
            faults.key = Some("target");
            faults.help = Some(format!("add `{line}`"));
        } else if !proposed.is_empty() {
            let proposed = list_of(proposed.iter().map(String::as_str), PROPOSED);
            faults.help = Some(format!(
                "in the dataset's section, or leave the column out by `ignore`: {proposed}"
            ));
        }
        let what = match (self.by_column.is_empty(), self.files.len()) {
            (true, 1) => "is ragged",
            (true, _) => "are ragged",
            (false, 1) => "is not what the manifest says",
            (false, _) => "are not what the manifest says",
        };
        let paths: FilePaths = self
            .with_mistakes(files)
            .map(|(file, _)| file.path.clone())
            .collect();
        Err(DatasetError::Damaged {
            path: paths.to_string(),
            what,
            faults,
        })
    }

    /// The files that have mistakes.
    fn with_mistakes<'f>(
        &self,
        files: &'f [(DataFile, [usize; 2])],
    ) -> impl Iterator<Item = &'f (DataFile, [usize; 2])> {
        self.files.iter().map(|&place| &files[place])
    }

    /// One fault for each column and kind of mistake, with the position of the first and the number of affected rows.
    fn faults(&self, spec: &CsvSpec, layout: &Layout, files: &[(DataFile, [usize; 2])]) -> Faults {
        let mut faults = Faults::default();
        let rows = self.with_mistakes(files).map(|(_, [_, used])| used).sum();
        let line = |seen: &Seen| {
            let (file, _) = &files[seen.file];
            let line = line_of(&file.path, seen.place.as_ref());
            if self.files.len() > 1 {
                format!("{line} of `{}`", file.name)
            } else {
                line
            }
        };
        let many = |seen: &Seen| match seen.count {
            1 => String::new(),
            all => format!(", in {all} of {}", count(rows, "row")),
        };
        if let Some((seen, found)) = &self.ragged {
            faults.add(|| {
                let (found, expected) = (count(*found, "column"), layout.names.len());
                let reason = format!("{found} where the header has {expected}{}", many(seen));
                (format!("in {}", line(seen)), reason)
            });
        }
        for (&(column, mistake), seen) in &self.by_column {
            let name = &layout.names[column];
            faults.add(|| {
                let what = match mistake {
                    Mistake::Missing if seen.text.is_empty() => "nothing there".to_owned(),
                    Mistake::NoSplit => "nothing there, so that the row is in no split".to_owned(),
                    Mistake::Missing => format!("`{}` is a missing value", seen.text),
                    Mistake::NoNumber => format!("`{}` is not a number", seen.text),
                    Mistake::NoDate => {
                        let form = spec.columns.get(name).and_then(|one| one.date.as_deref());
                        let form = form.unwrap_or_default();
                        format!("`{}` is not a date of the form `{form}`", seen.text)
                    }
                    Mistake::NoLabel => {
                        format!(
                            "`{}` is neither 0 nor 1, as each of several labels is",
                            seen.text
                        )
                    }
                    Mistake::NotPositive => {
                        format!("`{}` has no logarithm (`log = true`)", seen.text)
                    }
                };
                let place = format!("in {}, column {} (`{name}`)", line(seen), seen.column + 1);
                (place, format!("{what}{}", many(seen)))
            });
        }
        faults
    }

    /// Lines of TOML with which the values would be accepted, without duplicates.
    fn proposed(&self, spec: &CsvSpec, layout: &Layout) -> Vec<String> {
        let mut proposed: Vec<String> = Vec::new();
        let known = spec.units.iter().map(String::as_str);
        let mut units: BTreeSet<&str> = known.clone().collect();
        for (&(column, mistake), seen) in &self.by_column {
            let numbers = |seen: &Seen| seen.fits.likely(spec.decimal);
            let other = |other| self.by_column.get(&(column, other));
            let is_text = |seen: &Seen| numbers(seen).is_none();
            if mistake == Mistake::Missing && other(Mistake::NoNumber).is_some_and(is_text) {
                // The line for `NoNumber` usually has a rule for missing values too, so there is no second line.
                continue;
            }
            let lines = if let Some(form) = numbers(seen) {
                units.extend(&seen.fits.signs);
                form.toml_lines(NumberForm {
                    decimal: spec.decimal,
                    thousands: spec.thousands,
                })
            } else {
                let column = (column, other(Mistake::Missing).is_some());
                let line = remedy(spec, layout, column, mistake, &seen.text);
                line.into_iter().collect()
            };
            for line in lines {
                if !proposed.contains(&line) {
                    proposed.push(line);
                }
            }
        }
        if units.len() > known.count() {
            proposed.push(units_line(&units));
        }
        proposed
    }

    fn is_of_target(&self, layout: &Layout) -> bool {
        let mut columns = self.by_column.keys();
        columns.all(|&(column, _)| layout.roles[column] == Role::Target)
    }
}

fn first(text: &str, row: Row<'_>, column: usize) -> Seen {
    Seen {
        count: 0,
        fits: FormCounts::default(),
        text: text.to_owned(),
        place: row.record.position().cloned(),
        file: row.file,
        column: row.place(column),
    }
}

/// A line of TOML for the dataset's section with which the value would be accepted; `None` if no setting helps.
fn remedy(
    spec: &CsvSpec,
    layout: &Layout,
    (column, has_gaps): (usize, bool),
    mistake: Mistake,
    text: &str,
) -> Option<String> {
    let name = toml_key(&layout.names[column]);
    let role = &layout.roles[column];
    Some(match (mistake, role) {
        (Mistake::Missing, Role::Target) => {
            format!("columns.{name} = {{ missing = \"leave-out\" }}")
        }
        (Mistake::Missing, Role::Category) => {
            format!("columns.{name} = {{ category = true, missing = \"kind\" }}")
        }
        (Mistake::Missing, Role::Date(form)) => {
            format!("columns.{name} = {{ date = {form:?}, missing = \"median\" }}")
        }
        (Mistake::Missing, _) => format!("columns.{name} = {{ missing = \"median\" }}"),
        (Mistake::NoNumber, _) if MISSING_TEXTS.contains(&text) => {
            let known = spec.missing_values.iter().map(|one| format!("{one:?}, "));
            format!("missing-values = [{}{text:?}]", known.collect::<String>())
        }
        (Mistake::NoNumber, Role::Target) if spec.target.len() > 1 => return None,
        (Mistake::NoNumber, Role::Target) => "classes = true".to_owned(),
        (Mistake::NoNumber, _) => {
            let form = DATE_FORMATS.iter().find(|form| days(form, text).is_some());
            let (what, missing) = match form {
                Some(form) => (format!("date = {form:?}"), ", missing = \"median\""),
                None => ("category = true".to_owned(), ", missing = \"kind\""),
            };
            let missing = if has_gaps { missing } else { "" };
            format!("columns.{name} = {{ {what}{missing} }}")
        }
        (Mistake::NoSplit, _) => format!("columns.{name}.missing = \"leave-out\""),
        (Mistake::NoDate | Mistake::NotPositive | Mistake::NoLabel, _) => return None,
    })
}
