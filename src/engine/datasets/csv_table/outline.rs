//! [`Outline`]: size, target and warnings of a table, which the planner needs.

use serde::{Deserialize, Serialize};

use super::super::{DatasetError, FilePaths, FingerprintCache, Target};
use super::CsvSpec;
use super::files::DataFile;
use super::leaks::remarks;
use super::parse::{self, MAX_CATEGORIES};
use super::rows::splits;
use crate::base::Seed;
use crate::base::hash::short_hash;

/// Size of a table, without its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Outline {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) target: Target,
    /// Rows to validate and to test on, if the files determine the split.
    pub(super) held_out: Option<[usize; 2]>,
    /// Warnings about data that make results look better than they are.
    pub(super) remarks: Vec<String>,
}

/// The outline of the files. They are read once, then the cache is used.
pub(super) fn of(
    spec: &CsvSpec,
    cache: &mut FingerprintCache,
    files: &[DataFile],
    fingerprint: &str,
) -> Result<Outline, DatasetError> {
    let read_as = CsvSpec {
        path: FilePaths::default(),
        normalise: true,
        ..spec.clone()
    };
    let mut read_as = serde_json::to_string(&read_as).unwrap_or_default();
    if files.len() > 1 {
        // The cache only checks the first file for changes, so the others' fingerprints are part of the key.
        read_as += fingerprint;
    }
    let name = format!("csv {}", short_hash(&read_as));
    cache.cached_fact(&files[0].path, &name, || read(spec))
}

/// Counts rows, kinds and classes and checks every value.
fn read(spec: &CsvSpec) -> Result<Outline, DatasetError> {
    let parsed = parse::read(spec)?;
    let (rows, layout) = (parsed.rows, &parsed.layout);
    let mut columns = 0;
    for (column, raw) in &parsed.columns {
        let (name, kinds) = (&layout.names[*column], raw.kinds());
        if kinds > MAX_CATEGORIES {
            return Err(DatasetError::Mismatch(format!(
                "`columns`: `{name}` has {kinds} kinds in {rows} rows, and a category at most {MAX_CATEGORIES}: leave it out by `ignore`"
            )));
        }
        columns += layout.width(*column, kinds);
    }
    let splits = spec.split.as_ref().map(|_| splits(spec, &parsed, Seed(0)));
    let splits = splits.transpose()?;
    Ok(Outline {
        rows,
        columns,
        target: parsed.targets.form,
        held_out: splits
            .as_ref()
            .map(|rows| [rows.validation.len(), rows.test.len()]),
        remarks: remarks(spec, &parsed, splits.as_ref()),
    })
}
