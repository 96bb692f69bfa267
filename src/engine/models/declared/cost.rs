//! FLOPs of a layer.

use super::layer::{Join, Layer, LayerKind};

impl Layer {
    /// Floating-point operations of a forward pass of one sample, by a formula that equals the operations' own counts.
    pub fn forward_flops(&self) -> f64 {
        let (input, output) = (self.input.len() as f64, self.output.len() as f64);
        let inner = || -> f64 {
            let layers = self.inner().into_iter().flatten();
            layers.map(Self::forward_flops).sum()
        };
        let biased = |bias: &bool| if *bias { output } else { 0.0 };
        match &self.kind {
            LayerKind::Linear { bias, .. } => {
                2.0 * self.input.last() as f64 * output + biased(bias)
            }
            LayerKind::Conv(conv) => {
                let window = conv.kernel * conv.kernel * (self.input.last() / conv.groups);
                2.0 * window as f64 * output + biased(&conv.bias)
            }
            LayerKind::Attention(attention) => {
                let (tokens, inner) = (self.input.rows() as f64, attention.inner() as f64);
                let pairs = if attention.causal {
                    tokens * (tokens + 1.0) / 2.0
                } else {
                    tokens * tokens
                };
                let biases = if attention.bias {
                    3.0 * inner * tokens + output
                } else {
                    0.0
                };
                let products = 2.0 * input * 3.0 * inner + 2.0 * inner * output;
                products + biases + pairs * (4.0 * inner + 5.0 * attention.heads as f64)
            }
            LayerKind::MaxPool(options) | LayerKind::AveragePool(options) => {
                (options.kernel * options.kernel) as f64 * output
            }
            LayerKind::GlobalAveragePool | LayerKind::MeanOverTokens => input,
            LayerKind::PositionEmbedding { .. } => output,
            LayerKind::ClassToken { .. } => self.output.last() as f64,
            LayerKind::BatchNorm { .. } | LayerKind::LayerNorm { .. } => 8.0 * output,
            LayerKind::GroupNorm { .. } => 6.0 * output,
            LayerKind::RmsNorm { .. } => 4.0 * output,
            LayerKind::Activation { function } => {
                function.forward_backward_flop().0 as f64 * output
            }
            LayerKind::Residual { .. } => inner() + output,
            LayerKind::Parallel { branches, join } => {
                let joins = match join {
                    Join::Concat => 0.0,
                    Join::Add | Join::Multiply => (branches.len() as f64 - 1.0) * output,
                };
                inner() + joins
            }
            LayerKind::Sequential { .. } => inner(),
            LayerKind::Upsample { .. }
            | LayerKind::Flatten
            | LayerKind::Transpose
            | LayerKind::Patches { .. }
            | LayerKind::Tokens
            | LayerKind::Embedding { .. }
            | LayerKind::FirstToken
            | LayerKind::Dropout { .. } => 0.0,
        }
    }
}
