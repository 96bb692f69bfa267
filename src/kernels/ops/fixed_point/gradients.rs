//! The backward pass of a chunk through all iterations.

use pulp::{Simd, WithSimd};

use super::block::{Block, Slopes, Sums, Transposed, Widths};
use super::chunk::Chunk;
use super::lanes::{AddOuter, from_lanes, rows, rows_mut, to_lanes};
use crate::ops::aligned::Aligned;
use crate::ops::simd::{dispatch_simd, f32_lanes};

/// Gradients from one chunk: those of its samples' inputs, and its share of the parameters' gradients.
#[derive(Debug)]
pub(super) struct Gradients {
    /// Gradients of start, keys and values, `(samples, d)` each.
    pub(super) inputs: [Vec<f32>; 3],
    /// Gradients of the parameters, in the order of [`super::AttentionBlock::parameters`].
    pub(super) parameters: [Vec<f32>; 14],
}

impl Gradients {
    /// Computes the gradients from `grad`, the gradient of the final state, `(samples, d)`. `gamma` is `None` if the
    /// block was applied once, without damping.
    pub(super) fn of(
        block: &Block<'_>,
        back: Transposed<'_>,
        gamma: Option<f32>,
        chunk: &mut Chunk,
        grad: &[f32],
    ) -> Self {
        let (widths, lanes) = (block.widths, f32_lanes());
        let d = widths.state;
        let slopes = [(); 3].map(|()| Aligned::zeros(chunk.keys.len()));
        let mut unwind = Unwind {
            block,
            back,
            gamma: gamma.unwrap_or(1.0),
            chunk,
            slopes,
            sums: Aligned::zeros(Sums::<pulp::Scalar>::rows(widths) * lanes),
            work: Aligned::zeros((d + widths.hidden.max(d)) * lanes),
            weights: widths
                .weight_grad_outers()
                .map(|at| vec![0.0; at.x.1 * at.y.1]),
        };
        to_lanes(grad, d, unwind.slopes[0].values_mut());
        let totals = dispatch_simd(&mut unwind);
        // From gradients of φ(k) to gradients of k: φ'(k) = min(φ(k), 1).
        let slopes = unwind.slopes[1].values_mut().iter_mut();
        for (slope, key) in slopes.zip(unwind.chunk.keys.values()) {
            *slope *= key.min(1.0);
        }
        let inputs = unwind.slopes.map(|rows| {
            let mut samples = vec![0.0; grad.len()];
            from_lanes(rows.values(), d, &mut samples);
            samples
        });
        Self {
            inputs,
            parameters: parameters(block, &totals, unwind.weights),
        }
    }

    /// Adds the parameter gradients of another chunk; input gradients stay as they are.
    pub(super) fn add(&mut self, other: &Self) {
        for (sums, values) in self.parameters.iter_mut().zip(&other.parameters) {
            let pairs = sums.iter_mut().zip(values);
            pairs.for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Backward through all iterations of a chunk. Running it returns the gradients of norms and biases, summed over all
/// samples.
struct Unwind<'a> {
    block: &'a Block<'a>,
    back: Transposed<'a>,
    gamma: f32,
    chunk: &'a mut Chunk,
    /// Gradients of state, φ(k) and v, each `(groups, d, lanes)`.
    slopes: [Aligned; 3],
    /// Gradients of norms and biases, one per lane.
    sums: Aligned,
    work: Aligned,
    /// The gradients of the weights of q, out, ff1 and ff2.
    weights: [Vec<f32>; 4],
}

impl WithSimd for &mut Unwind<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let widths = self.block.widths;
        let (d, len) = (widths.state, widths.record());
        let [dh, dkeys, dvalues] = &mut self.slopes;
        let [dh, dkeys, dvalues] =
            [dh, dkeys, dvalues].map(|slopes| rows_mut::<S>(slopes.values_mut()));
        let [keys, values] =
            [&self.chunk.keys, &self.chunk.values].map(|all| rows::<S>(all.values()));
        let (df, work) = rows_mut::<S>(self.work.values_mut()).split_at_mut(d);
        let mut sums = Sums::<S>::of(rows_mut::<S>(self.sums.values_mut()), widths);
        let (gamma, rest) = (
            simd.splat_f32s(self.gamma),
            simd.splat_f32s(1.0 - self.gamma),
        );
        // Softmax attention to a single key does not depend on q: nothing is recorded for q, so its weight gradient,
        // the first, is skipped.
        let first = usize::from(widths.heads == 0);
        for records in self.chunk.records.iter_mut().rev() {
            let records = rows_mut::<S>(records.values_mut());
            for (group, record) in records.chunks_exact_mut(len).enumerate() {
                let own = group * d..(group + 1) * d;
                let source = (&keys[own.clone()], &values[own.clone()]);
                let dh = &mut dh[own.clone()];
                for (df, dh) in df.iter_mut().zip(&mut *dh) {
                    *df = simd.mul_f32s(gamma, *dh);
                    *dh = simd.mul_f32s(rest, *dh);
                }
                let slopes = Slopes { df, dh, work };
                let into = [&mut dkeys[own.clone()], &mut dvalues[own]];
                let with = (simd, self.back);
                self.block
                    .backward_block(with, source, record, slopes, into, &mut sums);
            }
            let outers = widths
                .weight_grad_outers()
                .into_iter()
                .zip(&mut self.weights);
            for (at, sums) in outers.skip(first) {
                simd.vectorize(AddOuter {
                    simd,
                    records,
                    len,
                    at,
                    sums,
                });
            }
        }
        let sums = rows::<S>(self.sums.values()).iter();
        sums.map(|row| simd.reduce_sum_f32s(*row)).collect()
    }
}

/// Collects the gradients of all parameters, in the order of [`super::AttentionBlock::parameters`].
fn parameters(block: &Block<'_>, totals: &[f32], weights: [Vec<f32>; 4]) -> [Vec<f32>; 14] {
    let Widths { state, hidden, .. } = block.widths;
    let (ff1_bias, rest) = totals.split_at(hidden);
    let part = |index: usize| rest[index * state..][..state].to_vec();
    let [mut q, out, mut ff1, ff2] = weights;
    let (q_bias, ff1_bias) = (part(6), ff1_bias.to_vec());
    through_norm(&mut q, block.norm1, &q_bias);
    through_norm(&mut ff1, block.norm2, &ff1_bias);
    [
        part(0),
        part(1),
        q,
        q_bias,
        out,
        part(7),
        part(2),
        part(3),
        ff1,
        ff1_bias,
        ff2,
        part(8),
        part(4),
        part(5),
    ]
}

/// For a linear layer after a norm: converts `Σ normed ⊗ dy` to `Σ (gamma normed + beta) ⊗ dy`, the weight's gradient.
fn through_norm(weight: &mut [f32], [gamma, beta]: [&[f32]; 2], dy: &[f32]) {
    let rows = weight.chunks_exact_mut(dy.len());
    for (row, (gamma, beta)) in rows.zip(gamma.iter().zip(beta)) {
        for (slope, dy) in row.iter_mut().zip(dy) {
            *slope = gamma * *slope + beta * dy;
        }
    }
}
