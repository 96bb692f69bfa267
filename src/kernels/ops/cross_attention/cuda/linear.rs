//! Linear attention for many positions, through sums over the keys: `φ(q) (φ(k)ᵀ [v, 1])`, whose cost grows with
//! `N + M`.
//!
//! The last column of `[v, 1]` gives the sums of weights, so that numerators and denominators are one product. Each
//! product computes one head for the whole batch, since the rows of a head are strided; nothing is transposed in
//! memory.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::softmax::zeros_like;
use super::{CrossAttentionSize, LINEAR_EPS};
use crate::device::cuda::{Launch, Product, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::layer_norm::cuda::over_rows;

pub(super) fn forward(
    device: &Cuda,
    [q, k, v]: [&Buffer<Cuda>; 3],
    size: CrossAttentionSize,
) -> Result<Buffer<Cuda>> {
    let sums = Sums::new(device, [q, k, v], size)?;
    let rows = size.batch * size.queries * size.heads;
    let mut y = device.uninit_buffer(device.buffer_len(q))?;
    over_rows("cross_attention_divide", rows)
        .args((&sums.quotients, &mut y, rows, size.head_width(), LINEAR_EPS))
        .run()?;
    Ok(y)
}

/// The gradients of q, k and v. With `s = φ(k)ᵀ [v, 1]`, `[a, w] = φ(q) s`, `y = a / (w + ε)`: `da = dy / (w + ε)`,
/// `dw = -(dy · y) / (w + ε)`, `dφ(q) = [da, dw] sᵀ`, `ds = φ(q)ᵀ [da, dw]`, `dφ(k) = [v, 1] dsᵀ`, `dv = φ(k) ds`
/// without its last column.
pub(super) fn backward(
    device: &Cuda,
    [q, k, v]: [&Buffer<Cuda>; 3],
    size: CrossAttentionSize,
    dy: &Buffer<Cuda>,
) -> Result<[Buffer<Cuda>; 3]> {
    let mut sums = Sums::new(device, [q, k, v], size)?;
    let rows = size.batch * size.queries * size.heads;
    over_rows("cross_attention_divide_backward", rows)
        .args((&mut sums.quotients, dy, rows, size.head_width(), LINEAR_EPS))
        .run()?;
    let [mut dq, mut dk, mut dv] = zeros_like(device, [q, k, v])?;
    let (n, m, d, wide) = (
        size.queries,
        size.keys,
        size.head_width(),
        size.head_width() + 1,
    );
    let mut dsums = scratch::<f32>(size.batch * size.heads * d * wide)?;
    for head in 0..size.heads {
        let (column, one, sum) = (head * d, head * wide, head * d * wide);
        let slopes = (&sums.quotients, one);
        // dφ(q), (N, d)
        size.product([Of::QueryOnes, Of::Sums, Of::Queries], [n, d, wide])
            .transposed_b()
            .run_with_offsets(slopes, (&sums.of_keys, sum), (&mut dq, column))?;
        // ds, (d, d + 1)
        size.product([Of::Queries, Of::QueryOnes, Of::Sums], [d, wide, n])
            .transposed_a()
            .run_with_offsets((&sums.q, column), slopes, (&mut dsums, sum))?;
        // dφ(k), (M, d)
        size.product([Of::KeyOnes, Of::Sums, Of::Keys], [m, d, wide])
            .transposed_b()
            .run_with_offsets((&sums.values, one), (&dsums, sum), (&mut dk, column))?;
        // dv, (M, d)
        size.product([Of::Keys, Of::Sums, Of::Keys], [m, d, d])
            .run_with_offsets((&sums.k, column), (&dsums, sum), (&mut dv, column))?;
    }
    for (grad, features) in [(&mut dq, &sums.q), (&mut dk, &sums.k)] {
        let len = device.buffer_len(grad);
        Launch::new("cross_attention_through_features")
            .over(len)
            .args((grad, features, len))
            .run()?;
    }
    Ok([dq, dk, dv])
}

/// Intermediate values that forward and backward need.
struct Sums {
    /// `φ(q)`, `(B, N, C)`.
    q: CudaSlice<f32>,
    /// `φ(k)`, `(B, M, C)`.
    k: CudaSlice<f32>,
    /// `[v, 1]`, `(B, M, heads, d + 1)`.
    values: CudaSlice<f32>,
    /// The sums over keys s = `φ(k)ᵀ [v, 1]`, `(B, heads, d, d + 1)`.
    of_keys: CudaSlice<f32>,
    /// `[a, w] = φ(q) s`, numerators and denominators, `(B, N, heads, d + 1)`.
    quotients: CudaSlice<f32>,
}

impl Sums {
    fn new(device: &Cuda, [q, k, v]: [&Buffer<Cuda>; 3], size: CrossAttentionSize) -> Result<Self> {
        let (n, m, d, wide) = (
            size.queries,
            size.keys,
            size.head_width(),
            size.head_width() + 1,
        );
        let heads = size.batch * size.heads;
        let mut own = Self {
            q: features(device, q)?,
            k: features(device, k)?,
            values: with_ones(v, heads * m, d)?,
            of_keys: scratch(heads * d * wide)?,
            quotients: scratch(heads * n * wide)?,
        };
        for head in 0..size.heads {
            let (column, one, sum) = (head * d, head * wide, head * d * wide);
            size.product([Of::Keys, Of::KeyOnes, Of::Sums], [d, wide, m])
                .transposed_a()
                .run_with_offsets(
                    (&own.k, column),
                    (&own.values, one),
                    (&mut own.of_keys, sum),
                )?;
            size.product([Of::Queries, Of::Sums, Of::QueryOnes], [n, wide, d])
                .run_with_offsets(
                    (&own.q, column),
                    (&own.of_keys, sum),
                    (&mut own.quotients, one),
                )?;
        }
        Ok(own)
    }
}

fn features(device: &Cuda, x: &Buffer<Cuda>) -> Result<CudaSlice<f32>> {
    let len = device.buffer_len(x);
    let mut features = scratch(len)?;
    Launch::new("cross_attention_features")
        .over(len)
        .args((x, &mut features, len))
        .run()?;
    Ok(features)
}

fn with_ones(v: &Buffer<Cuda>, rows: usize, width: usize) -> Result<CudaSlice<f32>> {
    let len = rows * (width + 1);
    let mut values = scratch(len)?;
    Launch::new("cross_attention_with_one")
        .over(len)
        .args((v, &mut values, len, width))
        .run()?;
    Ok(values)
}

/// The array of which a matrix of one head is a part.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    /// An array `(B, N, C)`.
    Queries,
    /// An array `(B, M, C)`.
    Keys,
    /// An array `(B, N, heads, d + 1)`.
    QueryOnes,
    /// An array `(B, M, heads, d + 1)`.
    KeyOnes,
    /// The array of sums over keys, `(B, heads, d, d + 1)`.
    Sums,
}

impl CrossAttentionSize {
    /// The product of one head for the whole batch; `[m, n, k]` as in [`Product`], `matrices` are its operands and
    /// result.
    fn product(self, matrices: [Of; 3], [m, n, k]: [usize; 3]) -> Product {
        let wide = self.head_width() + 1;
        let row = |of| match of {
            Of::Queries | Of::Keys => self.features,
            Of::QueryOnes | Of::KeyOnes => self.heads * wide,
            Of::Sums => wide,
        };
        let rows = |of| match of {
            Of::Queries | Of::QueryOnes => self.queries,
            Of::Keys | Of::KeyOnes => self.keys,
            Of::Sums => self.heads * self.head_width(),
        };
        Product {
            strides: matrices.map(|of| rows(of) * row(of)),
            rows: matrices.map(row),
            ..Product::new(m, n, k).batched(self.batch)
        }
    }
}
