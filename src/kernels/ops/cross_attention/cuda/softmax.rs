//! Softmax attention for many positions: matrix products compute the scores of all pairs, each product one head for the
//! whole batch, since the rows of a head are C values apart. Nothing is transposed in memory.
//!
//! Scores and weights are `(B, heads, N, M)`; backward recomputes the weights instead of saving them.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::CrossAttentionSize;
use crate::device::cuda::{Product, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::layer_norm::cuda::over_rows;

pub(super) fn forward(
    device: &Cuda,
    [q, k, v]: [&Buffer<Cuda>; 3],
    size: CrossAttentionSize,
) -> Result<Buffer<Cuda>> {
    let views = Views(size);
    let weights = weights(q, k, views)?;
    let mut y = device.uninit_buffer(device.buffer_len(q))?;
    for head in 0..size.heads {
        views
            .product([Of::Pairs, Of::Keys, Of::Queries], Form::Plain)
            .run_with_offsets(
                (&weights, views.pairs(head)),
                (v, views.column(head)),
                (&mut y, views.column(head)),
            )?;
    }
    Ok(y)
}

/// The gradients of q, k and v. With weights p: `dv = pᵀ dy`, `g = dy vᵀ`, `ds = p (g - Σ p g)`, `dq = ds k / √d`,
/// `dk = dsᵀ q / √d`.
pub(super) fn backward(
    device: &Cuda,
    [q, k, v]: [&Buffer<Cuda>; 3],
    size: CrossAttentionSize,
    dy: &Buffer<Cuda>,
) -> Result<[Buffer<Cuda>; 3]> {
    let views = Views(size);
    let weights = weights(q, k, views)?;
    let [mut dq, mut dk, mut dv] = zeros_like(device, [q, k, v])?;
    let mut slopes = scratch::<f32>(views.all_pairs())?;
    for head in 0..size.heads {
        let (pairs, column) = (views.pairs(head), views.column(head));
        views
            .product([Of::Pairs, Of::Queries, Of::Keys], Form::TransposedA)
            .run_with_offsets((&weights, pairs), (dy, column), (&mut dv, column))?;
        views
            .product([Of::Queries, Of::Keys, Of::Pairs], Form::TransposedB)
            .run_with_offsets((dy, column), (v, column), (&mut slopes, pairs))?;
    }
    over_rows("cross_attention_softmax_slopes", views.rows())
        .args((&weights, &mut slopes, views.rows(), size.keys))
        .run()?;
    for head in 0..size.heads {
        let (pairs, column) = (views.pairs(head), views.column(head));
        views
            .product([Of::Pairs, Of::Keys, Of::Queries], Form::Plain)
            .scaled(size.scale())
            .run_with_offsets((&slopes, pairs), (k, column), (&mut dq, column))?;
        views
            .product([Of::Pairs, Of::Queries, Of::Keys], Form::TransposedA)
            .scaled(size.scale())
            .run_with_offsets((&slopes, pairs), (q, column), (&mut dk, column))?;
    }
    Ok([dq, dk, dv])
}

/// The attention weights of all heads, `softmax(q kᵀ / √d)`.
fn weights(q: &Buffer<Cuda>, k: &Buffer<Cuda>, views: Views) -> Result<CudaSlice<f32>> {
    let mut scores = scratch::<f32>(views.all_pairs())?;
    for head in 0..views.0.heads {
        let column = views.column(head);
        views
            .product([Of::Queries, Of::Keys, Of::Pairs], Form::TransposedB)
            .scaled(views.0.scale())
            .run_with_offsets((q, column), (k, column), (&mut scores, views.pairs(head)))?;
    }
    over_rows("cross_attention_softmax", views.rows())
        .args((&mut scores, views.rows(), views.0.keys))
        .run()?;
    Ok(scores)
}

/// The kinds of matrices of one head, by shape.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    /// `(N, d)`, rows C values apart.
    Queries,
    /// `(M, d)`, rows C values apart.
    Keys,
    /// `(N, M)`, without gaps.
    Pairs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Plain,
    TransposedA,
    TransposedB,
}

/// Offsets and strides of the matrices of a head in their arrays.
#[derive(Debug, Clone, Copy)]
struct Views(CrossAttentionSize);

impl Views {
    fn column(self, head: usize) -> usize {
        head * self.0.head_width()
    }

    fn pairs(self, head: usize) -> usize {
        head * self.0.queries * self.0.keys
    }

    fn rows(self) -> usize {
        self.0.batch * self.0.heads * self.0.queries
    }

    fn all_pairs(self) -> usize {
        self.rows() * self.0.keys
    }

    /// The product of one head, for the whole batch; `matrices` are the kinds of its operands and result.
    fn product(self, matrices: [Of; 3], form: Form) -> Product {
        let (size, [a, b, c]) = (self.0, matrices);
        let (m, n) = self.shape(c);
        let (rows, columns) = self.shape(a);
        let k = if form == Form::TransposedA {
            rows
        } else {
            columns
        };
        let product = Product {
            strides: [a, b, c].map(|of| match of {
                Of::Queries => size.queries * size.features,
                Of::Keys => size.keys * size.features,
                Of::Pairs => size.heads * size.queries * size.keys,
            }),
            rows: [a, b, c].map(|of| if of == Of::Pairs { 0 } else { size.features }),
            ..Product::new(m, n, k).batched(size.batch)
        };
        match form {
            Form::Plain => product,
            Form::TransposedA => product.transposed_a(),
            Form::TransposedB => product.transposed_b(),
        }
    }

    fn shape(self, of: Of) -> (usize, usize) {
        let (n, m, d) = (self.0.queries, self.0.keys, self.0.head_width());
        match of {
            Of::Queries => (n, d),
            Of::Keys => (m, d),
            Of::Pairs => (n, m),
        }
    }
}

pub(super) fn zeros_like(device: &Cuda, buffers: [&Buffer<Cuda>; 3]) -> Result<[Buffer<Cuda>; 3]> {
    let [q, k, v] = buffers.map(|buffer| device.zeros_buffer(device.buffer_len(buffer)));
    Ok([q?, k?, v?])
}
