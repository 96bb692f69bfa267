//! [`Assess`] and [`Assessment`]: evaluation that costs, once per cell and seed.

use std::collections::BTreeMap;

use super::{SamplingSpec, SelectionSpec, VerificationSpec};
use crate::base::Seed;
use crate::datasets::OpenDataset;

/// What a costly evaluation may look at.
#[derive(Clone, Copy)]
pub struct Assess<'a> {
    /// The data with its splits.
    pub data: &'a OpenDataset,
    /// Seed of the run.
    pub seed: Seed,
    /// Samples to draw, where some are asked for.
    pub sampling: Option<&'a SamplingSpec>,
    /// How generated signals are verified, where they are to be.
    pub verification: Option<&'a VerificationSpec>,
    /// How photomultipliers are selected, where they are to be.
    pub selection: Option<&'a SelectionSpec>,
}

/// What a costly evaluation finds: metrics by name, and images.
pub struct Assessment<'a> {
    metrics: BTreeMap<String, Option<f64>>,
    images: Vec<Image>,
    progress: &'a mut dyn FnMut(&str, usize, usize),
}

/// An image of 8 bits a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What it is, unique in its run, in kebab-case: part of a file's name.
    pub name: String,
    /// What it shows, in one sentence.
    pub caption: String,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Colours, rows from the top: `(height, width, 3)`.
    pub pixels: Vec<u8>,
}

impl<'a> Assessment<'a> {
    /// Nothing so far. `progress` is told what is evaluated, how much of it is done, and how much there is to do.
    pub fn new(progress: &'a mut dyn FnMut(&str, usize, usize)) -> Self {
        Self {
            metrics: BTreeMap::new(),
            images: Vec::new(),
            progress,
        }
    }

    /// Adds a metric; one that is no finite number is missing.
    pub fn add_metric(&mut self, name: impl Into<String>, value: f64) {
        let value = value.is_finite().then_some(value);
        self.metrics.insert(name.into(), value);
    }

    /// Adds an image.
    pub fn add_image(&mut self, image: Image) {
        self.images.push(image);
    }

    /// Tells how far `what` is: `done` of `of` parts.
    pub fn progress(&mut self, what: &str, done: usize, of: usize) {
        (self.progress)(what, done, of);
    }

    /// Metrics by name, and images in order.
    pub fn into_parts(self) -> (BTreeMap<String, Option<f64>>, Vec<Image>) {
        (self.metrics, self.images)
    }
}
