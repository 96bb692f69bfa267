//! Models that a manifest describes layer by layer (`kind = "layers"`).
//!
//! ```text
//!  manifest ──▶ LayersSpec ──items──▶ Item (words, expressions) ──expand──▶ Layer (all sizes) ──network──▶ Network
//!               raw values            mistakes without data               mistakes of shapes              runs
//! ```
//! The language is described in `docs/models.md`. Planner and worker expand the same way; the cell hash is of the expanded
//! layers, so that two texts of one model are one cell.

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
mod statistics;
mod values;
mod words;

pub use form::Form;
pub use layer::{ConvLayer, Join, Layer, LayerKind, Tensor};
pub use network::{Input, Network};
pub use statistics::StatisticsUpdate;

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::datasets::{Features, Target};
use expression::Wrong;

/// A model of layers, each with a word as in PyTorch; shapes are inferred. `docs/models.md` has the words and examples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LayersSpec {
    /// The layers in order: words (`"relu"`), and tables with one word as key (`{ linear = 64 }`, `{ residual = [ … ] }`).
    #[schemars(schema_with = "words::list_schema")]
    pub layers: Vec<Json>,
    /// Numbers and words that the layers mention by name. An axis or a search can change them: `models.NAME.PARAMETER`.
    #[serde(default)]
    pub parameters: BTreeMap<String, Json>,
    /// Lists of layers that `{ use = "NAME" }` inserts.
    #[serde(default)]
    pub blocks: BTreeMap<String, BlockSpec>,
}

/// A list of layers with a name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BlockSpec {
    /// The layers in order.
    #[schemars(schema_with = "words::list_schema")]
    pub layers: Vec<Json>,
}

/// What is wrong with a declared model, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Keys and positions in lists from the model's table down to the value. The last may be missing in a plain word.
    pub path: Vec<String>,
    /// The bytes that are meant of a text there.
    pub span: Option<Range<usize>>,
    /// Whether the key at the end of the path is meant, not its value.
    pub is_key: bool,
    /// The sentence.
    pub message: String,
    /// What to do, one line each.
    pub help: Vec<String>,
}

impl Mistake {
    pub(crate) fn new(path: &[String], message: String) -> Self {
        Self {
            path: path.to_vec(),
            span: None,
            is_key: false,
            message,
            help: Vec::new(),
        }
    }

    /// A mistake in the expression at `path`.
    fn within(path: &[String], wrong: Wrong) -> Self {
        Self {
            span: Some(wrong.span),
            ..Self::new(path, wrong.message)
        }
    }

    pub(crate) fn of_key(self) -> Self {
        Self {
            is_key: true,
            ..self
        }
    }

    pub(crate) fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }
}

impl LayersSpec {
    /// Every mistake that shows without data: words, options, expressions, unused parameters.
    pub fn mistakes(&self) -> Vec<Mistake> {
        items::read(self).1
    }

    /// The layers with all of their sizes, for data of these forms.
    ///
    /// # Errors
    /// Every mistake of shapes; without one, those of [`Self::mistakes`].
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
