//! [`Layer`]: a layer with all of its sizes, as computed by [`super::expand`].

use serde::{Deserialize, Serialize};

use super::form::Form;
use crate::ops::{Activation, PoolOptions};

/// A layer of an expanded model; all sizes are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Layer {
    /// The layer's name in PyTorch's `state_dict`: `layers.0`.
    pub name: String,
    /// Operation of the layer.
    #[serde(flatten)]
    pub kind: LayerKind,
    /// Form of the input.
    pub input: Form,
    /// Form of the output.
    pub output: Form,
}

/// What a layer computes, with its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "layer",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum LayerKind {
    /// A linear layer `y = x Wᵀ + b`.
    Linear {
        /// Number of output features.
        outputs: usize,
        /// Whether the layer has a bias.
        bias: bool,
        /// Name of the parameter used as the weight, if another layer owns it.
        tie: Option<String>,
    },
    /// A 2D convolution.
    Conv(ConvLayer),
    /// Max pooling: the largest value of every window.
    MaxPool(PoolOptions),
    /// Average pooling: the mean of every window.
    AveragePool(PoolOptions),
    /// Global average pooling: the mean over all pixels.
    GlobalAveragePool,
    /// Enlarges an image by repeating pixels (nearest neighbour).
    Upsample {
        /// Factor by which height and width grow.
        factor: usize,
    },
    /// Flattens to a row; an image in the order channels, height, width.
    Flatten,
    /// Swaps the dimensions of tokens and features.
    Transpose,
    /// Cuts an image into squares, which become tokens.
    Patches {
        /// Height and width of each square in pixels.
        size: usize,
    },
    /// Converts an image to a sequence: each pixel becomes a token.
    Tokens,
    /// A table of a vector for every token id.
    Embedding {
        /// Number of ids.
        vocabulary: usize,
        /// Standard deviation of the initial values.
        std: f64,
    },
    /// Adds a learned vector to every position.
    PositionEmbedding {
        /// Standard deviation of the initial values.
        std: f64,
    },
    /// Prepends a learned token to the sequence.
    ClassToken {
        /// Standard deviation of the initial values.
        std: f64,
    },
    /// Keeps only the first token, as a row.
    FirstToken,
    /// Mean over all tokens, as a row.
    MeanOverTokens,
    /// Multi-head self-attention.
    Attention(AttentionLayer),
    /// Batch norm.
    BatchNorm {
        /// Value added to variances, against division by 0.
        eps: f64,
        /// Weight of a new batch in the running statistics.
        momentum: f64,
    },
    /// Group norm.
    GroupNorm {
        /// Number of groups.
        groups: usize,
    },
    /// Layer norm.
    LayerNorm {
        /// Value added to variances, against division by 0.
        eps: f64,
    },
    /// Root-mean-square norm.
    RmsNorm {
        /// Value added to mean squares, against division by 0.
        eps: f64,
    },
    /// Dropout.
    Dropout {
        /// Probability that a value becomes 0.
        p: f64,
    },
    /// Applies a function to every value.
    Activation {
        /// The function.
        function: Activation,
    },
    /// A residual connection: `shortcut(x) + layers(x)`.
    Residual {
        /// Layers of the branch whose result is added to the shortcut.
        layers: Vec<Layer>,
        /// Layers of the shortcut branch; empty for the identity.
        shortcut: Vec<Layer>,
    },
    /// Several branches with the same input.
    Parallel {
        /// Layers of each branch.
        branches: Vec<Vec<Layer>>,
        /// How the branches' results are combined.
        join: Join,
    },
    /// A sequence of layers, from a block or one repetition.
    Sequential {
        /// The layers in order.
        layers: Vec<Layer>,
    },
}

/// A 2D convolution with its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConvLayer {
    /// Number of output channels.
    pub outputs: usize,
    /// Height and width of the kernel.
    pub kernel: usize,
    /// Stride: pixels from one window to the next.
    pub stride: usize,
    /// Number of zeros added on every side.
    pub padding: usize,
    /// Dilation: pixels from one value of a window to the next.
    pub dilation: usize,
    /// Number of independent groups of channels.
    pub groups: usize,
    /// Whether the layer has a bias.
    pub bias: bool,
    /// Name of the parameter used as the weight, if another layer owns it.
    pub tie: Option<String>,
}

impl ConvLayer {
    /// Shape of the convolution's weight in PyTorch, for `inputs` input channels.
    pub(super) fn weight_shape(&self, inputs: usize) -> [usize; 4] {
        [self.outputs, inputs / self.groups, self.kernel, self.kernel]
    }
}

/// Multi-head self-attention with its sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AttentionLayer {
    /// Number of heads.
    pub heads: usize,
    /// Number of features per head.
    pub head_width: usize,
    /// Whether a token attends only to itself and earlier tokens.
    pub causal: bool,
    /// Whether the input projection and the output projection have a bias.
    pub bias: bool,
    /// Dropout probability of attention weights.
    pub dropout: f64,
}

impl AttentionLayer {
    /// Total number of features of all heads.
    pub(super) fn inner(&self) -> usize {
        self.heads * self.head_width
    }
}

/// How the results of branches are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// Concatenated along the innermost dimension (features or channels).
    #[default]
    Concat,
    /// Sum of the results; a row is added at every pixel of an image.
    Add,
    /// Product of the results; a row multiplies every pixel of an image.
    Multiply,
}

/// A parameter or a buffer of a layer: the last part of its name, and its shape in PyTorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// The last part of the name: `weight`, `in_proj_bias`, ….
    pub name: &'static str,
    /// Sizes of the dimensions in PyTorch.
    pub shape: Vec<usize>,
}

impl Layer {
    /// The lists of inner layers: of a residual both branches, of parallel layers each branch, of a sequence its
    /// layers; empty for other layers.
    pub fn inner(&self) -> Vec<&[Layer]> {
        match &self.kind {
            LayerKind::Residual { layers, shortcut } => vec![layers, shortcut],
            LayerKind::Parallel { branches, .. } => branches.iter().map(Vec::as_slice).collect(),
            LayerKind::Sequential { layers } => vec![layers],
            _ => Vec::new(),
        }
    }

    /// Whether the layer is, or contains, a batch norm whose input has only one value per channel and sample.
    pub fn has_one_value_batch_norm(&self) -> bool {
        let is_own = matches!(self.kind, LayerKind::BatchNorm { .. }) && self.input.rows() == 1;
        is_own
            || self
                .inner()
                .into_iter()
                .flatten()
                .any(Self::has_one_value_batch_norm)
    }

    /// Whether the output is the input's memory with another shape (a view).
    pub fn is_view(&self) -> bool {
        match self.kind {
            LayerKind::Tokens => true,
            LayerKind::Flatten => !matches!(self.input, Form::Image(_)),
            _ => false,
        }
    }

    /// The layer's own parameters in PyTorch's order, without those of inner layers and shared ones of other layers.
    pub fn parameters(&self) -> Vec<TensorShape> {
        let tensor = |name, shape: &[usize]| TensorShape {
            name,
            shape: shape.to_vec(),
        };
        let (inputs, last) = (self.input.last(), self.output.last());
        let with_bias = |weight: Option<TensorShape>, bias: bool, outputs: usize| {
            let bias = bias.then(|| tensor("bias", &[outputs]));
            weight.into_iter().chain(bias).collect()
        };
        match &self.kind {
            LayerKind::Linear { outputs, bias, tie } => {
                let weight = tie.is_none().then(|| tensor("weight", &[*outputs, inputs]));
                with_bias(weight, *bias, *outputs)
            }
            LayerKind::Conv(conv) => {
                let shape = conv.weight_shape(inputs);
                let weight = conv.tie.is_none().then(|| tensor("weight", &shape));
                with_bias(weight, conv.bias, conv.outputs)
            }
            LayerKind::Embedding { vocabulary, .. } => vec![tensor("weight", &[*vocabulary, last])],
            LayerKind::PositionEmbedding { .. } => {
                vec![tensor("weight", &[self.output.rows(), last])]
            }
            LayerKind::Attention(attention) => {
                let (inner, bias) = (attention.inner(), attention.bias);
                let mut all = vec![tensor("in_proj_weight", &[3 * inner, inputs])];
                all.extend(bias.then(|| tensor("in_proj_bias", &[3 * inner])));
                all.push(tensor("out_proj.weight", &[last, inner]));
                all.extend(bias.then(|| tensor("out_proj.bias", &[last])));
                all
            }
            LayerKind::BatchNorm { .. }
            | LayerKind::GroupNorm { .. }
            | LayerKind::LayerNorm { .. } => {
                vec![tensor("weight", &[last]), tensor("bias", &[last])]
            }
            LayerKind::ClassToken { .. } | LayerKind::RmsNorm { .. } => {
                vec![tensor("weight", &[last])]
            }
            _ => Vec::new(),
        }
    }

    /// Names of all parameters of the layer, those of inner layers last.
    pub fn parameter_names(&self) -> Vec<String> {
        let own = self.parameters().into_iter();
        let own = own.map(|tensor| format!("{}.{}", self.name, tensor.name));
        let inner = self.inner().into_iter().flatten();
        own.chain(inner.flat_map(Self::parameter_names)).collect()
    }

    /// Number of values of all parameters, including those of inner layers.
    pub fn parameter_count(&self) -> usize {
        let own = self.parameters();
        let own: usize = own
            .iter()
            .map(|one| one.shape.iter().product::<usize>())
            .sum();
        let inner = self.inner().into_iter().flatten();
        own + inner.map(Self::parameter_count).sum::<usize>()
    }
}
