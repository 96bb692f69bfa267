//! `fieldtrial predict`: predictions of a trained model for new data.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::temporary;
use crate::base::text::count;
use crate::base::units::human_integer;
use crate::device::DeviceKind;
use crate::diag::Failure;
use crate::progress::Spinner;
use crate::results::PredictionFile;
use crate::trained::{Trained, predict};

use super::new_data::{NewData, refuse_overwriting_inputs};
use super::output::Stdout;
use super::trained::TrainedChoice;
use super::{Outcome, Problem, exit_code};

/// Predict for new rows or images by a trained model
///
/// DATA is a file or folder of the kind that the model was trained on, with or without the target: a table with the same columns in
/// any order (`-`: on standard input), a folder of images or one image. Every row becomes a line: its number in the file (from 0 below the header) or its
/// file, the prediction, and of classes and labels all probabilities (`p_NAME`); labels
/// whose probability is above 1/2 are the prediction. Numbers are in the target's own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial predict houses new.csv --out prices.csv
  zcat new.csv.gz | fieldtrial predict houses - | head
  fieldtrial predict reports/flowers photos/ --cell model=cnn")]
pub(super) struct PredictArguments {
    #[command(flatten)]
    trained: TrainedChoice,
    /// The data; `-` for a table on standard input
    data: PathBuf,
    /// The CSV file to write; without it, standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where to compute: `cpu`, `cuda` or `cuda:N`
    #[arg(long, default_value = "cpu")]
    device: DeviceKind,
}

pub(super) fn run(arguments: &PredictArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    if let Some(out) = &arguments.out {
        refuse_overwriting_inputs(out, &trained, Some(&arguments.data))?;
    }
    let data = NewData::open(&arguments.data, &trained)?;
    match &arguments.out {
        None => {
            write(arguments, (&trained, &data), &mut Stdout::new())?;
        }
        Some(path) => {
            let cannot = |error: io::Error| unwritable(path, &error);
            // If writing fails, no half-written file is left.
            let mut file = temporary::create_in_folder_of(path).map_err(cannot)?;
            let rows = write(arguments, (&trained, &data), &mut file)?;
            temporary::keep_as(file, path).map_err(cannot)?;
            eprintln!("wrote    {}, {}", path.display(), count(rows, "row"));
        }
    }
    Ok(exit_code::GOOD)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let reason = match folder.filter(|folder| !folder.exists()) {
        Some(folder) => format!("there is no folder `{}`", folder.display()),
        None => error.kind().to_string(),
    };
    Failure::without_source(format!("cannot write `{}`: {reason}", path.display()), None)
}

/// Writes predictions as CSV; returns the number of rows.
fn write(
    arguments: &PredictArguments,
    (trained, data): (&Trained, &NewData),
    out: &mut dyn Write,
) -> Result<usize, Problem> {
    let mut file = PredictionFile::new(trained, out);
    let spinner = Spinner::new("predicting");
    let device = arguments.device;
    let remarks = predict(trained, data.path(), device, &mut |part| {
        let rows = file.add(&part)?;
        spinner.say(&format!("{} rows", human_integer(rows as u64)));
        Ok(())
    });
    spinner.clear();
    let remarks = remarks.map_err(|error| data.problem(error))?;
    let rows = file.end()?;
    for remark in remarks {
        eprintln!("note: {remark}");
    }
    Ok(rows)
}
