//! [`AssessmentInputs`] and [`Assessment`]: costly evaluation after training, once per cell and seed.

use std::collections::BTreeMap;

use super::{SamplingSpec, SelectionSpec, VerificationSpec};
use crate::base::Seed;
use crate::datasets::OpenDataset;

/// Inputs of an assessment (costly evaluation after training).
#[derive(Clone, Copy)]
pub struct AssessmentInputs<'a> {
    /// The opened dataset of the cell.
    pub data: &'a OpenDataset,
    /// Seed of the run.
    pub seed: Seed,
    /// Settings of the images to sample; `None`: no images are sampled.
    pub sampling: Option<&'a SamplingSpec>,
    /// Settings of the verification of generated signals; `None`: no verification.
    pub verification: Option<&'a VerificationSpec>,
    /// Settings of the selection of photomultipliers; `None`: no selection.
    pub selection: Option<&'a SelectionSpec>,
}

/// Result of an assessment: metrics by name (`None` if not finite), and images.
pub struct Assessment<'a> {
    metrics: BTreeMap<String, Option<f64>>,
    images: Vec<Image>,
    progress: &'a mut dyn FnMut(&str, usize, usize),
}

/// Request for generated images ([`Task::draw`](super::Task::draw)).
#[derive(Debug, Clone, Copy)]
pub struct ImageRequest<'a> {
    /// Settings of the sampling; only the first of its samplers is used.
    pub spec: &'a SamplingSpec,
    /// Seed of the noise.
    pub seed: Seed,
    /// Number of images. Image `i` is of class `i` modulo the number of classes.
    pub count: usize,
}

/// Called with the number of finished parts of an assessment, and the number of all its parts.
pub type AssessmentProgress<'a> = &'a mut dyn FnMut(usize, usize);

/// An image of 8 bits per channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Name, unique in its run, in kebab-case: part of the file name.
    pub name: String,
    /// Caption for the report, one sentence.
    pub caption: String,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// RGB values, row by row from the top: `(height, width, 3)`.
    pub pixels: Vec<u8>,
}

impl<'a> Assessment<'a> {
    /// An empty result. `progress` gets the name of an evaluation, the number of its finished parts and of all its
    /// parts.
    pub fn new(progress: &'a mut dyn FnMut(&str, usize, usize)) -> Self {
        Self {
            metrics: BTreeMap::new(),
            images: Vec::new(),
            progress,
        }
    }

    /// Adds a metric; a value that is not finite is stored as `None`.
    pub fn add_metric(&mut self, name: impl Into<String>, value: f64) {
        let value = value.is_finite().then_some(value);
        self.metrics.insert(name.into(), value);
    }

    /// Adds an image.
    pub fn add_image(&mut self, image: Image) {
        self.images.push(image);
    }

    /// Reports the progress of the evaluation `what`: `done` of `of` parts are finished.
    pub fn progress(&mut self, what: &str, done: usize, of: usize) {
        (self.progress)(what, done, of);
    }

    /// Metrics by name, and images in the order in which they were added.
    pub fn into_parts(self) -> (BTreeMap<String, Option<f64>>, Vec<Image>) {
        (self.metrics, self.images)
    }
}
