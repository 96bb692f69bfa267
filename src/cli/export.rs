//! `fieldtrial export`: a trained model, or all results, for use elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::diag::Failure;
use crate::export::{export, export_csv, export_mlflow};
use crate::results;

use super::problem::mistake;
use super::trained::TrainedChoice;
use super::{Outcome, Problem, exit_code};

/// Export a trained model (PyTorch, ONNX), or all results (tables with metadata, MLflow)
///
/// `--to pytorch` writes a folder that needs nothing of Fieldtrial: `model.py`, `weights.safetensors`, and where there are files to read or something to
/// draw `prepare.py` and `example.py`. `--to onnx` also runs `to_onnx.py` there with
/// `python3` (or the Python in `FIELDTRIAL_PYTHON`), which needs PyTorch, onnx and onnxruntime.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial export houses --to pytorch prices/
  fieldtrial export reports/flowers flowers-onnx/ --to onnx --cell model=cnn
  fieldtrial export houses tables/ --to csv
  fieldtrial export houses mlruns/ --to mlflow")]
pub(super) struct ExportArguments {
    #[command(flatten)]
    trained: TrainedChoice,
    /// What to write
    #[arg(long, value_enum, default_value_t = Target::Pytorch)]
    to: Target,
    /// The folder to write, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// The model as PyTorch code with its weights
    Pytorch,
    /// The same, and from it `model.onnx`
    Onnx,
    /// All runs in one table for pandas, R and spreadsheets, and one of its columns, with unit, type and meaning
    Csv,
    /// All runs as an experiment in a file store of MLflow
    Mlflow,
}

pub(super) fn run(arguments: &ExportArguments) -> Outcome {
    match arguments.to {
        Target::Pytorch | Target::Onnx => model(arguments),
        Target::Csv | Target::Mlflow => results(arguments),
    }
}

/// Exports all runs of a results folder.
fn results(arguments: &ExportArguments) -> Outcome {
    let results = arguments.trained.results()?;
    let set = results::read(&results).map_err(mistake)?;
    let folder = &arguments.folder;
    let written = if arguments.to == Target::Csv {
        export_csv(&set, folder).map(|files| files.join(", "))
    } else {
        export_mlflow(&set, folder)
    };
    eprintln!(
        "wrote    {}: {}",
        folder.display(),
        written.map_err(mistake)?
    );
    Ok(exit_code::GOOD)
}

fn model(arguments: &ExportArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    let folder = &arguments.folder;
    let files = export(&trained, folder).map_err(mistake)?;
    eprintln!("wrote    {}: {}", folder.display(), files.join(", "));
    if arguments.to == Target::Onnx {
        to_onnx(folder)?;
    }
    Ok(exit_code::GOOD)
}

/// Runs the script that writes `model.onnx`, with its output on standard error.
fn to_onnx(folder: &Path) -> Result<(), Problem> {
    let python = std::env::var_os("FIELDTRIAL_PYTHON").unwrap_or_else(|| "python3".into());
    let ended = Command::new(&python)
        .arg("to_onnx.py")
        .current_dir(folder)
        .output();
    let failed = |why: String| {
        let title = format!(
            "`{}` wrote no model.onnx: {why}",
            folder.join("to_onnx.py").display()
        );
        let help = "it needs PyTorch, onnx and onnxruntime: `pip install torch safetensors onnx onnxruntime`; the PyTorch files are \
                    written";
        Problem::from(Failure::without_source(title, Some(help.to_owned())))
    };
    let ended = ended.map_err(|error| failed(format!("{}: {error}", python.display())))?;
    if ended.status.success() {
        eprint!("{}", String::from_utf8_lossy(&ended.stdout));
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(failed(last.unwrap_or("it said nothing").trim().to_owned()))
}
