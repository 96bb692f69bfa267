//! [`CostlyEvaluation`]: the costly evaluation (sampling, verification, selection) after training, with the final
//! weights.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::TrainError;
use crate::base::Seed;
use crate::base::hash::Digest;
use crate::base::png;
use crate::datasets::OpenDataset;
use crate::event::{Emit, Event, Metrics, Sample};
use crate::ops::Kernels;
use crate::plan::ValidationSpec;
use crate::tasks::{Assessment, AssessmentInputs, Image, Task};

/// Minimum time between two progress events.
const PROGRESS: Duration = Duration::from_millis(100);

/// Inputs of the costly evaluation (sampling, verification, selection) after training.
pub(super) struct CostlyEvaluation {
    /// The data with its splits.
    pub(super) data: OpenDataset,
    pub(super) seed: Seed,
    /// The cell's settings of validation, with the requested evaluations.
    pub(super) wanted: Arc<ValidationSpec>,
    /// Folder to which images are written.
    pub(super) folder: PathBuf,
}

impl CostlyEvaluation {
    /// Evaluates `task` and writes its images; returns its metrics, or `None` if there were neither metrics nor images.
    pub(super) fn assess<D: Kernels>(
        &self,
        task: &mut dyn Task<D>,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Metrics>, TrainError> {
        let assess = AssessmentInputs {
            data: &self.data,
            seed: self.seed,
            sampling: self.wanted.sampling.as_ref(),
            verification: self.wanted.verification.as_ref(),
            selection: self.wanted.selection.as_ref(),
        };
        let mut told = Instant::now();
        let mut progress = |what: &str, done: usize, of: usize| {
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                let what = what.to_owned();
                emit(Event::Assessing { what, done, of });
            }
        };
        let mut found = Assessment::new(&mut progress);
        task.assess(&assess, &mut found)?;
        let (metrics, images) = found.into_parts();
        if metrics.is_empty() && images.is_empty() {
            return Ok(None);
        }
        for image in images {
            emit(Event::Sample(self.write(image)?));
        }
        Ok(Some(metrics))
    }

    fn write(&self, image: Image) -> Result<Sample, TrainError> {
        let unwritable = |reason| TrainError::Unwritable {
            path: self.folder.display().to_string(),
            reason,
        };
        let file = png::encode(image.width, image.height, &image.pixels).map_err(unwritable)?;
        Ok(Sample {
            name: image.name,
            caption: image.caption,
            digest: Digest::new().with(&file).short(),
            path: write_new(&self.folder, &file).map_err(unwritable)?,
        })
    }
}

/// Writes a PNG file under an unused name; on an error no file remains.
fn write_new(folder: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix("sample-")
        .suffix(".png")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    let (_, path) = file.keep()?;
    Ok(path)
}
