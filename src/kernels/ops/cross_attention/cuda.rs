//! Cross-attention on CUDA: a single kernel if there are few positions, matrix products if there are many.

mod linear;
mod softmax;

use dfdx::tensor::Cuda;

use super::{AttentionKind, CrossAttentionKernel, CrossAttentionSize, LINEAR_EPS};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::layer_norm::cuda::{ROWS, over_rows};

/// Largest number of pairs of positions per head for which a warp computes the head without matrix products.
const SHORT: usize = 256;

impl CrossAttentionKernel for Cuda {
    fn cross_attention(
        &self,
        inputs @ [q, k, v]: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
    ) -> Result<Buffer<Self>> {
        if !is_short(size) {
            return match size.kind {
                AttentionKind::Softmax => softmax::forward(self, inputs, size),
                AttentionKind::Linear => linear::forward(self, inputs, size),
            };
        }
        let mut y = self.uninit_buffer(self.buffer_len(q))?;
        let rows = size.batch * size.queries * size.heads;
        let launch = over_rows("cross_attention_short", rows)
            .shared(ROWS * size.keys * size_of::<f32>())
            .args((q, k, v, &mut y));
        with_size(launch, rows, size).run()?;
        Ok(y)
    }

    fn cross_attention_backward(
        &self,
        inputs @ [q, k, v]: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
        grad_output: &Buffer<Self>,
    ) -> Result<[Buffer<Self>; 3]> {
        if !is_short(size) {
            return match size.kind {
                AttentionKind::Softmax => softmax::backward(self, inputs, size, grad_output),
                AttentionKind::Linear => linear::backward(self, inputs, size, grad_output),
            };
        }
        let [mut dq, mut dk, mut dv] = softmax::zeros_like(self, inputs)?;
        let rows = size.batch * size.heads;
        let launch = over_rows("cross_attention_short_backward", rows)
            .shared(2 * ROWS * size.keys * size_of::<f32>())
            .args((q, k, v, grad_output, &mut dq, &mut dk, &mut dv));
        with_size(launch, rows, size).run()?;
        Ok([dq, dk, dv])
    }
}

/// Whether a warp computes a whole head, because there are too few positions for a matrix product to pay off.
fn is_short(size: CrossAttentionSize) -> bool {
    size.queries * size.keys <= SHORT
}

fn with_size(launch: Launch, rows: usize, size: CrossAttentionSize) -> Launch {
    launch
        .args((rows, size.queries, size.keys, size.heads))
        .args((size.head_width(), size.kind == AttentionKind::Linear))
        .arg(LINEAR_EPS)
}
