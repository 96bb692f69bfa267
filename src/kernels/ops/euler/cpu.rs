//! Euler–Maruyama on the CPU: groups of four samples, whose hidden values of all steps stay in the L2 cache.

use std::ops::Range;

use dfdx::tensor::Cpu;

use super::{EulerInputs, EulerKernel, EulerSize, FieldParameters};
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{dot, map_chunks};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, add_matmul_transposed_a, product};
use crate::ops::math::tanh;
use crate::ops::parallel::{MIN_PARALLEL_FLOP, MIN_PARALLEL_LEN};
use crate::ops::simd::simd;
use crate::ops::{GradSlots, Result};

const ROWS: usize = 4;

/// The parameters of a field (drift or diffusion) as slices: weight, bias, weight, bias, weight, bias.
type Slices<'a> = FieldParameters<&'a [f32]>;

impl EulerKernel for Cpu {
    fn euler_maruyama(
        &self,
        inputs: &EulerInputs<Self>,
        size: EulerSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)> {
        let (start, noise) = (inputs.start.data(), inputs.noise.data());
        let fields = slices(inputs.fields());
        let groups = each_group(size, |group| {
            let noise = &noise[group.start * size.steps..group.end * size.steps];
            Group::new(&fields, noise, group.len(), size).simulate(&start[group])
        });
        let (paths, saved): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        let saved = saved.into_iter().map(|saved| self.upload(saved));
        Ok((
            self.upload(paths.concat())?,
            saved.collect::<Result<_, _>>()?,
        ))
    }

    fn euler_maruyama_backward(
        &self,
        inputs: &EulerInputs<Self>,
        saved: &[Buffer<Self>],
        size: EulerSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let (noise, fields) = (inputs.noise.data(), slices(inputs.fields()));
        let groups = each_group(size, |group| {
            let steps = group.start * size.steps..group.end * size.steps;
            let (noise, grad) = (&noise[steps.clone()], &grad[steps]);
            let saved = &saved[group.start / ROWS];
            Group::new(&fields, noise, group.len(), size).backward(saved, grad)
        });
        let mut start = Vec::with_capacity(size.batch);
        let mut total = [zeros(&fields[0]), zeros(&fields[1])];
        for (own, grads) in groups {
            start.extend(own);
            let both = total.iter_mut().flatten().zip(grads.into_iter().flatten());
            for (sums, parts) in both {
                sums.iter_mut()
                    .zip(parts)
                    .for_each(|(sum, part)| *sum += part);
            }
        }
        let grads = std::iter::once(start).chain(total.into_iter().flatten());
        for (input, grad) in inputs.differentiable().zip(grads) {
            if input.needs_grad() {
                slots.put(input, self.upload(grad)?)?;
            }
        }
        Ok(())
    }
}

/// A group of samples that are simulated together.
struct Group<'a> {
    fields: &'a [Slices<'a>; 2],
    /// Noise of the steps, `(rows, steps)`.
    noise: &'a [f32],
    rows: usize,
    hidden: usize,
    steps: usize,
    dt: f32,
}

/// What the forward pass saves for a group of samples, concatenated: x before every step `(steps, rows)`, then for each
/// field the values of the first and of the second hidden layer, each `(steps, rows, H)`.
struct Saved<'a> {
    x: &'a [f32],
    hidden: [[&'a [f32]; 2]; 2],
}

impl<'a> Group<'a> {
    fn new(fields: &'a [Slices<'a>; 2], noise: &'a [f32], rows: usize, size: EulerSize) -> Self {
        Self {
            fields,
            noise,
            rows,
            hidden: size.hidden,
            steps: size.steps,
            dt: 1.0 / size.steps as f32,
        }
    }

    /// Number of values of a hidden layer in one step.
    fn layer(&self) -> usize {
        self.rows * self.hidden
    }

    /// The path `(rows, steps)`, and the values of [`Saved`].
    fn simulate(&self, start: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (layer, all) = (self.layer(), self.layer() * self.steps);
        let mut path = vec![0.0; self.rows * self.steps];
        let mut saved = vec![0.0; self.rows * self.steps + 4 * all];
        let (before, hidden) = saved.split_at_mut(self.rows * self.steps);
        let mut x = start.to_vec();
        for step in 0..self.steps {
            before[step * self.rows..][..self.rows].copy_from_slice(&x);
            let values: [[f32; ROWS]; 2] = std::array::from_fn(|field| {
                let (first, second) = hidden[2 * field * all..][..2 * all].split_at_mut(all);
                let first = &mut first[step * layer..][..layer];
                let second = &mut second[step * layer..][..layer];
                self.evaluate(field, step, &x, (first, second))
            });
            let root = self.dt.sqrt();
            for (row, x) in x.iter_mut().enumerate() {
                let noise = self.noise[row * self.steps + step];
                *x += values[0][row] * self.dt + values[1][row] * (root * noise);
                path[row * self.steps + step] = *x;
            }
        }
        (path, saved)
    }

    /// Evaluates a field (0 drift, 1 diffusion) at `x`, one value per row; `first`, `second` get hidden values.
    fn evaluate(
        &self,
        field: usize,
        step: usize,
        x: &[f32],
        (first, second): (&mut [f32], &mut [f32]),
    ) -> [f32; ROWS] {
        let [w1, b1, w2, b2, w3, b3] = self.fields[field];
        let (hidden, time) = (self.hidden, step as f32 * self.dt);
        simd!(first_layer(first, x, time, (w1, b1)));
        product(
            &mut MatrixMut::new(second, self.rows, hidden),
            Accumulate::Replace,
            Matrix::new(first, self.rows, hidden),
            Matrix::new(w2, hidden, hidden),
        );
        let mut values = [b3[0]; ROWS];
        simd!({
            for (row, value) in second.chunks_exact_mut(hidden).zip(&mut values) {
                for (h, bias) in row.iter_mut().zip(b2) {
                    *h = tanh(*h + bias);
                }
                *value += dot(row, w3);
            }
        });
        values
    }

    /// The gradients of the start (one per row) and of the parameters of both fields.
    fn backward(&self, saved: &[f32], grad: &[f32]) -> (Vec<f32>, [FieldParameters<Vec<f32>>; 2]) {
        let saved = self.saved(saved);
        let mut grads = [zeros(&self.fields[0]), zeros(&self.fields[1])];
        // Gradients before the second tanh for all steps, so that the gradient of the `(H, H)` weights is one product.
        let mut slopes = [self.zero_layers(self.steps), self.zero_layers(self.steps)];
        let mut first = self.zero_layers(1);
        let mut dx = [0.0; ROWS];
        let root = self.dt.sqrt();
        for step in (0..self.steps).rev() {
            let mut outer = [[0.0; ROWS]; 2];
            for row in 0..self.rows {
                let at = row * self.steps + step;
                dx[row] += grad[at];
                outer[0][row] = dx[row] * self.dt;
                outer[1][row] = dx[row] * (root * self.noise[at]);
            }
            for field in 0..2 {
                let slopes = &mut slopes[field][step * self.layer()..][..self.layer()];
                self.backward_step(
                    (field, step, &outer[field]),
                    &saved,
                    (slopes, &mut first),
                    (&mut grads[field], &mut dx),
                );
            }
        }
        let rows = self.steps * self.rows;
        for (field, slopes) in slopes.iter().enumerate() {
            let hidden = Matrix::new(saved.hidden[field][0], rows, self.hidden);
            let slopes = Matrix::new(slopes, rows, self.hidden);
            add_matmul_transposed_a(&mut grads[field][2], hidden, slopes);
        }
        (dx[..self.rows].to_vec(), grads)
    }

    /// Backward of one evaluation of a field: from the gradients `outer` of its values to those of its parameters
    /// (except the `(H, H)` weights) and of x.
    fn backward_step(
        &self,
        (field, step, outer): (usize, usize, &[f32; ROWS]),
        saved: &Saved<'_>,
        (second, first): (&mut [f32], &mut [f32]),
        (grads, dx): (&mut FieldParameters<Vec<f32>>, &mut [f32; ROWS]),
    ) {
        let (hidden, layer) = (self.hidden, self.layer());
        let [w1, _, w2, _, w3, _] = self.fields[field];
        let at = step * layer..(step + 1) * layer;
        let [h1, h2] = saved.hidden[field].map(|values| &values[at.clone()]);
        let [dw1, db1, _, db2, dw3, db3] = grads;
        simd!({
            let rows = second.chunks_exact_mut(hidden).zip(h2.chunks_exact(hidden));
            for ((second, h2), outer) in rows.zip(outer) {
                last_layer(second, h2, *outer, w3, (&mut *db2, &mut *dw3));
                db3[0] += outer;
            }
        });
        product(
            &mut MatrixMut::new(first, self.rows, hidden),
            Accumulate::Replace,
            Matrix::new(second, self.rows, hidden),
            Matrix::new(w2, hidden, hidden).transposed(),
        );
        let (time, x) = (step as f32 * self.dt, &saved.x[step * self.rows..]);
        let (by_time, by_x) = dw1.split_at_mut(hidden);
        simd!({
            let rows = first.chunks_exact_mut(hidden).zip(h1.chunks_exact(hidden));
            for ((row, (first, h1)), dx) in rows.enumerate().zip(dx) {
                let factors = (time, x[row]);
                let sums = (&mut *by_time, &mut *by_x, &mut db1[..]);
                inner_layer(first, h1, factors, sums);
                *dx += dot(first, &w1[hidden..]);
            }
        });
    }

    fn zero_layers(&self, steps: usize) -> Vec<f32> {
        vec![0.0; steps * self.layer()]
    }

    fn saved<'s>(&self, values: &'s [f32]) -> Saved<'s> {
        let all = self.layer() * self.steps;
        let (x, hidden) = values.split_at(self.rows * self.steps);
        let layer = |index: usize| &hidden[index * all..][..all];
        Saved {
            x,
            hidden: [[layer(0), layer(1)], [layer(2), layer(3)]],
        }
    }
}

/// `tanh([t, x] · W + b)`.
#[inline(always)]
fn first_layer(values: &mut [f32], x: &[f32], time: f32, (weight, bias): (&[f32], &[f32])) {
    let (by_time, by_x) = weight.split_at(bias.len());
    for (row, x) in values.chunks_exact_mut(bias.len()).zip(x) {
        let units = row.iter_mut().zip(by_time).zip(by_x).zip(bias);
        for (((value, by_time), by_x), bias) in units {
            *value = tanh(by_time * time + by_x * x + bias);
        }
    }
}

/// Backward pass of the last layer for one sample: writes the gradients before the second tanh to `slopes`, and adds
/// the gradients of the second bias and of the last weights.
#[inline(always)]
fn last_layer(
    slopes: &mut [f32],
    values: &[f32],
    outer: f32,
    weight: &[f32],
    (bias_grad, weight_grad): (&mut [f32], &mut [f32]),
) {
    let units = slopes.iter_mut().zip(values).zip(weight);
    for (((slope, value), weight), (bias, weight_grad)) in
        units.zip(bias_grad.iter_mut().zip(weight_grad))
    {
        *slope = outer * weight * (1.0 - value * value);
        *bias += *slope;
        *weight_grad += outer * value;
    }
}

/// Backward pass of the first layer for one sample: turns the gradients after tanh in `slopes` into those before it,
/// and adds the gradients of weights and biases.
#[inline(always)]
fn inner_layer(
    slopes: &mut [f32],
    values: &[f32],
    (time, x): (f32, f32),
    (by_time, by_x, bias): (&mut [f32], &mut [f32], &mut [f32]),
) {
    let sums = by_time.iter_mut().zip(by_x).zip(bias);
    for ((slope, value), ((by_time, by_x), bias)) in slopes.iter_mut().zip(values).zip(sums) {
        *slope *= 1.0 - value * value;
        *by_time += time * *slope;
        *by_x += x * *slope;
        *bias += *slope;
    }
}

/// The results of `run` for every group of samples, in order; on several threads if the work is large enough.
fn each_group<T: Send>(size: EulerSize, run: impl Fn(Range<usize>) -> T + Sync + Send) -> Vec<T> {
    let is_large = size.forward_flop() >= MIN_PARALLEL_FLOP;
    let values = if is_large { MIN_PARALLEL_LEN } else { 0 };
    map_chunks(size.batch, ROWS, values, run)
}

fn slices(fields: [FieldParameters<&Buffer<Cpu>>; 2]) -> [Slices<'_>; 2] {
    fields.map(|field| field.map(|values| values.as_slice()))
}

fn zeros(field: &Slices<'_>) -> FieldParameters<Vec<f32>> {
    field.map(|values| vec![0.0; values.len()])
}
