//! [`LayersSpec`]: the raw values of a manifest, and [`Mistake`]: a mistake in them.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::expression::ExpressionError;

/// A model of layers, each with a word as in PyTorch; shapes are inferred. `docs/models.md` has the words and examples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LayersSpec {
    /// The layers in order: words (`"relu"`), and tables with one word as key (`{ linear = 64 }`, `{ residual = [ … ] }`).
    #[schemars(schema_with = "super::words::list_schema")]
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
    #[schemars(schema_with = "super::words::list_schema")]
    pub layers: Vec<Json>,
}

/// A mistake in a declared model, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Keys and positions in lists from the model's table down to the value. The last one may be missing if the value
    /// is a plain word.
    pub path: Vec<String>,
    /// Byte range of the mistake in a text; `None` if the whole value is meant.
    pub span: Option<Range<usize>>,
    /// Whether the mistake is the last key of the path rather than its value.
    pub is_key: bool,
    /// What is wrong, as a sentence.
    pub message: String,
    /// Advice, one line each.
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
    pub(super) fn in_expression(path: &[String], wrong: ExpressionError) -> Self {
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

    pub(crate) fn help(self, line: impl Into<String>) -> Self {
        self.maybe_help(Some(line.into()))
    }

    pub(crate) fn maybe_help(mut self, line: Option<String>) -> Self {
        self.help.extend(line);
        self
    }
}

pub(super) fn below(path: &[String], key: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.push(key.to_owned());
    path
}
