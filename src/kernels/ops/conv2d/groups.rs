//! Convolutions on the CPU whose channels are in groups: the channels of each group are copied to contiguous memory,
//! and every group is convolved separately.

use super::Conv2dSize;
use crate::ops::chunks::for_rows;
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{MIN_PARALLEL_FLOP, MIN_PARALLEL_LEN, for_each_chunk_if, for_each_item};
use crate::ops::scratch::with_scratch;

/// Number of values that one task copies at a time; they stay in the L2 cache while the groups read their channels.
const BLOCK: usize = 1 << 15;

/// Calls `convolve` for every group with its index, the size of one group's convolution, the group's part of both
/// inputs and of the result. Each of the three slices is given with its number of channels per group.
pub(super) fn for_each_group(
    size: &Conv2dSize,
    [(a, a_channels), (b, b_channels)]: [(&[f32], usize); 2],
    (result, channels, accumulate): (&mut [f32], usize, Accumulate),
    convolve: impl Fn(usize, &Conv2dSize, [&[f32]; 2], &mut [f32]) + Sync,
) {
    let (groups, own) = (size.options.groups, size.of_group());
    let [a_len, b_len, len] = [a.len(), b.len(), result.len()].map(|len| len / groups);
    with_scratch(a.len() + b.len() + result.len(), |memory| {
        let (a_own, rest) = memory.split_at_mut(a.len());
        let (b_own, result_own) = rest.split_at_mut(b.len());
        gather(a, groups, a_channels, a_own);
        gather(b, groups, b_channels, b_own);
        let large = size.flop() >= MIN_PARALLEL_FLOP;
        for_each_chunk_if(large, result_own, len, |start, result| {
            let group = start / len;
            let inputs = [
                &a_own[group * a_len..][..a_len],
                &b_own[group * b_len..][..b_len],
            ];
            convolve(group, &own, inputs, result);
        });
        scatter(result_own, groups, channels, (result, accumulate));
    });
}

/// `to[group, row, n] = from[row, group, n]`.
fn gather(from: &[f32], groups: usize, channels: usize, to: &mut [f32]) {
    let row = groups * channels;
    let rows = (BLOCK / row).max(1);
    let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
    parts.resize_with(from.len().div_ceil(rows * row), Vec::new);
    for to in to.chunks_mut(from.len() / groups) {
        for (parts, part) in parts.iter_mut().zip(to.chunks_mut(rows * channels)) {
            parts.push(part);
        }
    }
    let copy = |(parts, from): (Vec<&mut [f32]>, &[f32])| {
        for (group, part) in parts.into_iter().enumerate() {
            let rows = part.chunks_exact_mut(channels).zip(from.chunks_exact(row));
            for (to, from) in rows {
                copy_few(to, &from[group * channels..]);
            }
        }
    };
    let parts = parts.into_iter().zip(from.chunks(rows * row));
    for_each_item(from.len() >= MIN_PARALLEL_LEN, parts, copy);
}

/// The inverse of [`gather`], which overwrites `to` or adds to it.
fn scatter(
    from: &[f32],
    groups: usize,
    channels: usize,
    (to, accumulate): (&mut [f32], Accumulate),
) {
    let (row, group) = (groups * channels, from.len() / groups);
    for_rows(to, row, |first, to| {
        for (index, to) in to.chunks_exact_mut(row).enumerate() {
            let from = &from[(first + index) * channels..];
            for (number, to) in to.chunks_exact_mut(channels).enumerate() {
                let from = &from[number * group..];
                match accumulate {
                    Accumulate::Replace => copy_few(to, from),
                    Accumulate::Add => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
                }
            }
        }
    });
}

/// Copies the first `to.len()` values of `from`. A loop, since for few values it is faster than a call of `memcpy`.
#[inline(always)]
fn copy_few(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}
