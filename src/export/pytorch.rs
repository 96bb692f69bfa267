//! Writes `model.py`: a model as plain `torch.nn` code.

use std::fmt::Write;

use crate::datasets::{Features, Target};
use crate::models::{ConvLayer, Form, Join, Layer, LayerKind, MlpSpec, ModelSpec};
use crate::ops::Activation;
use crate::trained::Trained;

use super::built_in::{self, PlainCode, python, random_features};

/// Python classes for layers without a counterpart in `torch.nn`.
const HELPERS: &str = include_str!("python/layers.py");
const LOAD: &str = include_str!("python/load.py");
/// Python code that loads weights from a file without some entries of the `state_dict`, such as tied weights.
const LOAD_LOOSELY: &str = include_str!("python/load_loosely.py");

/// The content of `model.py`.
///
/// # Errors
/// A message if there is no PyTorch code for the model.
pub(super) fn model(trained: &Trained) -> Result<String, String> {
    let (cell, run) = (&trained.run.cell, &trained.run);
    let code = match &*cell.model {
        ModelSpec::Mlp(spec) => PlainCode {
            body: mlp(spec, run.features, run.target),
            inputs: random_features(run.features) + ",",
        },
        ModelSpec::Layers(spec) => {
            let layers = spec.expand(run.features, run.target).map_err(|mistakes| {
                let all: Vec<String> = mistakes.into_iter().map(|one| one.message).collect();
                all.join("; ")
            })?;
            PlainCode {
                body: declared(&layers),
                inputs: random_features(run.features) + ",",
            }
        }
        _ => built_in::code(trained)?,
    };
    let PlainCode { body, inputs } = code;
    let name = format!("{} ({}), seed {}", cell.model_name, cell.key, trained.seed);
    let math = if body.contains("math.") {
        "import math\n"
    } else {
        ""
    };
    let functions = if body.contains("F.") {
        "import torch.nn.functional as F\n"
    } else {
        ""
    };
    let is_loose = body.contains("BatchNorm") || body.contains(".weight = self.");
    let load = if is_loose { LOAD_LOOSELY } else { LOAD };
    Ok(format!(
        "\"\"\"{}; written by Fieldtrial.\"\"\"\n\n{math}from pathlib import Path\n\nimport torch\n{functions}from safetensors.torch \
         import load_model\nfrom torch import nn\n\n\n{body}\n\n{load}\n\ndef example_inputs(batch=1):\n    \"\"\"Random inputs of the \
         model's form.\"\"\"\n    return ({inputs})\n",
        name.replace(['"', '\\'], "'"),
    ))
}

fn mlp(spec: &MlpSpec, features: Features, target: Target) -> String {
    let outputs = match target {
        Target::Class { classes } => classes,
        target => target.values_len(),
    };
    let mut lines = Vec::new();
    let mut inputs = features.len();
    for _ in 0..spec.depth {
        lines.push(format!("nn.Linear({inputs}, {})", spec.hidden));
        lines.push(activation(spec.activation.into()).to_owned());
        inputs = spec.hidden;
    }
    lines.push(format!("nn.Linear({inputs}, {outputs})"));
    let (flat, x) = match features {
        Features::Image(_) => (class("Flat"), "Flat()(x)"),
        _ => (String::new(), "x"),
    };
    let mut code = Code::default();
    for line in lines {
        code.line(3, &format!("{line},"));
    }
    format!("{flat}{}", model_class(&code.text, x, ""))
}

fn model_class(layers: &str, x: &str, ties: &str) -> String {
    format!(
        "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = nn.Sequential(\n{layers}\
         {})\n{ties}\n    def forward(self, x):\n        return self.layers({x})\n",
        "        "
    )
}

fn declared(layers: &[Layer]) -> String {
    let mut code = Code::default();
    for layer in layers {
        code.add(layer, 3);
    }
    let mut helpers: Vec<&str> = code.helpers.clone();
    helpers.sort_by_key(|name| HELPERS.find(&format!("class {name}(")));
    helpers.dedup();
    let helpers: String = helpers.into_iter().map(class).collect();
    let mut ties = Code::default();
    for (name, owner) in &code.ties {
        let owner = owner.strip_suffix(".weight").unwrap_or(owner);
        let (own, owner) = (path(name), path(owner));
        ties.line(2, &format!("self{own}.weight = self{owner}.weight"));
    }
    format!("{helpers}{}", model_class(&code.text, "x", &ties.text))
}

/// The Python attribute access for a path: `layers.3.0.shortcut` becomes `.layers[3][0].shortcut`.
fn path(name: &str) -> String {
    let part = |part: &str| match part.parse::<usize>() {
        Ok(place) => format!("[{place}]"),
        Err(_) => format!(".{part}"),
    };
    name.split('.').map(part).collect()
}

/// Python code of the helper class `name`.
fn class(name: &str) -> String {
    let begins = format!("class {name}(");
    let text = HELPERS
        .split("\n\n\n")
        .find(|text| text.starts_with(&begins));
    format!("{}\n\n\n", text.unwrap_or_default().trim_end())
}

/// Python code that constructs the layers, line by line, and what this code needs.
#[derive(Default)]
struct Code {
    text: String,
    helpers: Vec<&'static str>,
    /// For each layer with tied weights: the layer's name and that of the parameter that it shares.
    ties: Vec<(String, String)>,
}

impl Code {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(depth));
    }

    /// Adds a line that constructs the helper class `name`, and notes that the class is needed.
    fn own(&mut self, depth: usize, name: &'static str, arguments: &str) {
        self.helpers.push(name);
        self.line(depth, &format!("{name}({arguments}),"));
    }

    fn list(&mut self, layers: &[Layer], depth: usize) {
        if layers.is_empty() {
            self.line(depth, "nn.Sequential(),");
            return;
        }
        self.line(depth, "nn.Sequential(");
        for layer in layers {
            self.add(layer, depth + 1);
        }
        self.line(depth, "),");
    }

    fn tie(&mut self, name: &str, owner: Option<&String>) {
        self.ties
            .extend(owner.map(|owner| (name.to_owned(), owner.clone())));
    }

    fn add(&mut self, layer: &Layer, depth: usize) {
        let last = layer.input.last();
        let is_image = matches!(layer.input, Form::Image(_));
        match &layer.kind {
            LayerKind::Linear { outputs, bias, tie } => {
                self.tie(&layer.name, tie.as_ref());
                let bias = without_bias(*bias);
                self.line(depth, &format!("nn.Linear({last}, {outputs}{bias}),"));
            }
            LayerKind::Conv(conv) => {
                self.tie(&layer.name, conv.tie.as_ref());
                self.line(depth, &convolution(conv, last));
            }
            LayerKind::MaxPool(pool) => {
                let sizes = [pool.kernel, pool.stride, pool.padding].map(|size| size.to_string());
                self.line(depth, &format!("nn.MaxPool2d({}),", sizes.join(", ")));
            }
            LayerKind::AveragePool(pool) => {
                let sizes = [pool.kernel, pool.stride, pool.padding].map(|size| size.to_string());
                self.line(depth, &format!("nn.AvgPool2d({}),", sizes.join(", ")));
            }
            LayerKind::Residual { layers, shortcut } => {
                self.helpers.push("Residual");
                self.line(depth, "Residual(");
                self.list(layers, depth + 1);
                self.list(shortcut, depth + 1);
                self.line(depth, "),");
            }
            LayerKind::Parallel { branches, join } => {
                let join = match join {
                    Join::Concat => "concat",
                    Join::Add => "add",
                    Join::Multiply => "multiply",
                };
                self.helpers.push("Parallel");
                self.line(depth, "Parallel(");
                self.line(depth + 1, &format!("\"{join}\","));
                for branch in branches {
                    self.list(branch, depth + 1);
                }
                self.line(depth, "),");
            }
            LayerKind::Sequential { layers } => self.list(layers, depth),
            LayerKind::Attention(attention) => {
                let (heads, width) = (attention.heads, attention.head_width);
                let (causal, bias) = (python(attention.causal), python(attention.bias));
                let arguments = format!("{last}, {heads}, {width}, causal={causal}, bias={bias}");
                self.own(depth, "Attention", &arguments);
            }
            kind => self.simple(kind, layer, depth, is_image),
        }
    }

    /// Adds the line of a layer whose constructor fits on one line.
    fn simple(&mut self, kind: &LayerKind, layer: &Layer, depth: usize, is_image: bool) {
        let last = layer.input.last();
        let (rows, out) = (layer.input.rows(), layer.output.last());
        match kind {
            LayerKind::GlobalAveragePool => self.own(depth, "GlobalAveragePool", ""),
            LayerKind::Upsample { factor } => {
                self.line(depth, &format!("nn.Upsample(scale_factor={factor}),"));
            }
            LayerKind::Flatten => self.line(depth, "nn.Flatten(),"),
            LayerKind::Transpose => self.own(depth, "Transpose", ""),
            LayerKind::Patches { size } => self.own(depth, "Patches", &size.to_string()),
            LayerKind::Tokens => self.own(depth, "Tokens", ""),
            LayerKind::Embedding { vocabulary, .. } => {
                self.line(depth, &format!("nn.Embedding({vocabulary}, {out}),"));
            }
            LayerKind::PositionEmbedding { .. } => {
                self.own(depth, "PositionEmbedding", &format!("{rows}, {last}"));
            }
            LayerKind::ClassToken { .. } => self.own(depth, "ClassToken", &last.to_string()),
            LayerKind::FirstToken => self.own(depth, "FirstToken", ""),
            LayerKind::MeanOverTokens => self.own(depth, "MeanOverTokens", ""),
            LayerKind::BatchNorm { eps, .. } => {
                let name = if is_image {
                    "BatchNorm2d"
                } else {
                    "BatchNorm1d"
                };
                self.line(depth, &format!("nn.{name}({last}, eps={eps:e}),"));
            }
            LayerKind::GroupNorm { groups } => {
                self.line(depth, &format!("nn.GroupNorm({groups}, {last}),"));
            }
            LayerKind::LayerNorm { eps } => self.norm(
                depth,
                &format!("nn.LayerNorm({last}, eps={eps:e})"),
                is_image,
            ),
            LayerKind::RmsNorm { eps } => {
                self.norm(depth, &format!("nn.RMSNorm({last}, eps={eps:e})"), is_image);
            }
            LayerKind::Dropout { p } => self.line(depth, &format!("nn.Dropout({p}),")),
            LayerKind::Activation { function } => {
                self.line(depth, &format!("{},", activation(*function)));
            }
            // `add` has handled these kinds.
            LayerKind::Linear { .. }
            | LayerKind::Conv(_)
            | LayerKind::MaxPool(_)
            | LayerKind::AveragePool(_)
            | LayerKind::Attention(_)
            | LayerKind::Residual { .. }
            | LayerKind::Parallel { .. }
            | LayerKind::Sequential { .. } => {}
        }
    }

    fn norm(&mut self, depth: usize, norm: &str, is_image: bool) {
        if is_image {
            self.own(depth, "OverChannels", norm);
        } else {
            self.line(depth, &format!("{norm},"));
        }
    }
}

fn convolution(conv: &ConvLayer, inputs: usize) -> String {
    let mut text = format!("nn.Conv2d({inputs}, {}, {}", conv.outputs, conv.kernel);
    let options = [
        ("stride", conv.stride, 1),
        ("padding", conv.padding, 0),
        ("dilation", conv.dilation, 1),
        ("groups", conv.groups, 1),
    ];
    for (name, value, default) in options {
        if value != default {
            let _ = write!(text, ", {name}={value}");
        }
    }
    format!("{text}{}),", without_bias(conv.bias))
}

fn without_bias(has_bias: bool) -> &'static str {
    if has_bias { "" } else { ", bias=False" }
}

fn activation(function: Activation) -> &'static str {
    match function {
        Activation::Identity => "nn.Identity()",
        Activation::Silu => "nn.SiLU()",
        Activation::Relu => "nn.ReLU()",
        Activation::Tanh => "nn.Tanh()",
        Activation::Gelu => "nn.GELU()",
        Activation::Sigmoid => "nn.Sigmoid()",
        Activation::LeakyRelu => "nn.LeakyReLU()",
        Activation::Softplus => "nn.Softplus()",
    }
}
