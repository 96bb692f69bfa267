//! Exports a model as PyTorch code with its weights (which ONNX export builds on), and results as tables or for MLflow.
//!
//! Owns [`export_csv`], [`export_mlflow`] and [`export()`]. The last writes a folder that can be used without
//! Fieldtrial: `model.py` (the model as plain `torch.nn`, written by `pytorch.rs` and `built_in.rs`),
//! `weights.safetensors`, `to_onnx.py` and `README.md`; for most data also `example.py` and, where needed, `prepare.py`
//! and `preparation.json` (sizes, names, and values that were fitted to the training rows).

mod built_in;
mod mlflow;
mod preparation;
mod pytorch;
mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::layers::checkpoint::{self, CheckpointError, Metadata};
use crate::results::{ResultsError, create_folder, pretty_json, write_if_changed};
use crate::trained::Trained;

pub use mlflow::export_mlflow;
use preparation::{Kind, KindFiles};
pub use tables::export_csv;

/// Files that every exported model has.
const OWN: [&str; 2] = ["model.py", WEIGHTS];
const WEIGHTS: &str = "weights.safetensors";

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no PyTorch code for the model; the message says why.
    #[error("{0}")]
    Unsuited(String),
    /// The folder has files, but no earlier export.
    #[error("`{}` has files and is not an earlier export; nothing was written, choose another folder", .0.display())]
    Taken(PathBuf),
    /// The weights cannot be read or written.
    #[error(transparent)]
    Weights(#[from] CheckpointError),
    /// The results cannot be read, or a file cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Writes PyTorch code and weights into `folder`, which must be absent, empty or an earlier export. Returns the names
/// of the files.
///
/// # Errors
/// There is no PyTorch code for the model, the folder has other files, or writing fails.
pub fn export(trained: &Trained, folder: &Path) -> Result<Vec<&'static str>, ExportError> {
    let kind = Kind::of(trained);
    let model = pytorch::model(trained).map_err(ExportError::Unsuited)?;
    let mut files = vec![("model.py", model.into_bytes())];
    if let Some(kind) = kind {
        let spec = preparation::spec(trained, kind);
        files.extend(spec.map(|spec| ("preparation.json", pretty_json(&spec).into_bytes())));
        let KindFiles {
            prepare, example, ..
        } = kind.files();
        if !prepare.is_empty() {
            files.push(("prepare.py", prepare.concat().into_bytes()));
        }
        files.push(("example.py", example.into()));
    }
    files.push(("to_onnx.py", include_bytes!("python/to_onnx.py").into()));
    files.push(("README.md", preparation::readme(trained, kind).into_bytes()));
    let weights = checkpoint::read(&trained.path)?;
    check(folder, &OWN)?;
    for (name, bytes) in &files {
        write(folder, name, bytes)?;
    }
    // The checkpoint's other metadata describe the run and are useless outside of Fieldtrial, so they are left out.
    let metadata = Metadata::from([
        ("format".to_owned(), "pt".to_owned()),
        ("key".to_owned(), trained.run.cell.key.clone()),
        ("seed".to_owned(), trained.seed.to_string()),
    ]);
    checkpoint::write(&folder.join(WEIGHTS), &weights, &metadata)?;
    let names = files.into_iter().map(|(name, _)| name);
    Ok(names.chain([WEIGHTS]).collect())
}

/// Writes a file in `folder`; creates missing folders.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
    let path = folder.join(name);
    create_folder(path.parent().unwrap_or(folder))?;
    write_if_changed(&path, bytes)?;
    Ok(())
}

/// Checks that no other files would be overwritten: the folder is absent or empty, or has the files `own` of an earlier
/// export.
fn check(folder: &Path, own: &[&str]) -> Result<(), ExportError> {
    let is_export = own.iter().all(|name| folder.join(name).is_file());
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(ResultsError::unwritable(folder)(error).into()),
    };
    if is_export || is_empty {
        return Ok(());
    }
    Err(ExportError::Taken(folder.to_owned()))
}
