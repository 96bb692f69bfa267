//! [`PredictionFile`]: predictions for rows or images, as CSV.

use std::io::{self, Write};

use csv::{StringRecord, Writer};

use crate::datasets::Features;
use crate::trained::{PredictedRows, Predictions, Trained, present_labels};

/// Writes predictions as they are computed: one row each, with row number or file name, the prediction, and for classes
/// and labels all probabilities.
pub struct PredictionFile<'a> {
    trained: &'a Trained,
    writer: Writer<&'a mut dyn Write>,
    record: StringRecord,
    rows: usize,
}

impl<'a> PredictionFile<'a> {
    /// Writes predictions of `trained` as CSV to `out`; the header is written with the first rows.
    pub fn new(trained: &'a Trained, out: &'a mut dyn Write) -> Self {
        Self {
            trained,
            writer: Writer::from_writer(out),
            record: StringRecord::new(),
            rows: 0,
        }
    }

    /// Writes some rows; returns the number of rows written so far.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(&mut self, part: &PredictedRows<'_>) -> io::Result<usize> {
        if self.rows == 0 {
            self.writer.write_record(header(self.trained))?;
        }
        let rows = part.sources.len();
        self.rows += rows;
        for (at, source) in part.sources.iter().enumerate() {
            self.record.clear();
            self.record.push_field(source);
            self.push(part.predictions, at, rows);
            self.writer.write_record(&self.record)?;
        }
        Ok(self.rows)
    }

    /// Flushes the buffer; returns the total number of rows written.
    ///
    /// # Errors
    /// Those of writing.
    pub fn end(mut self) -> io::Result<usize> {
        self.writer.flush()?;
        Ok(self.rows)
    }

    /// Adds the predictions for row `at` to the record; `predictions` contains `rows` rows.
    fn push(&mut self, predictions: &Predictions, at: usize, rows: usize) {
        match predictions {
            Predictions::Classes(all) => {
                let own = own(all, at, rows);
                let mut best = 0;
                for (class, probability) in own.iter().enumerate() {
                    if *probability > own[best] {
                        best = class;
                    }
                }
                match self.trained.class_names.get(best) {
                    Some(name) => self.record.push_field(name),
                    None => self.record.push_field(&best.to_string()),
                }
                self.record.extend(own.iter().map(ToString::to_string));
            }
            Predictions::Labels(all) => {
                let own = own(all, at, rows);
                let there = present_labels(self.trained.label_names(), own);
                self.record.push_field(&there);
                self.record.extend(own.iter().map(ToString::to_string));
            }
            // Values are printed as `f32`, the type in which they were computed.
            Predictions::Values(all) => {
                let own = own(all, at, rows).iter();
                self.record
                    .extend(own.map(|value| (*value as f32).to_string()));
            }
        }
    }
}

/// The values of row `at` in `all`, which contains `rows` rows one after another.
fn own<T>(all: &[T], at: usize, rows: usize) -> &[T] {
    let width = all.len() / rows;
    &all[at * width..(at + 1) * width]
}

/// Names of the columns: the first identifies the input (row number or file).
fn header(trained: &Trained) -> Vec<String> {
    let source = match trained.run.features {
        Features::Image(_) => "file",
        _ => "row",
    };
    let mut names = vec![source.to_owned()];
    let labels = trained.label_names();
    if trained.run.target.values_len() == 0 || !labels.is_empty() {
        names.push("prediction".to_owned());
        let all = trained.class_names.iter().chain(labels);
        names.extend(all.map(|name| format!("p_{name}")));
    }
    names.extend(trained.prediction_names());
    names
}
