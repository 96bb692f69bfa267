//! [`Assess`] and [`Assessment`]: expensive evaluation, once per cell and seed.

use std::collections::BTreeMap;

use super::{SamplingSpec, SelectionSpec, VerificationSpec};
use crate::base::Seed;
use crate::datasets::OpenDataset;

/// Input of an expensive evaluation.
#[derive(Clone, Copy)]
pub struct Assess<'a> {
    /// The opened dataset of the cell.
    pub data: &'a OpenDataset,
    /// Seed of the run.
    pub seed: Seed,
    /// Samples to draw, if any.
    pub sampling: Option<&'a SamplingSpec>,
    /// Verification of generated signals, if any.
    pub verification: Option<&'a VerificationSpec>,
    /// Selection of photomultipliers, if any.
    pub selection: Option<&'a SelectionSpec>,
}

/// Result of an expensive evaluation: metrics by name, and images.
pub struct Assessment<'a> {
    metrics: BTreeMap<String, Option<f64>>,
    images: Vec<Image>,
    progress: &'a mut dyn FnMut(&str, usize, usize),
}

/// Images to draw ([`Task::draw`](super::Task::draw)).
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'a> {
    /// Settings of sampling; the first of its samplers is used.
    pub spec: &'a SamplingSpec,
    /// Seed of the noise.
    pub seed: Seed,
    /// Number of images, class after class in turn.
    pub count: usize,
}

/// Progress of an assessment: called with the number of finished and of all parts.
pub type AssessmentProgress<'a> = &'a mut dyn FnMut(usize, usize);

/// An image of 8 bits per channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Name, unique in its run, in kebab-case: part of the file name.
    pub name: String,
    /// Description, one sentence.
    pub caption: String,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Colours, rows from the top: `(height, width, 3)`.
    pub pixels: Vec<u8>,
}

impl<'a> Assessment<'a> {
    /// An empty result. `progress` is called with the name of an evaluation, the parts done and the total.
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

    /// Reports the progress of `what`: `done` of `of` parts.
    pub fn progress(&mut self, what: &str, done: usize, of: usize) {
        (self.progress)(what, done, of);
    }

    /// Metrics by name, and images in order.
    pub fn into_parts(self) -> (BTreeMap<String, Option<f64>>, Vec<Image>) {
        (self.metrics, self.images)
    }
}
