//! `fieldtrial evaluate`: metrics of a trained model on data, and its errors.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::base::units::human;
use crate::device::DeviceKind;
use crate::progress::Spinner;
use crate::results::pretty_json;
use crate::trained::{ConfusionMatrix, Evaluated, SplitResults, evaluate};

use super::new_data::NewData;
use super::output::{Format, Stdout};
use super::table::table;
use super::trained::{TrainedChoice, problem};
use super::{Outcome, exit_code};

/// Largest number of classes of a printed confusion matrix; with more, the most frequent confusions are listed.
const CLASSES: usize = 12;
/// Number of confusions that are listed.
const PAIRS: usize = 10;

/// Evaluate a trained model: metrics, what it confuses, the rows that it predicts worst
///
/// Without DATA, on the rows that were held out when it was trained: the same metrics as in `runs.csv`. With DATA, a file or folder
/// of the same kind that has the target, on all of its rows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial evaluate houses
  fieldtrial evaluate reports/flowers photos-of-july/ --cell model=cnn")]
pub(super) struct EvaluateArguments {
    #[command(flatten)]
    trained: TrainedChoice,
    /// The data; `-` for a table on standard input
    data: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where to compute: `cpu`, `cuda` or `cuda:N`
    #[arg(long, default_value = "cpu")]
    device: DeviceKind,
}

pub(super) fn run(arguments: &EvaluateArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    let data = arguments.data.as_ref();
    let data = data.map(|data| NewData::open(data, &trained)).transpose()?;
    let spinner = Spinner::new("evaluating");
    let found = evaluate(&trained, data.as_ref().map(NewData::path), arguments.device);
    spinner.clear();
    let found = found.map_err(|error| match &data {
        Some(data) => data.problem(error),
        None => problem(error),
    })?;
    let mut out = Stdout::new();
    match arguments.format {
        Format::Json => out.write_all(pretty_json(&found).as_bytes())?,
        Format::Text => out.write_all(text(&found).as_bytes())?,
    }
    out.flush()?;
    for remark in &found.remarks {
        eprintln!("note: {remark}");
    }
    Ok(exit_code::GOOD)
}

fn text(found: &Evaluated) -> String {
    let texts: Vec<String> = found.splits.iter().map(split).collect();
    texts.join("\n")
}

fn split(rows: &SplitResults) -> String {
    let name = match rows.name {
        "val" => "validation rows",
        "test" => "test rows",
        "fresh" => "rows of a second test set",
        _ => "rows",
    };
    let mut text = format!("{} {name}\n", rows.rows);
    let value = |value: &Option<f64>| value.map_or("-".to_owned(), |value| human(value, 6));
    let metrics = rows
        .metrics
        .iter()
        .map(|(name, own)| [name.clone(), value(own)]);
    text += &table(["metric", "value"], metrics, [1]);
    if let Some(confusion) = &rows.confusion {
        text += "\n";
        text += &confused(confusion);
    }
    if !rows.worst.is_empty() {
        let worst = rows.worst.iter().map(|row| {
            let loss = human(row.loss, 4);
            [
                row.source.clone(),
                row.actual.clone(),
                row.predicted.clone(),
                loss,
            ]
        });
        text += "\nThe rows with the largest loss:\n";
        text += &table(["row", "is", "predicted", "loss"], worst, [3]);
    }
    text
}

fn confused(confusion: &ConfusionMatrix) -> String {
    let name = |class: usize| match confusion.classes.get(class) {
        Some(name) => name.clone(),
        None => class.to_string(),
    };
    let classes = confusion.counts.len();
    if classes <= CLASSES {
        let names = (0..classes).map(name);
        let header: Vec<String> = std::iter::once("is \\ predicted".to_owned())
            .chain(names)
            .collect();
        let rows = confusion.counts.iter().enumerate().map(|(class, counts)| {
            let counts = counts.iter().map(u64::to_string);
            std::iter::once(name(class))
                .chain(counts)
                .collect::<Vec<String>>()
        });
        return table(header, rows, 1..=classes);
    }
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    for (actual, counts) in confusion.counts.iter().enumerate() {
        let wrong = counts
            .iter()
            .enumerate()
            .filter(|(class, count)| *class != actual && **count > 0);
        pairs.extend(wrong.map(|(class, count)| (*count, actual, class)));
    }
    pairs.sort_by_key(|(count, actual, class)| (std::cmp::Reverse(*count), *actual, *class));
    let rows = pairs.iter().take(PAIRS);
    let rows = rows.map(|(count, actual, class)| [name(*actual), name(*class), count.to_string()]);
    table(["is", "predicted as", "rows"], rows, [2])
}
