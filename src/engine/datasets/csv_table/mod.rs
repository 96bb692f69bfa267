//! A table of numbers in a CSV file.

mod guess;
mod parse;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::{held_out, take_stratified};
use super::table::{Table, normalise, statistics};
use super::{DatasetError, DatasetFacts, Features, FingerprintCache, OpenDataset, Splits, Target};
use crate::base::Seed;
use parse::{Outline, Parsed};

pub use guess::CsvGuess;

/// A table of numbers in a CSV file with a header: one column is the target, the others are features.
///
/// Rows are split by the run's seed; each class in proportion where the target is a class. Statistics for
/// normalisation are those of the training rows alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsvSpec {
    /// The file, relative to the manifest.
    pub path: PathBuf,
    /// Name of the column that is to be predicted.
    pub target: String,
    /// Whether the target is a class, each different text (or number) one of them. Otherwise it is a number to predict.
    #[serde(default)]
    pub classes: bool,
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

fn default_share() -> f64 {
    0.15
}

fn default_true() -> bool {
    true
}

impl CsvSpec {
    pub(super) fn facts(&self, cache: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        let fingerprint = cache.files_digest([("table", self.path.as_path())])?;
        let outline = self.outline(cache)?;
        let [validation, test] = held_out(outline.rows, self.validation, self.test)?;
        let sizes = [outline.rows - validation - test, validation, test];
        let len = outline.columns;
        let (form, target) = (Features::Vector { len }, outline.target());
        Ok(DatasetFacts::new(sizes, form, target, Some(fingerprint)))
    }

    /// The outline of the file. The file is read once, then the cache is used.
    fn outline(&self, cache: &mut FingerprintCache) -> Result<Outline, DatasetError> {
        let name = format!("csv {} {}", self.classes, self.target);
        let mut read = None;
        let known = cache.cached_fact(&self.path, &name, || {
            let outline = parse::outline(self)?;
            read = Some(outline);
            Ok(outline.text())
        })?;
        read.or_else(|| Outline::of_text(&known))
            .map_or_else(|| parse::outline(self), Ok)
    }

    pub(super) fn open(&self, seed: Seed) -> Result<OpenDataset, DatasetError> {
        let parsed = parse::read(self)?;
        let splits = self.split(&parsed, seed)?;
        let mut table = parsed.into_table();
        if self.normalise {
            normalise_by(&mut table, &splits.train);
        }
        Ok(OpenDataset::new(table, splits))
    }

    fn split(&self, parsed: &Parsed, seed: Seed) -> Result<Splits, DatasetError> {
        let [validation, test] = held_out(parsed.rows, self.validation, self.test)?;
        if !self.classes {
            return Ok(Splits::random(parsed.rows, validation, test, seed));
        }
        let (labels, classes) = (&parsed.labels, parsed.class_names.len());
        let mut train: Vec<u32> = (0..parsed.rows as u32).collect();
        let test = take_stratified(&mut train, labels, classes, test, 0, seed);
        let validation = take_stratified(&mut train, labels, classes, validation, 1, seed);
        Ok(Splits {
            train,
            validation,
            test,
        })
    }
}

/// Normalises features and numeric target by the statistics of `rows`; a column constant there is only centred.
fn normalise_by(table: &mut Table, rows: &[u32]) {
    let scale = |values: &[f32], width, column| {
        let (mean, std) = statistics(values, width, column, rows);
        (mean, if std == 0.0 { 1.0 } else { std })
    };
    let width = table.form.len();
    for column in 0..width {
        let scale = scale(&table.features, width, column);
        let scale = normalise(&mut table.features, width, column, scale);
        table.normalisation.features.push(scale);
    }
    if let Target::Values { .. } = table.target {
        let scale = scale(&table.values, 1, 0);
        table.normalisation.target = Some(normalise(&mut table.values, 1, 0, scale));
    }
}

#[cfg(test)]
mod tests;
