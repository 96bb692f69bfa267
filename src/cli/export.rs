//! `fieldtrial export`: a trained model for use elsewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::diag::Failure;
use crate::export::export;

use super::trained::TrainedChoice;
use super::{Outcome, Problem, exit_code};

/// Export a trained model: PyTorch code with its weights, or ONNX
///
/// Writes a folder that needs nothing of Fieldtrial: `model.py`, `weights.safetensors`, and where there are files to read or something to
/// draw `prepare.py` and `example.py`. `--to onnx` also runs `to_onnx.py` there with
/// `python3` (or the Python in `FIELDTRIAL_PYTHON`), which needs PyTorch, onnx and onnxruntime.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial export houses --to pytorch prices/
  fieldtrial export reports/flowers flowers-onnx/ --to onnx --cell model=cnn")]
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
    Pytorch,
    Onnx,
}

pub(super) fn run(arguments: &ExportArguments) -> Outcome {
    let trained = arguments.trained.open()?;
    let folder = &arguments.folder;
    let files =
        export(&trained, folder).map_err(|error| Failure::plain(error.to_string(), None))?;
    eprintln!("wrote    {}: {}", folder.display(), files.join(", "));
    if arguments.to == Target::Onnx {
        to_onnx(folder)?;
    }
    Ok(exit_code::GOOD)
}

/// Runs the script that writes `model.onnx`, with what it prints on standard error.
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
        Problem::from(Failure::plain(title, Some(help.to_owned())))
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
