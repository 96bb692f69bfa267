//! A table in CSV files.
//!
//! ```text
//!  files, reading ─▶ rows of texts ─scan─▶ values ─parse─▶ columns ─rows─▶ splits ─prepare─▶ features
//!        guess ─▶ what `new` writes         └─▶ mistakes   └─▶ leaks
//! ```

mod column_spec;
mod dates;
mod files;
mod guess;
mod header;
mod layout;
mod leaks;
mod mistakes;
mod new_rows;
mod number_form;
mod outline;
#[cfg_attr(not(feature = "parquet"), path = "parquet_absent.rs")]
mod parquet;
mod parse;
mod prepare;
mod reading;
mod rows;
mod rows_spec;
mod scan;
mod seen;
mod spec;
mod value;

use std::path::PathBuf;

use super::split::held_out;
use super::{DatasetError, DatasetFacts, Features, FingerprintCache, OpenDataset, SplitKind};
use crate::base::Seed;
use files::DataFile;
use reading::SEPARATORS;

pub use column_spec::{ColumnSpec, Missing};
pub use dates::DatePart;
pub use guess::{ColumnGuess, CsvGuess};
pub use header::HeaderGuess;
pub(super) use new_rows::for_each_part;
pub use parquet::is_converting_panic;
pub use rows_spec::TableSplitSpec;
pub use spec::{CsvSpec, Separator};
pub use value::{Decimal, Thousands};
pub(super) use value::{label, number};

impl CsvSpec {
    /// The files of the table; empty if they cannot be found.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let files = DataFile::all(self).unwrap_or_default();
        files.into_iter().map(|file| file.path).collect()
    }

    pub(super) fn facts(&self, cache: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        if !SEPARATORS.contains(&self.separator.0) {
            return Err(DatasetError::Mismatch(format!(
                "`separator` is `,`, `;`, `|` or a tab (`\"\\t\"`), not `{}`",
                self.separator.0.escape_debug()
            )));
        }
        let own = match self.decimal {
            Decimal::Point => Thousands::Point,
            Decimal::Comma => Thousands::Comma,
        };
        if self.units.iter().any(String::is_empty) {
            let text =
                "`units` has an empty text; a unit is one sign or more, as in `units = [\"$\"]`";
            return Err(DatasetError::Mismatch(text.to_owned()));
        }
        if self.thousands == Some(own) {
            let text = "`thousands` and `decimal` are the same: one of them separates the fraction of a number";
            return Err(DatasetError::Mismatch(text.to_owned()));
        }
        let files = DataFile::all(self)?;
        let absent = files
            .iter()
            .filter_map(|file| cache.file_digest(&file.path).err());
        if let Some(error) = absent.reduce(DatasetError::merge_errors) {
            return Err(error);
        }
        let named = files.iter().map(|file| {
            let part = match file.part {
                SplitKind::Train => "table",
                SplitKind::Validation => "validation",
                SplitKind::Test => "test",
            };
            (part, file.path.as_path())
        });
        let fingerprint = cache.files_digest(named)?;
        let outline = outline::of(self, cache, &files, &fingerprint)?;
        let [validation, test] = match outline.held_out {
            Some(held_out) => held_out,
            None => held_out(outline.rows, self.validation, self.test)?,
        };
        let sizes = [outline.rows - validation - test, validation, test];
        let len = outline.columns;
        let (form, target) = (Features::Vector { len }, outline.target);
        let facts = DatasetFacts::new(sizes, form, target, Some(fingerprint));
        Ok(DatasetFacts {
            remarks: outline.remarks,
            ..facts
        })
    }

    pub(super) fn open(&self, seed: Seed) -> Result<OpenDataset, DatasetError> {
        let parsed = parse::read(self)?;
        let splits = rows::splits(self, &parsed, seed)?;
        let table = prepare::table(self, parsed, &splits.train)?;
        Ok(OpenDataset::new(table, splits))
    }
}

#[cfg(test)]
mod guess_tests;
#[cfg(test)]
mod new_rows_tests;
#[cfg(all(test, feature = "parquet"))]
mod parquet_tests;
#[cfg(test)]
mod sklearn;
#[cfg(test)]
mod tests;
