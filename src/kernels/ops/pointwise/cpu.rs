//! The small network applied to every point, on the CPU: one point per vector lane.

use dfdx::tensor::Cpu;
use pulp::{Simd, WithSimd};

use super::{PointwiseKernel, PointwiseLayers, PointwiseSize};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, Relu};
use crate::ops::chunks::{for_rows, map_chunks};
use crate::ops::parallel::add_assign;
use crate::ops::signature::{LaneArithmetic, Singles, to_lanes, totals};
use crate::ops::simd::dispatch_simd;
use crate::ops::{OpError, Result};

/// Number of points in one partial sum of gradients.
const SUM_ROWS: usize = 4096;
/// Number of outputs of a layer that are computed together.
const BLOCK: usize = 8;

impl PointwiseKernel for Cpu {
    const IS_FUSED: bool = true;

    fn pointwise_network(
        &self,
        x: &Buffer<Self>,
        layers: PointwiseLayers<&Buffer<Self>>,
        size: PointwiseSize,
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(size.rows * size.columns())?;
        let layers = slices(&layers);
        for_rows(&mut y, size.columns(), |first, y| {
            let x = &x[first * size.widths[0]..];
            dispatch_simd(Forward { x, layers, size, y });
        });
        Ok(y)
    }

    fn pointwise_network_backward(
        &self,
        x: &Buffer<Self>,
        layers: PointwiseLayers<&Buffer<Self>>,
        size: PointwiseSize,
        grad: &Buffer<Self>,
    ) -> Result<PointwiseLayers<Buffer<Self>>> {
        let layers = slices(&layers);
        let (inputs, columns) = (size.widths[0], size.columns());
        let partials = map_chunks(size.rows, SUM_ROWS, grad.len(), |rows| {
            dispatch_simd(Backward {
                x: &x[rows.start * inputs..rows.end * inputs],
                layers,
                size,
                grad: &grad[rows.start * columns..rows.end * columns],
            })
        });
        let mut partials = partials.into_iter();
        let mut total = partials
            .next()
            .unwrap_or_else(|| vec![0.0; parameters(size)]);
        for partial in partials {
            add_assign(&mut total, &partial);
        }
        let mut rest = total.as_slice();
        let mut own = |len| {
            let (own, after) = rest.split_at(len);
            rest = after;
            self.upload(own.to_vec())
        };
        let [first, second, third] = size.layers();
        let mut layer =
            |(inputs, outputs)| Ok::<_, OpError>([own(inputs * outputs)?, own(outputs)?]);
        Ok([layer(first)?, layer(second)?, layer(third)?])
    }
}

fn slices<'a>(layers: &PointwiseLayers<&'a Buffer<Cpu>>) -> PointwiseLayers<&'a [f32]> {
    layers.map(|layer| layer.map(|values| &values[..]))
}

fn parameters(size: PointwiseSize) -> usize {
    let layers = size.layers();
    layers.iter().map(|(i, o)| (i + 1) * o).sum()
}

/// The forward pass of all layers, which writes all rows of `y`.
struct Forward<'a> {
    x: &'a [f32],
    layers: PointwiseLayers<&'a [f32]>,
    size: PointwiseSize,
    y: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let with = Singles(simd);
        let (inputs, columns) = (self.size.widths[0], self.size.columns());
        let mut values = self.size.widths.map(|width| vec![with.splat(0.0); width]);
        let groups = self.y.chunks_mut(S::F32_LANES * columns);
        for (y, x) in groups.zip(self.x.chunks(S::F32_LANES * inputs)) {
            read(with, x, (inputs, 0), &mut values[0]);
            propagate(with, &self.layers, &mut values);
            let outputs = Singles::<S>::numbers(&values[3]).chunks_exact(S::F32_LANES);
            for (column, lanes) in outputs.enumerate() {
                for (row, value) in y.chunks_exact_mut(columns).zip(lanes) {
                    row[inputs + column] = *value;
                }
            }
            for (row, x) in y.chunks_exact_mut(columns).zip(x.chunks_exact(inputs)) {
                row[..inputs].copy_from_slice(x);
            }
        }
    }
}

/// The backward pass of all layers for a range of rows: sums of the gradients of all parameters, concatenated.
struct Backward<'a> {
    x: &'a [f32],
    layers: PointwiseLayers<&'a [f32]>,
    size: PointwiseSize,
    grad: &'a [f32],
}

impl WithSimd for Backward<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let with = Singles(simd);
        let (widths, columns) = (self.size.widths, self.size.columns());
        let mut values = widths.map(|width| vec![with.splat(0.0); width]);
        let mut slopes = values.clone();
        let mut sums = self
            .size
            .layers()
            .map(|(inputs, outputs)| vec![with.splat(0.0); (inputs + 1) * outputs]);
        let groups = self.grad.chunks(S::F32_LANES * columns);
        for (grad, x) in groups.zip(self.x.chunks(S::F32_LANES * widths[0])) {
            read(with, x, (widths[0], 0), &mut values[0]);
            propagate(with, &self.layers, &mut values);
            // Lanes without a point (the last vector may be partly empty) have gradient 0.
            read(with, grad, (columns, widths[0]), &mut slopes[3]);
            for layer in (0..3).rev() {
                let (before, after) = slopes.split_at_mut(layer + 1);
                let (x, dx) = (&values[layer], &mut before[layer]);
                let (weight, sums) = (self.layers[layer][0], &mut sums[layer]);
                backward_step(with, weight, &after[0], (x, dx), sums);
                if layer > 0 {
                    let both = Singles::<S>::numbers_mut(dx).iter_mut();
                    for (slope, value) in both.zip(Singles::<S>::numbers(x)) {
                        *slope *= Relu.slope(*value);
                    }
                }
            }
        }
        totals(with, &sums.concat())
    }
}

/// Reads features of the rows, from feature `first` on, one row per lane; 0 in lanes without a row.
#[inline(always)]
fn read<S: Simd>(
    with: Singles<S>,
    rows: &[f32],
    (columns, first): (usize, usize),
    features: &mut [S::f32s],
) {
    features.fill(with.splat(0.0));
    let width = features.len();
    let rows = rows.chunks_exact(columns);
    to_lanes::<Singles<S>>(rows.map(|row| &row[first..][..width]), features);
}

/// Computes the values after every layer.
#[inline(always)]
fn propagate<S: Simd>(
    with: Singles<S>,
    layers: &PointwiseLayers<&[f32]>,
    values: &mut [Vec<S::f32s>; 4],
) {
    for (layer, [weight, bias]) in layers.iter().enumerate() {
        let (before, after) = values.split_at_mut(layer + 1);
        let (x, y) = (&before[layer], &mut after[0]);
        let mut at = 0;
        while at + BLOCK <= bias.len() {
            advance::<S, BLOCK>(with, x, (weight, bias), at, y);
            at += BLOCK;
        }
        while at < bias.len() {
            advance::<S, 1>(with, x, (weight, bias), at, y);
            at += 1;
        }
        if layer < 2 {
            for value in Singles::<S>::numbers_mut(y) {
                *value = Relu.value(*value);
            }
        }
    }
}

/// Computes outputs `at..at + N` of a layer.
#[inline(always)]
fn advance<S: Simd, const N: usize>(
    with: Singles<S>,
    x: &[S::f32s],
    (weight, bias): (&[f32], &[f32]),
    at: usize,
    y: &mut [S::f32s],
) {
    let mut sums = [with.splat(0.0); N];
    for (sum, bias) in sums.iter_mut().zip(&bias[at..]) {
        *sum = with.splat(f64::from(*bias));
    }
    for (x, row) in x.iter().zip(weight.chunks_exact(bias.len())) {
        if let Some(row) = row[at..].first_chunk::<N>() {
            sums = scaled::<S, N>(with, *x, row, sums);
        }
    }
    y[at..at + N].copy_from_slice(&sums);
}

/// Returns `sums + x · row` for `N` outputs; `row` is a part of a row of the weight.
#[inline(always)]
fn scaled<S: Simd, const N: usize>(
    with: Singles<S>,
    x: S::f32s,
    row: &[f32; N],
    mut sums: [S::f32s; N],
) -> [S::f32s; N] {
    let mut at = 0;
    while at < N {
        sums[at] = with.mul_add(x, with.splat(f64::from(row[at])), sums[at]);
        at += 1;
    }
    sums
}

/// The backward pass of a layer from the gradient `dy` of its outputs: writes the gradient of its inputs, and adds
/// those of weight and bias to `sums`.
#[inline(always)]
fn backward_step<S: Simd>(
    with: Singles<S>,
    weight: &[f32],
    dy: &[S::f32s],
    (x, dx): (&[S::f32s], &mut [S::f32s]),
    sums: &mut [S::f32s],
) {
    dx.fill(with.splat(0.0));
    let (own, biases) = sums.split_at_mut(weight.len());
    for (sum, slope) in biases.iter_mut().zip(dy) {
        *sum = with.add(*sum, *slope);
    }
    let mut at = 0;
    while at + BLOCK <= dy.len() {
        backward_outputs::<S, BLOCK>(with, (weight, dy), at, (x, dx), own);
        at += BLOCK;
    }
    while at < dy.len() {
        backward_outputs::<S, 1>(with, (weight, dy), at, (x, dx), own);
        at += 1;
    }
}

/// The part of [`backward_step`] for outputs `at..at + N`.
#[inline(always)]
fn backward_outputs<S: Simd, const N: usize>(
    with: Singles<S>,
    (weight, dy): (&[f32], &[S::f32s]),
    at: usize,
    (x, dx): (&[S::f32s], &mut [S::f32s]),
    sums: &mut [S::f32s],
) {
    let outputs = dy.len();
    let Some(dy) = dy[at..].first_chunk::<N>() else {
        return;
    };
    let rows = weight
        .chunks_exact(outputs)
        .zip(sums.chunks_exact_mut(outputs));
    for ((x, dx), (row, sums)) in x.iter().zip(dx).zip(rows) {
        let (row, sums) = (
            row[at..].first_chunk::<N>(),
            sums[at..].first_chunk_mut::<N>(),
        );
        if let (Some(row), Some(sums)) = (row, sums) {
            *dx = back::<S, N>(with, (*x, *dx), row, dy, sums);
        }
    }
}

/// Returns `dx + row · dy`, the gradient of input `x`; adds `x dy`, the gradient of the weights `row`, to `sums`.
#[inline(always)]
fn back<S: Simd, const N: usize>(
    with: Singles<S>,
    (x, mut dx): (S::f32s, S::f32s),
    row: &[f32; N],
    dy: &[S::f32s; N],
    sums: &mut [S::f32s; N],
) -> S::f32s {
    let mut at = 0;
    while at < N {
        dx = with.mul_add(with.splat(f64::from(row[at])), dy[at], dx);
        sums[at] = with.mul_add(x, dy[at], sums[at]);
        at += 1;
    }
    dx
}
