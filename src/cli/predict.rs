//! `fieldtrial predict`: what a trained model says about new data.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::temporary;
use crate::base::text::count;
use crate::base::units::human_integer;
use crate::progress::Spinner;
use crate::trained::{PredictedRows, Predictions, Trained, predict};

use super::output::Stdout;
use super::trained::{TrainedChoice, problem};
use super::{Outcome, Problem, exit_code};

/// Predict for new rows or images by a trained model
///
/// DATA is a file or folder of the kind that the model was trained on, with or without the target: a table with the same columns in
/// any order, a folder of images or one image. Every row becomes a line: its number in the file (from 0 below the header) or its
/// file, the prediction, and of classes all probabilities (`p_NAME`). Numbers are in the target's own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial predict houses new.csv --out prices.csv
  fieldtrial predict reports/flowers photos/ --cell model=cnn")]
pub(super) struct PredictArguments {
    #[command(flatten)]
    trained: TrainedChoice,
    /// The data
    data: PathBuf,
    /// The CSV file to write; without it, standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &PredictArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    match &arguments.out {
        None => {
            write(arguments, &trained, &mut Stdout::new())?;
        }
        Some(path) => {
            // Nothing half-written is left where it fails.
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let mut file = temporary::create(folder)?;
            let rows = write(arguments, &trained, &mut file)?;
            temporary::keep_as(file, path)?;
            eprintln!("wrote    {}, {}", path.display(), count(rows, "row"));
        }
    }
    Ok(exit_code::GOOD)
}

/// Writes predictions as CSV; returns the number of rows.
fn write(
    arguments: &PredictArguments,
    trained: &Trained,
    out: &mut dyn Write,
) -> Result<usize, Problem> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(header(trained)).map_err(io::Error::from)?;
    let spinner = Spinner::new("predicting");
    let mut rows = 0;
    let mut record = csv::StringRecord::new();
    let device = arguments.trained.device;
    let remarks = predict(trained, &arguments.data, device, &mut |part: PredictedRows<'_>| {
        rows += part.sources.len();
        for (at, source) in part.sources.iter().enumerate() {
            record.clear();
            record.push_field(source);
            push(&mut record, trained, part.predictions, at, part.sources.len());
            writer.write_record(&record)?;
        }
        spinner.say(&format!("{} rows", human_integer(rows as u64)));
        Ok(())
    });
    spinner.clear();
    let remarks = remarks.map_err(problem)?;
    writer.flush()?;
    for remark in remarks {
        eprintln!("note: {remark}");
    }
    Ok(rows)
}

/// Names of the columns: the first is where a row comes from.
fn header(trained: &Trained) -> Vec<String> {
    let source = match trained.run.features {
        crate::datasets::Features::Image(_) => "file",
        _ => "row",
    };
    let mut names = vec![source.to_owned()];
    if trained.run.target.values_len() == 0 {
        names.push("prediction".to_owned());
        names.extend(trained.class_names.iter().map(|name| format!("p_{name}")));
    }
    names.extend(trained.prediction_names());
    names
}

/// Adds the values of row `at` of `rows`.
fn push(
    record: &mut csv::StringRecord,
    trained: &Trained,
    predictions: &Predictions,
    at: usize,
    rows: usize,
) {
    match predictions {
        Predictions::Classes(all) => {
            let width = all.len() / rows;
            let own = &all[at * width..(at + 1) * width];
            let mut best = 0;
            for (class, probability) in own.iter().enumerate() {
                if *probability > own[best] {
                    best = class;
                }
            }
            match trained.class_names.get(best) {
                Some(name) => record.push_field(name),
                None => record.push_field(&best.to_string()),
            }
            own.iter().for_each(|one| record.push_field(&one.to_string()));
        }
        Predictions::Values(all) => {
            let width = all.len() / rows;
            for value in &all[at * width..(at + 1) * width] {
                // As precise as what was computed.
                record.push_field(&(*value as f32).to_string());
            }
        }
    }
}
