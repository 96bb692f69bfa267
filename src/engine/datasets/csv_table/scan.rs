//! [`scan()`]: every value of a table as a number or a text, and every mistake with its place.

use super::super::{DatasetError, FilePaths, SplitKind};
use super::CsvSpec;
use super::column_spec::Missing;
use super::dates::{days, parse_date};
use super::files::DataFile;
use super::layout::{Layout, Role};
use super::mistakes::{Mistake, Mistakes};
use super::reading::{Rows, check_table_rows, for_each_row};
use super::value::{Row, Value, label};

/// Receives the values of a file.
pub(super) trait Sink {
    /// Receives a value of the current row with the index of its column; the column of the split has the index after
    /// the last column, and parts of dates follow.
    fn value(&mut self, column: usize, value: Value<'_>);

    /// Called at the end of a row, with its number in the file from 0.
    fn end(&mut self, _row: u32) {}
}

/// A file whose rows are to be read.
pub(super) struct Source {
    file: DataFile,
    reader: Rows,
    /// Index in the file of each column of the layout; `None` if both have the same order.
    order: Option<Vec<usize>>,
}

impl Source {
    pub(super) fn of(file: DataFile, reader: Rows, order: Option<Vec<usize>>) -> Self {
        Self {
            file,
            reader,
            order,
        }
    }
}

/// The files that were read, with their rows.
#[derive(Default)]
pub(super) struct Scanned {
    /// The files, with the number of rows in each and how many of them are used.
    pub(super) files: Vec<(DataFile, [usize; 2])>,
    /// Number in its file of every used row, from 0.
    pub(super) source_rows: Vec<u32>,
}

impl Scanned {
    /// The numbers of the rows in their files, and the sizes of the three splits.
    ///
    /// # Errors
    /// A table or a part of it without rows.
    pub(super) fn rows(self, path: &FilePaths) -> Result<(Vec<u32>, [usize; 3]), DatasetError> {
        let mut used_of_parts = [0; 3];
        for (part, used_of_part) in SplitKind::ALL.into_iter().zip(&mut used_of_parts) {
            let own = || self.files.iter().filter(|(file, _)| file.part == part);
            let [read, used] = [0, 1].map(|which| own().map(|(_, rows)| rows[which]).sum());
            *used_of_part = used;
            let named: FilePaths = own().map(|(file, _)| file.path.clone()).collect();
            let shown = if part == SplitKind::Train {
                path
            } else {
                &named
            };
            if used == 0 && read > 0 {
                return Err(DatasetError::Mismatch(format!(
                    "every row of `{shown}` is left out: each lacks a value in a column with `missing = \"leave-out\"`"
                )));
            }
            if !named.is_empty() {
                check_table_rows(shown, used)?;
            }
        }
        check_table_rows(path, self.source_rows.len())?;
        Ok((self.source_rows, used_of_parts))
    }
}

/// Passes the values of all rows to `sink`, row by row, file by file.
///
/// # Errors
/// All columns with missing values or values that contradict the manifest.
pub(super) fn scan(
    spec: &CsvSpec,
    layout: &Layout,
    sources: impl IntoIterator<Item = Result<Source, DatasetError>>,
    sink: &mut impl Sink,
) -> Result<Scanned, DatasetError> {
    let is_missing =
        |text: &str| text.is_empty() || spec.missing_values.iter().any(|one| one == text);
    let may_be_left_out: Vec<usize> = (0..layout.names.len())
        .filter(|&column| layout.specs[column].missing == Some(Missing::LeaveOut))
        .filter(|&column| layout.roles[column] != Role::Ignored || layout.determines_split(column))
        .collect();
    let mut mistakes = Mistakes::default();
    let mut scanned = Scanned::default();
    for source in sources {
        let source = source?;
        let (order, file) = (source.order.as_deref(), scanned.files.len());
        let (source_rows, mut read) = (&mut scanned.source_rows, 0u64);
        let before = source_rows.len();
        for_each_row(&source.file.path, source.reader, |record| {
            read += 1;
            let row = Row {
                record,
                order,
                file,
            };
            if record.len() != layout.names.len() {
                source_rows.push((read - 1) as u32);
                mistakes.ragged(row);
                return;
            }
            if may_be_left_out
                .iter()
                .any(|&column| is_missing(row.text(column)))
            {
                return;
            }
            source_rows.push((read - 1) as u32);
            for (column, role) in layout.roles.iter().enumerate() {
                let text = row.text(column);
                match value(spec, layout, (column, role), text, is_missing(text)) {
                    Ok(None) => {}
                    Ok(Some(value)) => sink.value(column, value),
                    Err(mistake) => mistakes.add(column, mistake, text, row),
                }
            }
            add_parts(layout, row, &is_missing, sink);
            add_key(spec, layout, row, &is_missing, (sink, &mut mistakes));
            sink.end((read - 1) as u32);
        })?;
        let used = source_rows.len() - before;
        scanned.files.push((source.file, [read as usize, used]));
    }
    mistakes.into_result(spec, layout, &scanned.files)?;
    Ok(scanned)
}

/// Passes the parts of a row's dates to the sink.
fn add_parts(
    layout: &Layout,
    row: Row<'_>,
    is_missing: &dyn Fn(&str) -> bool,
    sink: &mut impl Sink,
) {
    let mut places = layout.part_column_index(0)..;
    for parts in layout.parts.chunk_by(|a, b| a.0 == b.0) {
        let (column, _) = parts[0];
        let text = row.text(column);
        let time = match &layout.roles[column] {
            Role::Date(form) if !is_missing(text) => parse_date(form, text),
            _ => None,
        };
        for ((_, part), place) in parts.iter().zip(&mut places) {
            let kind = time.as_ref().and_then(|time| part.of(time));
            sink.value(place, Value::Text(&kind.unwrap_or_default()));
        }
    }
}

/// Adds the value that decides a row's split.
fn add_key(
    spec: &CsvSpec,
    layout: &Layout,
    row: Row<'_>,
    is_missing: &dyn Fn(&str) -> bool,
    (sink, mistakes): (&mut impl Sink, &mut Mistakes),
) {
    let Some((column, role)) = &layout.key else {
        return;
    };
    let (column, text) = (*column, row.text(*column));
    let is_missing = is_missing(text);
    let is_kind = layout.specs[column].missing == Some(Missing::Kind);
    match value(spec, layout, (column, role), text, is_missing) {
        _ if is_missing && !is_kind => {
            mistakes.add(column, Mistake::NoSplit, text, row);
        }
        Ok(value) => {
            sink.value(layout.names.len(), value.unwrap_or(Value::Text("")));
        }
        // For ignored columns only: mistakes in features and targets have been recorded already.
        Err(mistake) if layout.roles[column] == Role::Ignored => {
            mistakes.add(column, mistake, text, row);
        }
        Err(_) => {}
    }
}

/// Parses a text as a value of its column; `None` for an ignored column.
fn value<'t>(
    spec: &CsvSpec,
    layout: &Layout,
    (column, role): (usize, &Role),
    text: &'t str,
    is_missing: bool,
) -> Result<Option<Value<'t>>, Mistake> {
    let own = &layout.specs[column];
    let are_labels = spec.predicts_labels();
    let found = match role {
        Role::Ignored => return Ok(None),
        Role::Category if is_missing && own.missing.is_some() => Value::Text(""),
        _ if is_missing && own.missing.is_some() => Value::Number(f32::NAN),
        _ if is_missing && own.fill.is_some() => Value::Number(own.fill.unwrap_or_default() as f32),
        _ if is_missing => return Err(Mistake::Missing),
        Role::Category => Value::Text(text),
        Role::Target if are_labels => {
            Value::Number(label(text, spec.decimal).ok_or(Mistake::NoLabel)?)
        }
        Role::Target if spec.classes => Value::Text(text),
        Role::Date(form) => Value::Number(days(form, text).ok_or(Mistake::NoDate)?),
        Role::Target | Role::Number => {
            let number = spec.number(text).ok_or(Mistake::NoNumber)?;
            if own.log && number <= 0.0 {
                return Err(Mistake::NotPositive);
            }
            Value::Number(number)
        }
    };
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::read;
    use super::super::super::{FingerprintCache, Target};
    use super::super::tests::{message, table};
    use crate::base::Seed;

    #[test]
    fn several_labels_are_ones_and_zeros_whatever_is_normalised() {
        let text = "a,y,z\n1,0,true\n2,1,FALSE\n3,1.0,1\n4,0,0\n";
        let (_folder, mut spec) = table(text);
        spec.target = ["z", "y"].into();
        (spec.classes, spec.normalise) = (true, true);
        let open = spec.open(Seed(1)).unwrap();
        assert_eq!(open.dataset.target(), Target::Labels { len: 2 });
        let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
        assert_eq!(facts.target, open.dataset.target());
        assert!(open.dataset.normalisation().of_targets().is_empty());
        let (_, values, _) = read(&*open.dataset, &[0, 1, 2, 3]);
        assert_eq!(values, [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        let (_folder, mut spec) = table("a,y,z\n1,0,2\n2,yes,1\n3,0.5,1\n4,,0\n");
        spec.target = ["z", "y"].into();
        spec.classes = true;
        let text = message(&spec);
        for part in [
            "line 2, column 3 (`z`): `2` is neither 0 nor 1, as each of several labels is",
            "line 3, column 2 (`y`): `yes` is neither 0 nor 1, as each of several labels is, in 2 of 4 rows",
            "line 5, column 2 (`y`): nothing there",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
