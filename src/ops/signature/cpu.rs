//! Signatures on the CPU: sixteen paths at a time, one in each lane of a vector.

use std::ops::Range;

use dfdx::tensor::Cpu;

use super::algebra::Algebra;
use super::stream::{increments, stream, unwind};
use super::{ProjectionGrads, SignatureKernel, SignatureSize};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::chunks::map_chunks;
use crate::ops::simd::simd;

/// Paths of a group.
const LANES: usize = 16;

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
        let groups = map_chunks(size.batch, LANES, size.values(), |group| {
            simd(
                #[inline(always)]
                || project(path, (weight, bias[0]), size, &group),
            )
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
        let groups = map_chunks(size.batch, LANES, size.values(), |group| {
            let saved = saved[group.start / LANES].as_chunks().0;
            simd(
                #[inline(always)]
                || backward(path, weight, saved, size, (grad, &group)),
            )
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

/// `(group, steps)` outputs, and the signatures `(steps, S, LANES)` that backward needs.
#[inline(always)]
fn project(
    path: &[f32],
    (weight, bias): (&[f32], f32),
    size: SignatureSize,
    group: &Range<usize>,
) -> (Vec<f32>, Vec<f32>) {
    let algebra = Algebra::new(size.channels, size.depth);
    let d = increments::<f32, f32, LANES>(path, (size.points, size.channels), group.start, |x| x);
    let signatures = stream(algebra, &d);
    let steps = size.points - 1;
    let mut outputs = vec![0.0; group.len() * steps];
    for (step, signature) in signatures.chunks_exact(algebra.len()).enumerate() {
        let mut sum = [bias; LANES];
        for (entry, weight) in signature.iter().zip(weight) {
            for lane in 0..LANES {
                sum[lane] += entry[lane] * weight;
            }
        }
        for (row, sum) in outputs.chunks_exact_mut(steps).zip(sum) {
            row[step] = sum;
        }
    }
    (outputs, signatures.into_flattened())
}

#[inline(always)]
fn backward(
    path: &[f32],
    weight: &[f32],
    signatures: &[[f32; LANES]],
    size: SignatureSize,
    (grad, group): (&[f32], &Range<usize>),
) -> GroupGrads {
    let algebra = Algebra::new(size.channels, size.depth);
    let d = increments::<f32, f32, LANES>(path, (size.points, size.channels), group.start, |x| x);
    let (steps, len) = (size.points - 1, algebra.len());
    let grad = &grad[group.start * steps..group.end * steps];
    let mut sums = vec![[0.0_f32; LANES]; len];
    let mut bias = [0.0_f32; LANES];
    let gradient = unwind(
        algebra,
        &d,
        signatures,
        #[inline(always)]
        |step, adjoint| {
            let mut slope = [0.0_f32; LANES];
            for (slope, row) in slope.iter_mut().zip(grad.chunks_exact(steps)) {
                *slope = row[step];
            }
            let signature = &signatures[step * len..][..len];
            let entries = adjoint.iter_mut().zip(weight).zip(&mut sums).zip(signature);
            for (((adjoint, weight), sum), entry) in entries {
                for lane in 0..LANES {
                    adjoint[lane] += slope[lane] * weight;
                    sum[lane] += slope[lane] * entry[lane];
                }
            }
            for lane in 0..LANES {
                bias[lane] += slope[lane];
            }
        },
    );
    let mut paths = Vec::with_capacity(group.len() * gradient.len());
    for lane in 0..group.len() {
        paths.extend(gradient.iter().map(|point| point[lane]));
    }
    GroupGrads {
        path: paths,
        weight: sums.iter().map(|sum| sum.iter().sum()).collect(),
        bias: bias.iter().sum(),
    }
}
