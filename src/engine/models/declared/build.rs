//! Converts expanded layers to the nodes and parameters of a [`super::Network`].

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Form;
use super::fuse::fused;
use super::layer::{AttentionLayer, ConvLayer, Layer, LayerKind};
use super::network::{BatchNormNode, LinearNode, Network, Node, ParameterIndex};
use super::statistics::Statistics;
use crate::layers::Init;
use crate::ops::{
    Activation, AttentionOptions, Conv2dOptions, Kernels, Layout, OpError, Parameter, Pool, Result,
    Shape,
};

impl<D: Kernels> Network<D> {
    /// The model that `layers` describe, with initial values from `init`.
    ///
    /// # Errors
    /// [`crate::ops::OpError`] when the device fails.
    pub fn new(init: &mut Init<'_, D>, layers: &[Layer]) -> Result<Self> {
        let mut builder = Builder {
            init,
            parameters: Vec::new(),
            positions: BTreeMap::new(),
            statistics: Statistics::default(),
        };
        let nodes = builder.nodes(layers)?;
        let (parameters, statistics) = (builder.parameters, builder.statistics);
        Ok(Self {
            nodes,
            parameters,
            statistics: RefCell::new(statistics),
            convolution: init.convolution(),
        })
    }
}

/// Creates parameters and nodes in the order of the layers.
struct Builder<'a, 'b, D: Kernels> {
    init: &'a mut Init<'b, D>,
    parameters: Vec<(String, Parameter<D>)>,
    positions: BTreeMap<String, ParameterIndex>,
    statistics: Statistics<D>,
}

impl<D: Kernels> Builder<'_, '_, D> {
    fn nodes(&mut self, layers: &[Layer]) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        for layer in layers {
            if let LayerKind::Sequential { layers } = &layer.kind {
                nodes.extend(self.nodes(layers)?);
            } else {
                nodes.push(self.node(layer)?);
            }
        }
        Ok(fused(nodes))
    }

    /// Adds the parameter `name` of `layer`; returns its index.
    fn put(&mut self, layer: &Layer, name: &str, parameter: Parameter<D>) -> ParameterIndex {
        let name = format!("{}.{name}", layer.name);
        self.positions.insert(name.clone(), self.parameters.len());
        self.parameters.push((name, parameter));
        self.parameters.len() - 1
    }

    /// Adds a parameter with initial values uniform in `±bound`, stored in `layout`; returns its index.
    fn uniform(
        &mut self,
        layer: &Layer,
        name: &str,
        shape: Shape,
        layout: Layout,
        bound: f32,
    ) -> Result<ParameterIndex> {
        let parameter = self.init.uniform(shape, layout, bound)?;
        Ok(self.put(layer, name, parameter))
    }

    fn constant(
        &mut self,
        layer: &Layer,
        name: &str,
        len: usize,
        value: f32,
    ) -> Result<ParameterIndex> {
        let parameter = self.init.constant([len].into(), value)?;
        Ok(self.put(layer, name, parameter))
    }

    fn normal(&mut self, layer: &Layer, shape: Shape, std: f64) -> Result<ParameterIndex> {
        let parameter = self.init.normal(shape, Layout::Plain, std as f32)?;
        Ok(self.put(layer, "weight", parameter))
    }

    fn affine(&mut self, layer: &Layer) -> Result<[ParameterIndex; 2]> {
        let features = layer.output.last();
        Ok([
            self.constant(layer, "weight", features, 1.0)?,
            self.constant(layer, "bias", features, 0.0)?,
        ])
    }

    /// The index of the weight with the full name `tie`, and whether it is stored in PyTorch's layout.
    fn tied(&self, tie: &str) -> Result<(ParameterIndex, bool)> {
        let position = self.positions.get(tie).copied();
        let position = position
            .ok_or_else(|| OpError::shape("tie", format!("there is no parameter `{tie}`")))?;
        let is_plain = self.parameters[position].1.layout() == Layout::Plain;
        Ok((position, is_plain))
    }

    #[expect(clippy::too_many_lines, reason = "a list of all words")]
    fn node(&mut self, layer: &Layer) -> Result<Node> {
        let (inputs, last) = (layer.input.last(), layer.output.last());
        Ok(match &layer.kind {
            LayerKind::Linear { outputs, bias, tie } => {
                let bound = 1.0 / (inputs as f32).sqrt();
                let (weight, is_transposed) = if let Some(tie) = tie {
                    self.tied(tie)?
                } else {
                    let shape = [*outputs, inputs].into();
                    let own = self.uniform(layer, "weight", shape, Layout::Linear, bound)?;
                    (own, false)
                };
                let shape = [*outputs].into();
                let bias = bias.then(|| self.uniform(layer, "bias", shape, Layout::Plain, bound));
                Node::Linear(LinearNode {
                    weight,
                    is_transposed,
                    bias: bias.transpose()?,
                    activation: Activation::Identity,
                })
            }
            LayerKind::Conv(conv) => self.conv(layer, conv)?,
            LayerKind::MaxPool(options) => Node::Pool(Pool::Max, *options),
            LayerKind::AveragePool(options) => Node::Pool(Pool::Average, *options),
            LayerKind::GlobalAveragePool | LayerKind::MeanOverTokens => Node::Mean,
            LayerKind::Upsample { factor } => Node::Upsample(*factor),
            LayerKind::Flatten => match layer.input {
                Form::Image(size) => Node::Flatten(Some((size.height * size.width, size.channels))),
                _ => Node::Flatten(None),
            },
            LayerKind::Transpose => Node::Transpose,
            LayerKind::Patches { size } => Node::Patches(*size),
            LayerKind::Tokens => Node::Tokens,
            LayerKind::Embedding { vocabulary, std } => {
                Node::Embedding(self.normal(layer, [*vocabulary, last].into(), *std)?)
            }
            LayerKind::PositionEmbedding { std } => {
                let shape = [layer.output.rows(), last].into();
                Node::PositionEmbedding(self.normal(layer, shape, *std)?)
            }
            LayerKind::ClassToken { std } => {
                Node::ClassToken(self.normal(layer, [last].into(), *std)?)
            }
            LayerKind::FirstToken => Node::FirstToken,
            LayerKind::Attention(attention) => self.attention(layer, attention)?,
            LayerKind::BatchNorm { eps, momentum } => Node::BatchNorm(BatchNormNode {
                affine: self.affine(layer)?,
                statistics: self.statistics.add(
                    self.init.device(),
                    &layer.name,
                    last,
                    *momentum,
                )?,
                eps: *eps as f32,
                activation: Activation::Identity,
            }),
            LayerKind::GroupNorm { groups } => Node::GroupNorm {
                affine: self.affine(layer)?,
                groups: *groups,
                activation: Activation::Identity,
            },
            LayerKind::LayerNorm { eps } => Node::LayerNorm {
                affine: self.affine(layer)?,
                eps: *eps as f32,
            },
            LayerKind::RmsNorm { eps } => Node::RmsNorm {
                weight: self.constant(layer, "weight", last, 1.0)?,
                eps: *eps as f32,
            },
            LayerKind::Dropout { p } => Node::Dropout(*p as f32),
            LayerKind::Activation { function } => Node::Activation(*function),
            LayerKind::Residual { layers, shortcut } => Node::Residual {
                layers: self.nodes(layers)?,
                shortcut: self.nodes(shortcut)?,
                activation: Activation::Identity,
            },
            LayerKind::Parallel { branches, join } => Node::Parallel {
                branches: branches
                    .iter()
                    .map(|branch| self.nodes(branch))
                    .collect::<Result<_, _>>()?,
                join: *join,
            },
            // Never reached: `nodes` has flattened all sequences before.
            LayerKind::Sequential { .. } => Node::Dropout(0.0),
        })
    }

    fn conv(&mut self, layer: &Layer, conv: &ConvLayer) -> Result<Node> {
        let shape = conv.weight_shape(layer.input.last());
        let window: usize = shape[1..].iter().product();
        let bound = 1.0 / (window as f32).sqrt();
        let weight = if let Some(tie) = &conv.tie {
            self.tied(tie)?.0
        } else {
            self.uniform(layer, "weight", shape.into(), Layout::Convolution, bound)?
        };
        let shape = [conv.outputs].into();
        let bias = conv.bias;
        let bias = bias.then(|| self.uniform(layer, "bias", shape, Layout::Plain, bound));
        Ok(Node::Conv {
            weight,
            bias: bias.transpose()?,
            options: Conv2dOptions {
                stride: conv.stride,
                padding: conv.padding,
                dilation: conv.dilation,
                groups: conv.groups,
            },
        })
    }

    /// The layer `nn.MultiheadAttention`: the input projection is initialised by Glorot & Bengio (2010), biases are 0.
    fn attention(&mut self, layer: &Layer, attention: &AttentionLayer) -> Result<Node> {
        let (features, inner, bias) = (layer.input.last(), attention.inner(), attention.bias);
        let shape = [3 * inner, features].into();
        let bound = (6.0 / (3 * inner + features) as f32).sqrt();
        let weight = self.uniform(layer, "in_proj_weight", shape, Layout::Linear, bound)?;
        let own = bias.then(|| self.constant(layer, "in_proj_bias", 3 * inner, 0.0));
        let input = (weight, own.transpose()?);
        let bound = 1.0 / (inner as f32).sqrt();
        let shape = [features, inner].into();
        let weight = self.uniform(layer, "out_proj.weight", shape, Layout::Linear, bound)?;
        let own = bias.then(|| self.constant(layer, "out_proj.bias", features, 0.0));
        Ok(Node::Attention {
            input,
            output: (weight, own.transpose()?),
            options: AttentionOptions {
                heads: attention.heads,
                causal: attention.causal,
                dropout: attention.dropout as f32,
            },
        })
    }
}
