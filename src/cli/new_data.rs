//! [`NewData`]: data for a trained model, in a file or a folder or on standard input; [`refuse_overwriting_inputs`].

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::datasets::{DatasetSpec, is_data};
use crate::diag::Failure;
use crate::trained::{Trained, TrainedError};

use super::Problem;
use super::problem::mistake_with_help;
use super::trained::problem_as;

/// New data for a trained model: a file, a folder, or standard input.
#[derive(Debug)]
pub(super) struct NewData {
    path: PathBuf,
    /// A temporary copy of standard input, because parts of a table are read twice.
    copy: Option<NamedTempFile>,
}

impl NewData {
    /// The data at `given`; `-` is standard input, which is read to its end.
    pub(super) fn open(given: &Path, trained: &Trained) -> Result<Self, Problem> {
        if given != Path::new("-") {
            return Ok(Self {
                path: given.to_owned(),
                copy: None,
            });
        }
        let dataset = &*trained.run.cell.dataset;
        if !matches!(dataset, DatasetSpec::Csv(_) | DatasetSpec::Text(_)) {
            let title = format!(
                "a model of a dataset `{}` reads no standard input",
                dataset.kind()
            );
            return Err(mistake_with_help(title, "name a file or a folder"));
        }
        let copied = || {
            let mut copy = NamedTempFile::new()?;
            io::copy(&mut io::stdin().lock(), &mut copy)?;
            Ok(copy)
        };
        let copy = copied().map_err(|error: io::Error| {
            Failure::without_source(format!("cannot read standard input: {error}"), None)
        })?;
        Ok(Self {
            path: copy.path().to_owned(),
            copy: Some(copy),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An error about the data, which are named as the user named them.
    pub(super) fn problem(&self, error: TrainedError) -> Problem {
        let path = self.path.display().to_string();
        problem_as(error, |text| match self.copy {
            Some(_) => text.replace(&path, "-"),
            None => text,
        })
    }
}

/// Refuses to write to `out` what would replace a file that was read: `data`, the model, or its training data.
pub(super) fn refuse_overwriting_inputs(
    out: &Path,
    trained: &Trained,
    data: Option<&Path>,
) -> Result<(), Problem> {
    let what = if data.is_some_and(|data| is_data(data, out)) {
        "the data that are predicted for"
    } else if trained.run.cell.dataset.reads(out) {
        "data that the model was trained on"
    } else if is_data(&trained.path, out) {
        "the model"
    } else {
        return Ok(());
    };
    let title = format!("`{}` would be overwritten: it is {what}", out.display());
    Err(mistake_with_help(
        title,
        "nothing is written; name another place by `--out`",
    ))
}
