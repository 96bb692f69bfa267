//! [`listing`]: the images that a CSV file lists, with their classes or numbers.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, Trim};

use super::super::csv_table::{label, number};
use super::super::{DatasetError, Decimal, Faults, SplitKind};
use super::ImageFolderSpec;
use super::listing::Listing;
use super::parts::folders;
use crate::base::file;
use crate::base::text::count;

/// The CSV file, and the columns of it that are read.
struct Labels<'a> {
    spec: &'a ImageFolderSpec,
    /// Path of the CSV file, for messages.
    path: PathBuf,
    text: &'a str,
    names: Vec<String>,
    /// Indices of the columns that are to be predicted.
    targets: Vec<usize>,
    /// Names of the folders that are splits, each with its split; empty if no folders are splits.
    folders: Vec<(&'static str, SplitKind)>,
}

/// Images, classes, numbers and faults from the rows that have been read.
#[derive(Default)]
struct Rows {
    faults: Faults,
    /// Number of bytes of the file in which line ends have been counted.
    counted: usize,
    line_ends: usize,
    /// For each image that was named, the line that names it.
    seen: HashMap<String, usize>,
    files: Vec<PathBuf>,
    names: Vec<String>,
    parts: Vec<SplitKind>,
    values: Vec<f32>,
    /// The class of each row, with the row's line.
    classes: Vec<(String, usize)>,
}

/// Reads the file `labels` of a dataset: the image in its first column, relative to the dataset's folder, and a class
/// or numbers. Images that the file does not name are not used.
///
/// # Errors
/// [`DatasetError`]: a file that cannot be read, an unknown column; all rows with a mistake, by line and column.
pub(super) fn listing(spec: &ImageFolderSpec, labels: &Path) -> Result<Listing, DatasetError> {
    let path = spec.path.join(labels);
    let bytes = file::read(&path).map_err(|error| DatasetError::unreadable(&path, &error))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + line_ends(&bytes[..error.valid_up_to()]);
        faulty(
            &path,
            Faults::one(format!("in line {line}"), "not UTF-8".to_owned()),
        )
    })?;
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| unreadable(&path, &error))?;
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    let labels = Labels {
        targets: targets(spec, &path, &names)?,
        folders: folders(&spec.path)?,
        spec,
        path,
        text,
        names,
    };
    let (mut rows, mut record) = (Rows::default(), StringRecord::new());
    while reader
        .read_record(&mut record)
        .map_err(|error| unreadable(&labels.path, &error))?
    {
        labels.add(&mut rows, &record);
    }
    labels.finish(rows)
}

/// Indices of the columns that are to be predicted.
fn targets(
    spec: &ImageFolderSpec,
    path: &Path,
    names: &[String],
) -> Result<Vec<usize>, DatasetError> {
    let mismatch = |text: String| Err(DatasetError::Mismatch(text));
    let written = path.display();
    let columns = match names {
        [] | [_] => {
            return mismatch(format!(
                "`{written}` needs a header of at least two columns, separated by commas: the image's file, then what is to be predicted"
            ));
        }
        [_, columns @ ..] => columns,
    };
    if spec.target.is_empty() {
        return match columns {
            [_] => Ok(vec![1]),
            _ => mismatch(format!(
                "`labels` has the columns `{}`: `target` says which are to be predicted",
                columns.join("`, `")
            )),
        };
    }
    let mut targets = Vec::new();
    if let Some(wanted) = spec.target.repeated() {
        return mismatch(format!("`target` names the column `{wanted}` twice"));
    }
    for wanted in spec.target.iter() {
        let Some(place) = columns.iter().position(|name| name == wanted) else {
            return Err(DatasetError::NoColumn {
                path: written.to_string(),
                column: wanted.clone(),
                advice: format!("beside the file it has `{}`", columns.join("`, `")),
                key: "target",
            });
        };
        targets.push(place + 1);
    }
    Ok(targets)
}

impl Labels<'_> {
    /// Adds a row to `rows`, or what is wrong with it to `rows.faults`.
    fn add(&self, rows: &mut Rows, record: &StringRecord) {
        let line = self.line(rows, record);
        if record.len() != self.names.len() {
            let (found, expected) = (count(record.len(), "column"), self.names.len());
            let reason = format!("{found} where the header has {expected}");
            rows.faults.add(|| (format!("in line {line}"), reason));
            return;
        }
        match self.image(rows, &record[0]) {
            Ok((name, part)) => {
                rows.files.push(self.spec.path.join(&name));
                rows.parts.push(part);
                rows.seen.insert(name.clone(), line);
                rows.names.push(name);
            }
            Err(reason) => rows.faults.add(|| (self.place(line, 0), reason)),
        }
        for &column in &self.targets {
            let text = &record[column];
            let are_labels = self.spec.predicts_labels();
            let read = if are_labels { label } else { number };
            let wrong = match read(text, Decimal::Point) {
                _ if text.is_empty() => "nothing there".to_owned(),
                _ if self.spec.classes && !are_labels => {
                    rows.classes.push((text.to_owned(), line));
                    continue;
                }
                Some(number) => {
                    rows.values.push(number);
                    continue;
                }
                None if are_labels => {
                    format!("`{text}` is neither 0 nor 1, as each of several labels is")
                }
                None => format!("`{text}` is not a number"),
            };
            rows.faults.add(|| (self.place(line, column), wrong));
        }
    }

    /// Name (with `/` on every system) and split of the image that `text` names; or what is wrong with it.
    fn image(&self, rows: &Rows, text: &str) -> Result<(String, SplitKind), String> {
        if text.is_empty() {
            return Err("nothing there".to_owned());
        }
        let mut parts = Vec::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(part) => parts.push(part.to_string_lossy()),
                Component::CurDir => {}
                _ => return Err(format!("`{text}` leads out of the dataset's folder")),
            }
        }
        let name = parts.join("/");
        if let Some(first) = rows.seen.get(&name) {
            return Err(format!("`{text}` is also in line {first}"));
        }
        if !self.spec.path.join(&name).is_file() {
            return Err(format!("there is no file `{text}`"));
        }
        if self.folders.is_empty() {
            return Ok((name, SplitKind::Train));
        }
        let first = parts.first().map_or("", |part| &**part);
        let folder = self.folders.iter().find(|(folder, _)| first == *folder);
        let Some(&(_, part)) = folder else {
            let names: Vec<&str> = self.folders.iter().map(|(name, _)| *name).collect();
            let names = names.join("`, `");
            return Err(format!("`{text}` is in none of the folders `{names}`"));
        };
        Ok((name, part))
    }

    /// The listing of all images, or an error with the faults of all rows.
    fn finish(&self, mut rows: Rows) -> Result<Listing, DatasetError> {
        let mut classes: BTreeMap<&str, u32> = BTreeMap::new();
        if rows.faults.is_empty() {
            let trained = rows.classes.iter().zip(&rows.parts);
            let trained = trained.filter(|(_, part)| **part == SplitKind::Train);
            classes = trained.map(|((class, _), _)| (class.as_str(), 0)).collect();
            for (class, line) in &rows.classes {
                if !classes.contains_key(class.as_str()) {
                    let reason = format!("no training image has the class `{class}`");
                    let column = self.targets[0];
                    rows.faults.add(|| (self.place(*line, column), reason));
                }
            }
        }
        if !rows.faults.is_empty() {
            return Err(faulty(&self.path, rows.faults));
        }
        if !rows.parts.contains(&SplitKind::Train) {
            return Err(DatasetError::Mismatch(format!(
                "`{}` names no image to train on",
                self.path.display()
            )));
        }
        for (label, own) in (0..).zip(classes.values_mut()) {
            *own = label;
        }
        let labels = rows
            .classes
            .iter()
            .map(|(class, _)| classes[class.as_str()]);
        Ok(Listing {
            labels: labels.collect(),
            class_names: classes.keys().map(|&class| class.to_owned()).collect(),
            files: rows.files,
            names: rows.names,
            has_validation: self
                .folders
                .iter()
                .any(|(_, part)| *part == SplitKind::Validation),
            parts: rows.parts,
            values: rows.values,
        })
    }

    fn place(&self, line: usize, column: usize) -> String {
        let name = &self.names[column];
        format!("in line {line}, column {} (`{name}`)", column + 1)
    }

    /// The line of a row; the header is line 1. Line ends are counted here, because the reader counts empty lines only
    /// when it reads the next row.
    fn line(&self, rows: &mut Rows, record: &StringRecord) -> usize {
        let text = self.text.as_bytes();
        let start = record.position().map_or(0, csv::Position::byte) as usize;
        let rest = text.get(start..).unwrap_or_default();
        let is_end = |byte: &&u8| matches!(**byte, b'\n' | b'\r');
        let start = start + rest.iter().take_while(is_end).count();
        rows.line_ends += line_ends(text.get(rows.counted..start).unwrap_or_default());
        rows.counted = rows.counted.max(start);
        1 + rows.line_ends
    }
}

fn line_ends(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

fn unreadable(path: &Path, error: &csv::Error) -> DatasetError {
    faulty(path, Faults::one(String::new(), error.to_string()))
}

fn faulty(path: &Path, mut faults: Faults) -> DatasetError {
    faults.key = Some("labels");
    let what = if faults.list().is_empty() {
        "has a mistake"
    } else {
        "has mistakes"
    };
    DatasetError::faulty(path, what, faults)
}
