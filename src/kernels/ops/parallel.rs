//! When CPU kernels use several threads, and how they split their work.
//!
//! Work is split by shape alone into chunks of a fixed length, so that results do not depend on the number of threads.
//! Handing work to rayon costs tens of microseconds (measured), hence the thresholds.

use rayon::prelude::*;

/// Number of values below which an elementwise loop runs on the calling thread only.
pub const MIN_PARALLEL_LEN: usize = 1 << 16;

/// Number of floating-point operations below which a matrix product runs on the calling thread only.
pub const MIN_PARALLEL_FLOP: usize = 2_000_000;

/// Number of values in one chunk of an elementwise loop: 64 KiB, so that a chunk of three operands stays in the L2
/// cache.
pub const CHUNK: usize = 1 << 14;

/// Calls `kernel(start, chunk)` for every chunk of `chunk` values of `output`, on several threads when `output` is
/// large; `start` is the chunk's first index.
pub fn for_each_chunk(output: &mut [f32], chunk: usize, kernel: impl Fn(usize, &mut [f32]) + Sync) {
    let large = output.len() >= MIN_PARALLEL_LEN;
    for_each_chunk_if(large, output, chunk, kernel);
}

/// As [`for_each_chunk`] for two outputs of one length.
///
/// # Panics
/// When the two differ in length, which is a bug of the caller.
pub fn for_each_chunk_pair(
    first: &mut [f32],
    second: &mut [f32],
    chunk: usize,
    kernel: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    assert_eq!(first.len(), second.len(), "two outputs of one length");
    let large = first.len() >= MIN_PARALLEL_LEN;
    for_each_zipped(large, [(first, chunk), (second, chunk)], |index, [a, b]| {
        kernel(index * chunk, a, b);
    });
}

/// As [`for_each_chunk`], on several threads if `parallel`.
pub fn for_each_chunk_if(
    parallel: bool,
    output: &mut [f32],
    chunk: usize,
    kernel: impl Fn(usize, &mut [f32]) + Sync,
) {
    // `chunk` may be 0 for an empty output, but slices cannot be split into chunks of 0 values.
    let chunk = chunk.max(1);
    if parallel {
        for_each_chunk_in_parallel(output, chunk, &kernel);
    } else {
        let chunks = output.chunks_mut(chunk).enumerate();
        chunks.for_each(|(index, values)| kernel(index * chunk, values));
    }
}

/// Takes a trait object, so that rayon's large code is compiled once and not for every closure.
fn for_each_chunk_in_parallel(
    output: &mut [f32],
    chunk: usize,
    kernel: &(dyn Fn(usize, &mut [f32]) + Sync),
) {
    let chunks = output.par_chunks_mut(chunk).enumerate();
    chunks.for_each(|(index, values)| kernel(index * chunk, values));
}

/// Splits each of `outputs`, given with the length of its chunks, and calls `kernel(index, chunks)` with the chunk
/// number `index` of every output, until one output has no more chunks. If `parallel`, it does so on several threads in
/// any order.
pub fn for_each_zipped<const N: usize>(
    parallel: bool,
    outputs: [(&mut [f32], usize); N],
    kernel: impl Fn(usize, [&mut [f32]; N]) + Sync,
) {
    let mut chunks = outputs.map(|(output, len)| output.chunks_mut(len.max(1)));
    let zipped = std::iter::from_fn(|| {
        let group = chunks.each_mut().map(Iterator::next);
        let whole = group.iter().all(Option::is_some);
        whole.then(|| group.map(Option::unwrap_or_default))
    });
    for_each_item(parallel, zipped.enumerate(), |(index, group)| {
        kernel(index, group);
    });
}

/// Calls `task` with every index below `count`, on several threads if `parallel`.
pub fn for_each_index(parallel: bool, count: usize, task: impl Fn(usize) + Sync) {
    for_each_item(parallel, 0..count, task);
}

/// Calls `task` with every item, on several threads if `parallel`.
pub fn for_each_item<T: Send>(
    parallel: bool,
    items: impl Iterator<Item = T>,
    task: impl Fn(T) + Sync,
) {
    if parallel {
        for_each_in_parallel(items.collect(), &task);
    } else {
        items.for_each(task);
    }
}

/// Takes a trait object, so that rayon's large code is compiled once for each type of item and not for every closure.
fn for_each_in_parallel<T: Send>(items: Vec<T>, task: &(dyn Fn(T) + Sync)) {
    items.into_par_iter().for_each(task);
}

/// Collects `map` of every item, in the order of the items; on several threads if `parallel`.
pub fn map_items<T: Send, R: Send>(
    parallel: bool,
    items: impl Iterator<Item = T>,
    map: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if parallel {
        map_in_parallel(items.collect(), &map)
    } else {
        items.map(map).collect()
    }
}

/// Takes a trait object, so that rayon's large code is compiled once for each pair of types and not for every closure.
fn map_in_parallel<T: Send, R: Send>(items: Vec<T>, map: &(dyn Fn(T) -> R + Sync)) -> Vec<R> {
    items.into_par_iter().map(map).collect()
}

/// `target += values`, elementwise.
pub fn add_assign(target: &mut [f32], values: &[f32]) {
    for_each_chunk(target, CHUNK, |start, target| {
        let values = &values[start..start + target.len()];
        super::simd::simd!({
            for (t, v) in target.iter_mut().zip(values) {
                *t += v;
            }
        });
    });
}
