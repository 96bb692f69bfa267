//! Models that a manifest describes layer by layer (`kind = "layers"`).
//!
//! ```text
//!  manifest ──▶ LayersSpec ──items──▶ Item (words, expressions) ──expand──▶ Layer (all sizes) ──network──▶ Network
//!               raw values            mistakes without data               mistakes of shapes              runs
//! ```
//! The language is described in `docs/models.md`. Planner and worker process expand in the same way; the cell hash is
//! computed from the expanded layers, so that two texts of the same model give the same cell.

mod build;
mod cost;
mod expand;
mod expression;
mod form;
mod functions;
mod fuse;
mod items;
mod kinds;
mod layer;
mod network;
mod settings;
mod shapes;
mod spec;
mod statistics;
mod values;
mod words;

pub use form::Form;
pub use layer::{ConvLayer, Join, Layer, LayerKind, TensorShape};
pub use network::{Input, Network};
pub use spec::{BlockSpec, LayersSpec, Mistake};
pub use statistics::StatisticsUpdate;

use crate::datasets::{Features, Target};

impl LayersSpec {
    /// All mistakes that can be found without data: words, options, expressions, unused parameters.
    pub fn mistakes(&self) -> Vec<Mistake> {
        items::read(self).1
    }

    /// Computes the layers with all of their sizes, for data of these forms.
    ///
    /// # Errors
    /// Those of [`Self::mistakes`]; if there are none, all mistakes in shapes and sizes.
    pub fn expand(&self, features: Features, target: Target) -> Result<Vec<Layer>, Vec<Mistake>> {
        let (items, mistakes) = items::read(self);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let Some(form) = Form::of(features) else {
            let message = "declared models do not read paths".to_owned();
            return Err(vec![Mistake::new(&["layers".to_owned()], message)]);
        };
        expand::expand(self, &items, (form, target))
    }
}

#[cfg(test)]
mod tests;
