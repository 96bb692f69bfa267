//! [`Network`]: an executable declared model.
//!
//! Parameters and running statistics are in lists; nodes refer to them by index, so that layers can share a weight.

use std::cell::RefCell;

use super::functions::{activated, joined, patches};
use super::layer::Join;
use super::statistics::{Statistics, StatisticsUpdate};
use crate::device::Buffer;
use crate::ops::{
    self, Activation, AttentionOptions, Combine, Conv2dOptions, ConvAlgorithm, Kernels, Module,
    Parameter, Pass, Path, Pool, PoolOptions, Result, Var,
};

/// An executable model of layers, with PyTorch's initial values.
pub struct Network<D: Kernels> {
    pub(super) nodes: Vec<Node>,
    /// Parameters, with PyTorch's names.
    pub(super) parameters: Vec<(String, Parameter<D>)>,
    pub(super) statistics: RefCell<Statistics<D>>,
    pub(super) convolution: ConvAlgorithm,
}

/// Index of a parameter in [`Network::parameters`].
pub(super) type ParameterIndex = usize;

#[derive(Debug)]
pub(super) struct LinearNode {
    pub(super) weight: ParameterIndex,
    /// Whether the weight is stored as `(outputs, inputs)`, as that of an embedding with which it may be shared.
    pub(super) is_transposed: bool,
    pub(super) bias: Option<ParameterIndex>,
    pub(super) activation: Activation,
}

#[derive(Debug)]
pub(super) struct BatchNormNode {
    pub(super) affine: [ParameterIndex; 2],
    /// Index of the norm in [`Network::statistics`].
    pub(super) statistics: usize,
    pub(super) eps: f32,
    pub(super) activation: Activation,
}

/// A layer, or several layers that one operation computes.
#[derive(Debug)]
pub(super) enum Node {
    Linear(LinearNode),
    Conv {
        weight: ParameterIndex,
        bias: Option<ParameterIndex>,
        options: Conv2dOptions,
    },
    Pool(Pool, PoolOptions),
    /// Mean over all pixels or tokens.
    Mean,
    Upsample(usize),
    /// Flattens to a row; contains `(positions, channels)` if the input is an image, whose channels come first in the
    /// row.
    Flatten(Option<(usize, usize)>),
    Transpose,
    Patches(usize),
    Tokens,
    Embedding(ParameterIndex),
    PositionEmbedding(ParameterIndex),
    ClassToken(ParameterIndex),
    FirstToken,
    Attention {
        input: (ParameterIndex, Option<ParameterIndex>),
        output: (ParameterIndex, Option<ParameterIndex>),
        options: AttentionOptions,
    },
    BatchNorm(BatchNormNode),
    GroupNorm {
        affine: [ParameterIndex; 2],
        groups: usize,
        activation: Activation,
    },
    LayerNorm {
        affine: [ParameterIndex; 2],
        eps: f32,
    },
    RmsNorm {
        weight: ParameterIndex,
        eps: f32,
    },
    Dropout(f32),
    Activation(Activation),
    Residual {
        layers: Vec<Self>,
        shortcut: Vec<Self>,
        activation: Activation,
    },
    Parallel {
        branches: Vec<Vec<Self>>,
        join: Join,
    },
}

/// A batch of samples on the device: values, and for tokens also their ids on the host.
#[derive(Debug)]
pub struct Input<D: Kernels> {
    /// `(B, …)`, images channels last.
    pub x: Var<D>,
    /// The ids of all tokens, `B · T` numbers; empty for other data.
    pub ids: Vec<usize>,
}

impl<D: Kernels> Network<D> {
    /// The output for a batch. A pass that records gradients normalises by the batch and stores its moments for
    /// [`Self::update_statistics`]; any other pass normalises by running statistics.
    pub fn forward(&self, pass: &mut Pass<D>, input: &Input<D>) -> Result<Var<D>> {
        let ids = &input.ids;
        self.run(&self.nodes, pass, input.x.clone(), ids)
    }

    /// Updates running statistics by the moments of all batches since the last update.
    ///
    /// # Errors
    /// [`crate::ops::OpError`] when the device fails.
    pub fn update_statistics(
        &mut self,
        device: &D,
        update: &StatisticsUpdate<'_, D>,
    ) -> Result<()> {
        self.statistics.get_mut().update(device, update)
    }

    fn var(&self, weight: ParameterIndex) -> Var<D> {
        self.parameters[weight].1.var()
    }

    fn run(&self, nodes: &[Node], pass: &mut Pass<D>, x: Var<D>, ids: &[usize]) -> Result<Var<D>> {
        nodes
            .iter()
            .try_fold(x, |x, node| self.node(node, pass, &x, ids))
    }

    #[expect(clippy::too_many_lines, reason = "a list of all words")]
    fn node(&self, node: &Node, pass: &mut Pass<D>, x: &Var<D>, ids: &[usize]) -> Result<Var<D>> {
        let shape = x.shape();
        let batch = shape.dims()[0];
        match node {
            Node::Linear(linear) => self.linear(linear, pass, x),
            Node::Conv {
                weight,
                bias,
                options,
            } => {
                let (weight, bias) = (self.var(*weight), bias.map(|bias| self.var(bias)));
                let by = self.convolution;
                ops::conv2d_with_algorithm(by, pass, x, &weight, bias.as_ref(), *options)
            }
            Node::Pool(pool, options) => ops::pool(pass, x, *pool, *options),
            Node::Mean => ops::mean_positions(pass, x),
            Node::Upsample(factor) => ops::upsample_nearest(pass, x, *factor),
            Node::Flatten(None) => x.reshape([batch, shape.len() / batch]),
            Node::Flatten(Some((positions, channels))) => {
                let flat = [batch, positions * channels];
                ops::transpose(pass, x, [batch, *positions, *channels, 1], flat)
            }
            Node::Transpose => {
                let (tokens, features) = (shape.dims()[1], shape.dims()[2]);
                let turned = [batch, features, tokens];
                ops::transpose(pass, x, [batch, tokens, features, 1], turned)
            }
            Node::Patches(size) => patches(pass, x, *size),
            Node::Tokens => {
                let channels = shape.last();
                x.reshape([batch, shape.len() / batch / channels, channels])
            }
            Node::Embedding(weight) => {
                let rows = ops::embedding(pass, &self.var(*weight), ids)?;
                let features = rows.shape().last();
                rows.reshape([batch, ids.len() / batch, features])
            }
            Node::PositionEmbedding(weight) => {
                let own = self.var(*weight);
                let size = [1, batch, own.shape().len()];
                ops::broadcast(pass, x, &own, size, Combine::Add)
            }
            Node::ClassToken(weight) => ops::prepend(pass, x, &self.var(*weight)),
            Node::FirstToken => {
                let first = ops::slice(pass, x, 0, 1)?;
                first.reshape([batch, shape.last()])
            }
            Node::Attention {
                input,
                output,
                options,
            } => {
                let linear =
                    |pass: &mut Pass<D>,
                     x: &Var<D>,
                     (weight, bias): (ParameterIndex, Option<ParameterIndex>)| {
                        let bias = bias.map(|bias| self.var(bias));
                        ops::linear(
                            pass,
                            x,
                            &self.var(weight),
                            bias.as_ref(),
                            Activation::Identity,
                        )
                    };
                let qkv = linear(pass, x, *input)?;
                let seen = ops::attention(pass, &qkv, *options)?;
                linear(pass, &seen, *output)
            }
            Node::BatchNorm(norm) => self.batch_norm(norm, pass, x, None),
            Node::GroupNorm {
                affine: [weight, bias],
                groups,
                activation,
            } => {
                let (weight, bias) = (self.var(*weight), self.var(*bias));
                ops::group_norm(pass, x, &weight, &bias, *groups, None, *activation)
            }
            Node::LayerNorm {
                affine: [weight, bias],
                eps,
            } => ops::layer_norm(pass, x, &self.var(*weight), &self.var(*bias), *eps),
            Node::RmsNorm { weight, eps } => ops::rms_norm(pass, x, &self.var(*weight), *eps),
            Node::Dropout(p) => ops::dropout(pass, x, *p),
            Node::Activation(activation) => ops::activate(pass, x, *activation),
            Node::Residual {
                layers,
                shortcut,
                activation,
            } => {
                let skip = self.run(shortcut, pass, x.clone(), ids)?;
                self.onto(layers, &skip, *activation, pass, x, ids)
            }
            Node::Parallel { branches, join } => {
                let results: Result<Vec<Var<D>>> = branches
                    .iter()
                    .map(|branch| self.run(branch, pass, x.clone(), ids))
                    .collect();
                joined(pass, &results?, *join)
            }
        }
    }

    fn linear(&self, node: &LinearNode, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let (weight, bias) = (self.var(node.weight), node.bias.map(|bias| self.var(bias)));
        if !node.is_transposed {
            return ops::linear(pass, x, &weight, bias.as_ref(), node.activation);
        }
        let mut y = ops::linear_transposed(pass, x, &weight, None)?;
        if let Some(bias) = bias {
            let outputs = bias.shape().len();
            let size = [1, y.shape().len() / outputs, outputs];
            y = ops::broadcast(pass, &y, &bias, size, Combine::Add)?;
        }
        activated(pass, y, node.activation)
    }

    /// `act(skip + layers(x))`, computed by the last layer's operation if possible.
    fn onto(
        &self,
        layers: &[Node],
        skip: &Var<D>,
        activation: Activation,
        pass: &mut Pass<D>,
        x: &Var<D>,
        ids: &[usize],
    ) -> Result<Var<D>> {
        let inner = |pass: &mut Pass<D>, rest| self.run(rest, pass, x.clone(), ids);
        match layers.split_last() {
            Some((Node::BatchNorm(last), rest))
                if last.activation == Activation::Identity && pass.is_recording() =>
            {
                let h = inner(pass, rest)?;
                self.batch_norm(last, pass, &h, Some((skip, activation)))
            }
            Some((
                Node::Linear(LinearNode {
                    weight,
                    is_transposed: false,
                    bias: Some(bias),
                    activation: Activation::Identity,
                }),
                rest,
            )) => {
                let h = inner(pass, rest)?;
                let (weight, bias) = (self.var(*weight), self.var(*bias));
                let y = ops::linear_residual(pass, skip, &h, &weight, &bias)?;
                activated(pass, y, activation)
            }
            _ => {
                let h = inner(pass, layers)?;
                let y = ops::add(pass, skip, &h)?;
                activated(pass, y, activation)
            }
        }
    }

    /// Batch norm; with `onto = (skip, act)`, `act(norm(x) + skip)`.
    fn batch_norm(
        &self,
        node: &BatchNormNode,
        pass: &mut Pass<D>,
        x: &Var<D>,
        onto: Option<(&Var<D>, Activation)>,
    ) -> Result<Var<D>> {
        let ([gamma, beta], eps) = (node.affine.map(|weight| self.var(weight)), node.eps);
        let mut kept = self.statistics.borrow_mut();
        if pass.is_recording() {
            let shift = onto.map(|(skip, _)| skip);
            let activation = onto.map_or(node.activation, |(_, activation)| activation);
            let (y, moments) = ops::batch_norm(pass, x, &gamma, &beta, shift, eps, activation)?;
            kept.keep(node.statistics, moments);
            return Ok(y);
        }
        let [mean, variance] = kept.running(node.statistics, pass.device())?;
        let activation = node.activation;
        ops::batch_norm_inference(pass, x, &gamma, &beta, &mean, &variance, eps, activation)
    }
}

impl<D: Kernels> Module<D> for Network<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        for (name, parameter) in &mut self.parameters {
            visit(path.join(&*name).as_str(), parameter);
        }
    }

    fn visit_buffers(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Buffer<D>)) {
        self.statistics.get_mut().visit(path, visit);
    }
}
