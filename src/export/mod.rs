//! A trained model for use elsewhere: PyTorch code with weights, and ONNX by way of it.
//!
//! Owns [`export`], which writes a folder that needs nothing of Fieldtrial: `model.py` (the model as plain `torch.nn`, written by
//! `pytorch.rs`), `weights.safetensors`, and where its data come from files `prepare.py` with `preparation.json` (what was fitted to
//! the training rows) and `example.py`.

mod preparation;
mod pytorch;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::base::temporary;
use crate::results::pretty_json;
use crate::trained::Trained;

use preparation::Kind;

/// Files that every export has.
const OWN: [&str; 2] = ["model.py", "weights.safetensors"];

/// Why a model was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No code can be written for the model.
    #[error("{0}")]
    Unsuited(String),
    /// The folder holds something else.
    #[error("`{}` is not empty and no earlier export: nothing is written there", .0.display())]
    Taken(PathBuf),
    /// A file cannot be written.
    #[error("cannot write `{}`: {reason}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
}

/// Writes PyTorch code and weights into a folder, which is made, is empty or holds an earlier export. Returns the names of the files.
///
/// # Errors
/// Models that have no code, folders with other files, and those of writing.
pub fn export(trained: &Trained, folder: &Path) -> Result<Vec<&'static str>, ExportError> {
    let kind = Kind::of(trained);
    let model = pytorch::model(trained).map_err(ExportError::Unsuited)?;
    let mut files = vec![("model.py", model.into_bytes())];
    if let Some(kind) = kind {
        let spec = pretty_json(&preparation::spec(trained, kind));
        files.push(("preparation.json", spec.into_bytes()));
        files.push(("prepare.py", kind.prepare().into()));
        if let Some(example) = kind.example(trained) {
            files.push(("example.py", example.into()));
        }
    }
    files.push(("to_onnx.py", include_bytes!("python/to_onnx.py").into()));
    files.push(("README.md", preparation::readme(trained, kind).into_bytes()));
    let weights = fs::read(&trained.path).map_err(unwritable(&trained.path))?;
    files.push(("weights.safetensors", weights));
    check(folder)?;
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    for (name, bytes) in &files {
        let path = folder.join(name);
        let written = temporary::create(folder).and_then(|mut file| {
            file.write_all(bytes)?;
            temporary::keep_as(file, &path)
        });
        written.map_err(unwritable(&path))?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = path.to_owned();
    move |reason| ExportError::Unwritable { path, reason }
}

/// Files of somebody else are never overwritten.
fn check(folder: &Path) -> Result<(), ExportError> {
    let is_export = OWN.iter().all(|name| folder.join(name).is_file());
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
