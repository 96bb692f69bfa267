//! Exports results: a model as PyTorch code with weights (and through it ONNX), results as tables or for MLflow.
//!
//! Owns [`export_csv`], [`export_mlflow`] and [`export()`], which writes a folder that can be used without Fieldtrial:
//! `model.py` (the model as plain `torch.nn`, written by `pytorch.rs` and `built_in.rs`), `weights.safetensors`, and,
//! if its data come from files, `prepare.py` with `preparation.json` (what was fitted to the training rows) and
//! `example.py`.

mod built_in;
mod mlflow;
mod preparation;
mod pytorch;
mod tables;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::base::temporary;
use crate::layers::checkpoint::{self, CheckpointError, Metadata};
use crate::results::{ResultsError, pretty_json};
use crate::trained::Trained;

pub use mlflow::export_mlflow;
use preparation::Kind;
pub use tables::export_csv;

/// Files that every export has.
const OWN: [&str; 2] = ["model.py", WEIGHTS];
const WEIGHTS: &str = "weights.safetensors";

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No code can be written for the model.
    #[error("{0}")]
    Unsuited(String),
    /// The folder contains other files.
    #[error("`{}` is not empty and no earlier export: nothing is written there", .0.display())]
    Taken(PathBuf),
    /// The weights cannot be read or written.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
    /// The results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A file cannot be written.
    #[error("cannot write `{}`: {reason}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
}

/// Writes PyTorch code and weights into a folder, which must be absent, empty or an earlier export. Returns the names
/// of the files.
///
/// # Errors
/// The model has no such code, the folder contains other files, or writing fails.
pub fn export(trained: &Trained, folder: &Path) -> Result<Vec<&'static str>, ExportError> {
    let kind = Kind::of(trained);
    let model = pytorch::model(trained).map_err(ExportError::Unsuited)?;
    let mut files = vec![("model.py", model.into_bytes())];
    if let Some(kind) = kind {
        let spec = preparation::spec(trained, kind);
        files.extend(spec.map(|spec| ("preparation.json", pretty_json(&spec).into_bytes())));
        let prepare = kind.prepare();
        files.extend(prepare.map(|text| ("prepare.py", text.into_bytes())));
        files.push(("example.py", kind.example().into()));
    }
    files.push(("to_onnx.py", include_bytes!("python/to_onnx.py").into()));
    files.push(("README.md", preparation::readme(trained, kind).into_bytes()));
    let weights = checkpoint::read(&trained.path)?;
    check(folder, &OWN)?;
    for (name, bytes) in &files {
        write(folder, name, bytes)?;
    }
    // Leaves out settings of the run, which are meaningless outside of Fieldtrial.
    let metadata = Metadata::from([
        ("format".to_owned(), "pt".to_owned()),
        ("key".to_owned(), trained.run.cell.key.clone()),
        ("seed".to_owned(), trained.seed.to_string()),
    ]);
    checkpoint::write(&folder.join(WEIGHTS), &weights, &metadata)?;
    let names = files.into_iter().map(|(name, _)| name);
    Ok(names.chain([WEIGHTS]).collect())
}

fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = path.to_owned();
    move |reason| ExportError::Unwritable { path, reason }
}

/// Writes a file below a folder, and creates missing folders.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(unwritable(parent))?;
    let written = temporary::replace(&path, |file| file.write_all(bytes));
    written.map_err(unwritable(&path))
}

/// Checks that no other files would be overwritten: the folder is empty, or contains the files of an earlier export of
/// this kind.
fn check(folder: &Path, own: &[&str]) -> Result<(), ExportError> {
    let is_export = own.iter().all(|name| folder.join(name).is_file());
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(unwritable(folder)(error)),
    };
    if is_export || is_empty {
        return Ok(());
    }
    Err(ExportError::Taken(folder.to_owned()))
}
