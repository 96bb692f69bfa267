//! Converts the word that names a layer (such as `linear`), with its settings, to a [`LayerKind`]: defaults, ranges,
//! input form, shared weights.

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{self, StrDeserializer};
use serde_json::Value as Json;

use super::Mistake;
use super::expand::{Expander, Found, MistakeNoted, State};
use super::form::{Form, grouped};
use super::items::{BoolOption, Item, Settings};
use super::layer::{AttentionLayer, ConvLayer, Layer, LayerKind};
use super::shapes::{self, ShapeError};
use crate::diag::did_you_mean;
use crate::ops::{Activation, PoolOptions};

impl Expander<'_> {
    /// Converts the word of a layer without inner layers (such as `linear`) to a layer kind; returns kind and output
    /// form.
    pub(super) fn word(
        &mut self,
        item: &Item,
        settings: &Settings,
        state: State,
        after: &str,
    ) -> Found<(LayerKind, Option<Form>)> {
        let word = settings.word.name;
        let argument = match (&settings.argument, word) {
            (None, _) | (_, "dropout") => 0,
            (Some(number), _) => self.whole(number, state, 1)?,
        };
        let mut reading = Reading {
            own: self,
            settings,
            state,
        };
        let kind = reading.kind(item, argument)?;
        let Some(form) = state.form else {
            return Err(MistakeNoted);
        };
        let (kind, output) = self.fit(item, kind, form, after)?;
        let kind = self.tied(item, settings, kind, form)?;
        Ok((kind, Some(output)))
    }

    /// Returns `kind` with the sizes that its input determines, and the form of its output; an input that does not fit
    /// is a mistake.
    fn fit(
        &mut self,
        item: &Item,
        kind: LayerKind,
        form: Form,
        after: &str,
    ) -> Found<(LayerKind, Form)> {
        let word = item.word();
        let message = match shapes::output(&kind, form) {
            Ok(output) => return Ok((kind.with_input_sizes(form), output)),
            Err(ShapeError::Needs(what)) if after.is_empty() => {
                format!("`{word}` needs {what}; the dataset has {form}")
            }
            Err(ShapeError::Needs(what)) => {
                format!("`{word}` needs {what}; after `{after}` there is {form}")
            }
            Err(ShapeError::Because(why)) => format!("`{word}`: {why}"),
        };
        let mistake = Mistake::new(&item.path_of(word), message).of_key();
        self.mistakes.push(mistake);
        Err(MistakeNoted)
    }

    /// If `tie` is set, makes the layer use the weight of the layer that it names; a mistake if there is none or its
    /// shape differs.
    fn tied(
        &mut self,
        item: &Item,
        settings: &Settings,
        mut kind: LayerKind,
        form: Form,
    ) -> Found<LayerKind> {
        let Some(name) = &settings.tie else {
            return Ok(kind);
        };
        let path = item.path_of("tie");
        let Some(named) = self.named.get(name) else {
            let known: Vec<&str> = self.named.keys().map(String::as_str).collect();
            let message =
                format!("there is no layer before this one with a weight and the name `{name}`");
            let first = format!("give it one: `name = \"{name}\"`");
            let first = known.is_empty().then_some(first);
            let meant = did_you_mean(name, known).or(first);
            self.mistakes
                .push(Mistake::new(&path, message).maybe_help(meant));
            return Err(MistakeNoted);
        };
        let (shape, parameter) = (named.shape.clone(), named.parameter.clone());
        let own = Layer {
            name: String::new(),
            kind: kind.clone(),
            input: form,
            output: form,
        };
        let needed = own.parameters().into_iter().next();
        let needed = needed.map_or_else(Vec::new, |weight| weight.shape);
        if needed != shape {
            let show = |shape: &[usize]| {
                let sizes: Vec<String> = shape.iter().map(|size| grouped(*size)).collect();
                sizes.join("×")
            };
            let message = format!(
                "the weight of `{name}` has shape {}, and {} is needed here",
                show(&shape),
                show(&needed)
            );
            return Err(self.note(&path, message));
        }
        match &mut kind {
            LayerKind::Linear { tie, .. } | LayerKind::Conv(ConvLayer { tie, .. }) => {
                *tie = Some(parameter);
            }
            _ => {}
        }
        Ok(kind)
    }
}

/// Reads the settings of one layer, and adds mistakes to the expander `own`.
struct Reading<'a, 'b> {
    own: &'a mut Expander<'b>,
    settings: &'a Settings,
    state: State,
}

impl Reading<'_, '_> {
    fn whole(&mut self, name: &str, default: usize, least: i64) -> Found<usize> {
        match self.settings.numbers.get(name) {
            Some(number) => self.own.whole(number, self.state, least),
            None => Ok(default),
        }
    }

    fn real(
        &mut self,
        name: &str,
        default: f64,
        range: impl Fn(f64) -> bool,
        shown: &str,
    ) -> Found<f64> {
        match self.settings.numbers.get(name) {
            Some(number) => self.own.real(number, self.state, range, shown),
            None => Ok(default),
        }
    }

    fn truth(&self, name: &str, default: bool) -> bool {
        match self.settings.truths.get(name) {
            Some(BoolOption::Is(truth)) => *truth,
            Some(BoolOption::Parameter(parameter)) => {
                self.own.spec.parameters.get(parameter) == Some(&Json::Bool(true))
            }
            None => default,
        }
    }

    fn positive(&mut self, name: &str, default: f64) -> Found<f64> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        self.real(name, default, is_positive, "a number above 0")
    }

    #[expect(clippy::too_many_lines, reason = "a list of all words")]
    fn kind(&mut self, item: &Item, argument: usize) -> Found<LayerKind> {
        let probability = |p: f64| (0.0..1.0).contains(&p);
        let below_one = "a probability of at least 0 and below 1";
        let word = self.settings.word.name;
        Ok(match word {
            "linear" => LayerKind::Linear {
                outputs: argument,
                bias: self.truth("bias", true),
                tie: None,
            },
            "conv" => self.conv(item, argument)?,
            "max-pool" | "average-pool" => {
                let options = PoolOptions {
                    kernel: argument,
                    stride: self.whole("stride", argument, 1)?,
                    padding: self.whole("padding", 0, 0)?,
                };
                if word == "max-pool" {
                    LayerKind::MaxPool(options)
                } else {
                    LayerKind::AveragePool(options)
                }
            }
            "global-average-pool" => LayerKind::GlobalAveragePool,
            "upsample" => LayerKind::Upsample { factor: argument },
            "flatten" => LayerKind::Flatten,
            "transpose" => LayerKind::Transpose,
            "patches" => LayerKind::Patches { size: argument },
            "tokens" => LayerKind::Tokens,
            "embedding" => LayerKind::Embedding {
                // The number of features for now; `completed` replaces it by the input's vocabulary.
                vocabulary: argument,
                std: self.positive("std", 1.0)?,
            },
            "position-embedding" => LayerKind::PositionEmbedding {
                std: self.positive("std", 0.02)?,
            },
            "class-token" => LayerKind::ClassToken {
                std: self.positive("std", 0.02)?,
            },
            "first-token" => LayerKind::FirstToken,
            "mean-over-tokens" => LayerKind::MeanOverTokens,
            "attention" => LayerKind::Attention(AttentionLayer {
                heads: argument,
                head_width: self.whole("head-width", 0, 1)?,
                causal: self.truth("causal", false),
                bias: self.truth("bias", true),
                dropout: self.real("dropout", 0.0, probability, below_one)?,
            }),
            "batch-norm" => {
                let is_share = |value: f64| value > 0.0 && value <= 1.0;
                LayerKind::BatchNorm {
                    eps: self.positive("eps", 1e-5)?,
                    momentum: self.real(
                        "momentum",
                        0.1,
                        is_share,
                        "a number above 0 and at most 1",
                    )?,
                }
            }
            "group-norm" => LayerKind::GroupNorm { groups: argument },
            "layer-norm" => LayerKind::LayerNorm {
                eps: self.positive("eps", 1e-5)?,
            },
            "rms-norm" => LayerKind::RmsNorm {
                eps: self.positive("eps", f64::from(f32::EPSILON))?,
            },
            "dropout" => {
                let number = self.settings.argument.as_ref().ok_or(MistakeNoted)?;
                let p = self.own.real(number, self.state, probability, below_one)?;
                LayerKind::Dropout { p }
            }
            name => {
                let name: StrDeserializer<'_, value::Error> = name.into_deserializer();
                let function = Activation::deserialize(name).map_err(|_| MistakeNoted)?;
                LayerKind::Activation { function }
            }
        })
    }

    fn conv(&mut self, item: &Item, outputs: usize) -> Found<LayerKind> {
        let kernel = self.whole("kernel", 1, 1)?;
        let dilation = self.whole("dilation", 1, 1)?;
        if kernel % 2 == 0 && !self.settings.numbers.contains_key("padding") {
            let message = format!(
                "a kernel of {kernel} cannot be padded alike on both sides; say `padding = …`"
            );
            return Err(self.own.note(&item.path_of("kernel"), message));
        }
        Ok(LayerKind::Conv(ConvLayer {
            outputs,
            kernel,
            stride: self.whole("stride", 1, 1)?,
            padding: self.whole("padding", dilation * (kernel - 1) / 2, 0)?,
            dilation,
            groups: self.whole("groups", 1, 1)?,
            bias: self.truth("bias", true),
            tie: None,
        }))
    }
}
