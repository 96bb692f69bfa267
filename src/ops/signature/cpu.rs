//! Signatures on the CPU: as many paths at a time as a vector has lanes.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd_vectors`"
)]

use std::ops::Range;

use dfdx::tensor::Cpu;
use pulp::{Simd, WithSimd};

use super::algebra::{Algebra, Arithmetic, Singles};
use super::stream::{increments, rows_of, stream, unwind};
use super::{ProjectionGrads, SignatureKernel, SignatureSize};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::aligned;
use crate::ops::chunks::map_chunks;
use crate::ops::simd::{lanes, simd_vectors};

/// What a group of paths gives backward.
struct GroupGrads {
    path: Vec<f32>,
    weight: Vec<f32>,
    bias: f32,
}

impl SignatureKernel for Cpu {
    fn signature_projection(
        &self,
        path: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: &Buffer<Self>,
        size: SignatureSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>), OpError> {
        let groups = map_chunks(size.batch, lanes(), size.values(), |group| {
            simd_vectors(Project {
                path,
                weight,
                bias: bias[0],
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
        path: &Buffer<Self>,
        weight: &Buffer<Self>,
        saved: &[Buffer<Self>],
        size: SignatureSize,
        grad: &Buffer<Self>,
    ) -> Result<ProjectionGrads<Self>, OpError> {
        let groups = map_chunks(size.batch, lanes(), size.values(), |group| {
            let steps = size.points - 1;
            simd_vectors(Backward {
                path,
                weight,
                signatures: &saved[group.start / lanes()],
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
        Ok(ProjectionGrads {
            path: self.upload(total.path)?,
            weight: self.upload(total.weight)?,
            bias: self.upload(vec![total.bias])?,
        })
    }
}

/// `(group, steps)` outputs, and the signatures `(steps, S, lanes)` that backward needs.
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
        let (with, size) = (Singles(simd), self.size);
        let algebra = Algebra::new(size.channels, size.depth);
        let points = (size.points, size.channels);
        let d = increments(with, self.path, points, self.group.start);
        let (steps, len) = (size.points - 1, algebra.len());
        let mut saved = vec![0.0; steps * len * S::F32_LANES + aligned::RESERVE];
        let start = aligned::start(&saved);
        let signatures = &mut saved[start..][..steps * len * S::F32_LANES];
        let signatures = Singles::<S>::vectors_mut(signatures);
        stream(with, algebra, &d, signatures);
        let mut outputs = vec![0.0; self.group.len() * steps];
        for (step, signature) in signatures.chunks_exact(len).enumerate() {
            // Four sums, so that no product waits for the one before it.
            let mut sums = [with.splat(0.0); 4];
            let entries = signature.chunks(4).zip(self.weight.chunks(4));
            for (entries, weights) in entries {
                for ((sum, entry), weight) in sums.iter_mut().zip(entries).zip(weights) {
                    *sum = with.mul_add(*entry, simd.splat_f32s(*weight), *sum);
                }
            }
            let [a, b, c, d] = sums;
            let sum = with.add(with.add(a, b), with.add(c, d));
            let sum = [with.add(sum, simd.splat_f32s(self.bias))];
            let rows = outputs.chunks_exact_mut(steps);
            for (row, sum) in rows.zip(Singles::<S>::numbers(&sum)) {
                row[step] = *sum;
            }
        }
        (outputs, saved)
    }
}

/// The way back of a group; `grad` is its own, `(group, steps)`.
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
        let (with, size) = (Singles(simd), self.size);
        let algebra = Algebra::new(size.channels, size.depth);
        let points = (size.points, size.channels);
        let d = increments(with, self.path, points, self.group.start);
        let (steps, len) = (size.points - 1, algebra.len());
        let start = aligned::start(self.signatures);
        let signatures = &self.signatures[start..][..steps * len * S::F32_LANES];
        let signatures = Singles::<S>::vectors(signatures);
        let mut sums = vec![with.splat(0.0); len];
        let mut bias = with.splat(0.0);
        let gradient = unwind(
            with,
            algebra,
            &d,
            signatures,
            #[inline(always)]
            |step, adjoint| {
                // Lanes without a path have no slope.
                let mut slope = [with.splat(0.0)];
                let rows = self.grad.chunks_exact(steps);
                for (slope, row) in Singles::<S>::numbers_mut(&mut slope).iter_mut().zip(rows) {
                    *slope = row[step];
                }
                let [slope] = slope;
                let signature = &signatures[step * len..][..len];
                let entries = adjoint.iter_mut().zip(self.weight);
                for (((adjoint, weight), sum), entry) in entries.zip(&mut sums).zip(signature) {
                    *adjoint = with.mul_add(slope, simd.splat_f32s(*weight), *adjoint);
                    *sum = with.mul_add(slope, *entry, *sum);
                }
                bias = with.add(bias, slope);
            },
        );
        let total = |sum: &S::f32s| simd.reduce_sum_f32s(*sum);
        GroupGrads {
            path: rows_of::<Singles<S>>(&gradient, self.group.len()),
            weight: sums.iter().map(total).collect(),
            bias: total(&bias),
        }
    }
}
