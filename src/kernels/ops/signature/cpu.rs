//! Path signatures on the CPU: one path per vector lane.

use std::ops::Range;

use dfdx::tensor::Cpu;
use pulp::{Simd, WithSimd};

use super::algebra::{LaneArithmetic, Singles, TruncatedTensorAlgebra};
use super::stream::{add_difference, increments, rows_of, to_lanes, totals};
use super::top::Top;
use super::{ProjectionInputs, SignatureProjectionKernel, SignatureSize};
use crate::device::{Backend, Buffer};
use crate::ops::aligned;
use crate::ops::chunks::map_chunks;
use crate::ops::simd::{dispatch_simd, f32_lanes};
use crate::ops::{GradSlots, Result};

/// Channels and depth of the model `CannedNet`, for which the loops are compiled with constant lengths.
const PAPER: (usize, usize) = (4, 3);

/// Gradients from a group of paths, one path per lane.
pub(super) struct GroupGrads {
    pub(super) path: Vec<f32>,
    pub(super) weight: Vec<f32>,
    pub(super) bias: f32,
}

impl SignatureProjectionKernel for Cpu {
    fn signature_projection(
        &self,
        inputs: &ProjectionInputs<Self>,
        size: SignatureSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)> {
        let groups = map_chunks(size.batch, f32_lanes(), size.values(), |group| {
            dispatch_simd(Project {
                path: inputs.path.data(),
                weight: inputs.weight.data(),
                bias: inputs.bias.data()[0],
                size,
                group,
            })
        });
        let (outputs, saved): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
        let saved = saved.into_iter().map(|saved| self.upload(saved));
        Ok((
            self.upload(outputs.concat())?,
            saved.collect::<Result<_, _>>()?,
        ))
    }

    fn signature_projection_backward(
        &self,
        inputs: &ProjectionInputs<Self>,
        saved: &[Buffer<Self>],
        size: SignatureSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let ProjectionInputs { path, weight, bias } = inputs;
        let grads = gradients(path.data(), weight.data(), saved, size, grad);
        let pairs = [
            (path, grads.path),
            (weight, grads.weight),
            (bias, vec![grads.bias]),
        ];
        for (input, grad) in pairs {
            if input.needs_grad() {
                slots.put(input, self.upload(grad)?)?;
            }
        }
        Ok(())
    }
}

/// The gradients from all paths; `saved` has what forward saved for each group.
pub(super) fn gradients(
    path: &[f32],
    weight: &[f32],
    saved: &[Buffer<Cpu>],
    size: SignatureSize,
    grad: &[f32],
) -> GroupGrads {
    let groups = map_chunks(size.batch, f32_lanes(), size.values(), |group| {
        let steps = size.points - 1;
        dispatch_simd(Backward {
            path,
            weight,
            signatures: &saved[group.start / f32_lanes()],
            size,
            grad: &grad[group.start * steps..group.end * steps],
            group,
        })
    });
    let mut total = GroupGrads {
        path: Vec::with_capacity(path.len()),
        weight: vec![0.0; weight.len()],
        bias: 0.0,
    };
    for group in groups {
        total.path.extend(group.path);
        let sums = total.weight.iter_mut().zip(group.weight);
        sums.for_each(|(sum, part)| *sum += part);
        total.bias += group.bias;
    }
    total
}

/// Forward for a group of paths. Returns the outputs, `(group, steps)`, and for backward all levels but the highest of
/// the signatures, `(steps, S − Cᴺ, lanes)`.
struct Project<'a> {
    path: &'a [f32],
    weight: &'a [f32],
    bias: f32,
    size: SignatureSize,
    group: Range<usize>,
}

impl WithSimd for Project<'_> {
    type Output = (Vec<f32>, Vec<f32>);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let with = Singles(simd);
        let of = Parts::new(self.weight, self.size);
        match (self.size.channels, self.size.depth) {
            PAPER => self.run(
                with,
                of.with(const { TruncatedTensorAlgebra::new(PAPER.0, PAPER.1) }),
            ),
            _ => self.run(with, of),
        }
    }
}

impl Project<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, with: Singles<S>, of: Parts<'_>) -> (Vec<f32>, Vec<f32>) {
        let (size, top, lower) = (self.size, &of.top, of.top.algebra.lower());
        let points = (size.points, size.channels);
        let d = increments(with, self.path, points, self.group.start);
        let (steps, len) = (size.points - 1, lower.len());
        // Aligned to vectors, and not filled with zeros first, which would take a sixth of the time.
        let mut saved = Vec::with_capacity(steps * len * S::F32_LANES + aligned::RESERVE);
        saved.resize(aligned::start(&saved), 0.0);
        let mut s = vec![with.splat(0.0); len];
        let mut chain = vec![with.splat(1.0); 1 + len];
        let mut high = with.splat(f64::from(self.bias));
        let mut outputs = vec![0.0; self.group.len() * steps];
        for (step, d) in d.chunks_exact(top.algebra.channels).enumerate() {
            high = with.add(high, top.step(with, &s, d, &mut chain));
            lower.extend(with, &mut s, d, &mut chain[1..]);
            let mut sum = high;
            for (entry, weight) in s.iter().zip(of.lower) {
                sum = with.mul_add(*entry, with.splat(f64::from(*weight)), sum);
            }
            saved.extend_from_slice(Singles::<S>::numbers(&s));
            let rows = outputs.chunks_exact_mut(steps);
            for (row, sum) in rows.zip(Singles::<S>::numbers(&[sum])) {
                row[step] = *sum;
            }
        }
        (outputs, saved)
    }
}

/// Backward for a group of paths; `grad` is the gradient of the group's outputs, `(paths, steps)`.
struct Backward<'a> {
    path: &'a [f32],
    weight: &'a [f32],
    signatures: &'a [f32],
    size: SignatureSize,
    grad: &'a [f32],
    group: Range<usize>,
}

impl WithSimd for Backward<'_> {
    type Output = GroupGrads;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> GroupGrads {
        let with = Singles(simd);
        let of = Parts::new(self.weight, self.size);
        match (self.size.channels, self.size.depth) {
            PAPER => self.run(
                with,
                of.with(const { TruncatedTensorAlgebra::new(PAPER.0, PAPER.1) }),
            ),
            _ => self.run(with, of),
        }
    }
}

impl Backward<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, with: Singles<S>, of: Parts<'_>) -> GroupGrads {
        let (size, top, lower) = (self.size, &of.top, of.top.algebra.lower());
        let points = (size.points, size.channels);
        let d = increments(with, self.path, points, self.group.start);
        let (steps, len) = (size.points - 1, lower.len());
        let start = aligned::start(self.signatures);
        let signatures = &self.signatures[start..][..steps * len * S::F32_LANES];
        let signatures = Singles::<S>::vectors(signatures);
        let zero = with.splat(0.0);
        // Lanes without a path keep a gradient of 0.
        let mut dy = vec![zero; steps];
        to_lanes::<Singles<S>>(self.grad.chunks_exact(steps), &mut dy);
        let beginning = vec![zero; len];
        let mut sums = vec![zero; top.algebra.len()];
        let (mut high, mut dd) = (zero, vec![zero; size.channels]);
        let (mut adjoint, mut slopes) = (vec![zero; len], vec![zero; 1 + len]);
        let (mut chain, mut work) = (vec![with.splat(1.0); 1 + len], vec![zero; 2 * len]);
        let mut gradient = vec![zero; d.len() + size.channels];
        let (low_sums, top_sums) = sums.split_at_mut(len);
        let pieces = d.chunks_exact(top.algebra.channels).zip(&dy);
        for (step, (d, slope)) in pieces.enumerate().rev() {
            let low = adjoint.iter_mut().zip(&mut *low_sums).zip(of.lower);
            for (((adjoint, sum), weight), entry) in low.zip(&signatures[step * len..]) {
                *adjoint = with.mul_add(*slope, with.splat(f64::from(*weight)), *adjoint);
                *sum = with.mul_add(*slope, *entry, *sum);
            }
            high = with.add(high, *slope);
            let before = match step.checked_sub(1) {
                Some(last) => &signatures[last * len..][..len],
                None => &beginning,
            };
            dd.fill(zero);
            let found = (&mut dd[..], &mut *top_sums);
            top.backward_step(with, high, (before, d), found, (&mut chain, &mut slopes));
            lower.extend_backward(with, (before, d), &mut adjoint, &mut dd, &mut work);
            for (adjoint, slope) in adjoint.iter_mut().zip(&slopes[1..]) {
                *adjoint = with.add(*adjoint, *slope);
            }
            add_difference(with, &mut gradient[step * size.channels..], &dd);
        }
        GroupGrads {
            path: rows_of::<Singles<S>>(&gradient, self.group.len()),
            weight: totals(with, &sums),
            // The sum of the gradients of all steps' outputs.
            bias: with.0.reduce_sum_f32s(high),
        }
    }
}

#[derive(Clone, Copy)]
struct Parts<'a> {
    /// The weights of all levels but the highest; `top` has those of the highest.
    lower: &'a [f32],
    top: Top<'a>,
}

impl<'a> Parts<'a> {
    #[inline(always)]
    fn new(weight: &'a [f32], size: SignatureSize) -> Self {
        let algebra = TruncatedTensorAlgebra::new(size.channels, size.depth);
        let (lower, weight) = weight.split_at(algebra.lower().len());
        Self {
            lower,
            top: Top { algebra, weight },
        }
    }

    /// Replaces the algebra by an equal one whose sizes are compile-time constants.
    #[inline(always)]
    fn with(mut self, algebra: TruncatedTensorAlgebra) -> Self {
        self.top.algebra = algebra;
        self
    }
}
