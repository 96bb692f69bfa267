//! A table in CSV files.
//!
//! ```text
//!  files, reading ─▶ rows of texts ─scan─▶ values ─parse─▶ columns ─rows─▶ splits ─prepare─▶ features
//!        guess ─▶ what `new` writes         └─▶ mistakes   └─▶ leaks
//! ```

mod columns;
mod dates;
mod files;
mod guess;
mod leaks;
mod mistakes;
mod new_rows;
#[cfg_attr(not(feature = "parquet"), path = "parquet_absent.rs")]
mod parquet;
mod parse;
mod prepare;
mod reading;
mod rows;
mod scan;
mod seen;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::held_out;
use super::{
    DatasetError, DatasetFacts, Features, FilePaths, FingerprintCache, OpenDataset, Part,
    TargetColumns,
};
use crate::base::Seed;
use crate::manifest::is_default;
use columns::Columns;
use files::DataFile;
use parse::Outline;
use reading::SEPARATORS;

pub use columns::{ColumnSpec, Missing};
pub use dates::DatePart;
pub use guess::{ColumnGuess, CsvGuess};
pub(super) use new_rows::for_each_part;
pub use parquet::is_contained as is_contained_panic;
pub use rows::RowsSpec;
pub(super) use scan::{label, number};

/// A table in CSV files with a header: one column is the target, the others are features: numbers, or what `columns` says.
///
/// Rows are split by the run's seed; each class in proportion where the target is a class. Statistics for
/// normalisation, and what stands for missing values, are those of the training rows alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsvSpec {
    /// The file, CSV or Parquet, relative to the manifest; or several with the same columns, whose rows follow one another: a list, or a pattern such as
    /// `"../data/part-*.csv"`, whose files come by name.
    pub path: FilePaths,
    /// Name of the column that is to be predicted, or of several columns of numbers, `["width", "height"]`, or of labels.
    pub target: TargetColumns,
    /// Whether the target is a class, each different text (or number) one of them; of several columns, whether each is a label that a
    /// row has or not: 1 or 0, `true` or `false`. Otherwise it is a number to predict.
    #[serde(default)]
    pub classes: bool,
    /// Columns that are no features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// What separates columns: `,`, `;`, `|` or a tab (`"\t"`).
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = ","))]
    pub separator: Separator,
    /// What separates the fraction of a number.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "."))]
    pub decimal: Decimal,
    /// Texts that stand for a missing value, beside nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<String>,
    /// What columns are that are not a number in every row, by name: `city = { category = true }`; docs/tables.md.
    #[serde(default, skip_serializing_if = "Columns::is_empty")]
    pub columns: Columns,
    /// Which rows are held out, where they are not drawn from the run's seed: `{ by = "date" }`, `{ group = "customer" }`,
    /// `{ column = "part" }`, or files of their own, `{ validation = "v.csv", test = "t-*.csv" }`; docs/tables.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<RowsSpec>,
    /// Share of the rows to validate on, drawn from the run's seed.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub validation: f64,
    /// Share of the rows to test on, drawn from the run's seed.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub test: f64,
    /// Whether features (and a target that is a number) are normalised by the training rows' mean and standard deviation.
    #[serde(default = "default_true")]
    pub normalise: bool,
}

/// What separates the fraction of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Decimal {
    /// `1.5`.
    #[default]
    #[serde(rename = ".")]
    Point,
    /// `1,5`.
    #[serde(rename = ",")]
    Comma,
}

/// What separates columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Separator(pub char);

impl Default for Separator {
    fn default() -> Self {
        Self(',')
    }
}

fn default_share() -> f64 {
    0.15
}

fn default_true() -> bool {
    true
}

impl CsvSpec {
    pub(super) fn facts(&self, cache: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        if !SEPARATORS.contains(&self.separator.0) {
            return Err(DatasetError::Mismatch(format!(
                "`separator` is `,`, `;`, `|` or a tab (`\"\\t\"`), not `{}`",
                self.separator.0.escape_debug()
            )));
        }
        let files = DataFile::all(self)?;
        let absent = files
            .iter()
            .filter_map(|file| cache.file_digest(&file.path).err());
        if let Some(error) = absent.reduce(DatasetError::and) {
            return Err(error);
        }
        let named = files.iter().map(|file| {
            let part = match file.part {
                Part::Train => "table",
                Part::Validation => "validation",
                Part::Test => "test",
            };
            (part, file.path.as_path())
        });
        let fingerprint = cache.files_digest(named)?;
        let outline = self.outline(cache, &files, &fingerprint)?;
        let [validation, test] = match outline.held_out {
            Some(held_out) => held_out,
            None => held_out(outline.rows, self.validation, self.test)?,
        };
        let sizes = [outline.rows - validation - test, validation, test];
        let len = outline.columns;
        let (form, target) = (Features::Vector { len }, outline.target(self));
        let facts = DatasetFacts::new(sizes, form, target, Some(fingerprint));
        Ok(DatasetFacts {
            remarks: outline.remarks,
            ..facts
        })
    }

    /// Whether each target column is a label that a row has or not.
    pub(super) fn predicts_labels(&self) -> bool {
        self.classes && self.target.len() > 1
    }

    /// The outline of the files. They are read once, then the cache is used.
    fn outline(
        &self,
        cache: &mut FingerprintCache,
        files: &[DataFile],
        fingerprint: &str,
    ) -> Result<Outline, DatasetError> {
        let read_as = Self {
            path: FilePaths::default(),
            normalise: true,
            ..self.clone()
        };
        let mut read_as = serde_json::to_string(&read_as).unwrap_or_default();
        if files.len() > 1 {
            // The cache knows of changes of the first file alone.
            read_as += fingerprint;
        }
        let name = format!("csv {}", crate::base::hash::short_hash(&read_as));
        let mut read = None;
        let known = cache.cached_fact(&files[0].path, &name, || {
            let outline = parse::outline(self)?;
            let text = serde_json::to_string(&outline).unwrap_or_default();
            read = Some(outline);
            Ok(text)
        })?;
        read.or_else(|| serde_json::from_str(&known).ok())
            .map_or_else(|| parse::outline(self), Ok)
    }

    pub(super) fn open(&self, seed: Seed) -> Result<OpenDataset, DatasetError> {
        let parsed = parse::read(self)?;
        let splits = rows::splits(self, &parsed, seed)?;
        let table = prepare::table(self, parsed, &splits.train)?;
        Ok(OpenDataset::new(table, splits))
    }
}

#[cfg(test)]
mod new_rows_tests;
#[cfg(all(test, feature = "parquet"))]
mod parquet_tests;
#[cfg(test)]
mod sklearn;
#[cfg(test)]
mod tests;
