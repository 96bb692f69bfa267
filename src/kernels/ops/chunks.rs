//! Loops over rows and sums in fixed chunks; elementwise loops are in [`super::parallel`].

use std::ops::Range;

use super::parallel::{CHUNK, MIN_PARALLEL_LEN, for_each_chunk, for_each_zipped, map_items};

/// Calls `kernel` with groups of whole rows of `out`, each with the index of its first row.
///
/// A group has about [`CHUNK`] values, at least one row.
pub fn for_rows(out: &mut [f32], row_len: usize, kernel: impl Fn(usize, &mut [f32]) + Sync) {
    let rows = rows_per_chunk(row_len);
    for_each_chunk(out, rows * row_len, |start, chunk| {
        kernel(start / row_len, chunk);
    });
}

/// Calls `kernel` for every group of `rows` whole rows of `out`, with the index of the group's first row, the rows, and
/// the chunk of `each` values of `beside` that belongs to the group.
pub fn for_rows_zipped(
    out: &mut [f32],
    (rows, row_len): (usize, usize),
    (beside, each): (&mut [f32], usize),
    kernel: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    let large = out.len() >= MIN_PARALLEL_LEN;
    for_each_zipped(
        large,
        [(out, rows * row_len), (beside, each)],
        |group, [out, beside]| {
            kernel(group * rows, out, beside);
        },
    );
}

/// Number of rows in a group of [`for_rows`].
pub fn rows_per_chunk(row_len: usize) -> usize {
    (CHUNK / row_len.max(1)).max(1)
}

/// Sum of `term` over a row in sixteen lanes: a fixed order that vectorises. Call it from inside `simd!`.
#[inline(always)]
pub fn sum_row(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; 16];
    let blocks = row.chunks_exact(16);
    let rest: f32 = blocks.remainder().iter().map(|&x| term(x)).sum();
    for block in blocks {
        for (sum, &x) in sums.iter_mut().zip(block) {
            *sum += term(x);
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Sum of the products `a[i] b[i]` in sixteen lanes, as [`sum_row`].
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    if a.is_empty() {
        return rest;
    }
    sums.iter().sum::<f32>() + rest
}

/// `Σ (a − b)²` in eight lanes; differences in f32, the sum in f64.
#[inline(always)]
pub fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    sum_of_differences(a, b, |difference| difference * difference)
}

/// Sum of `term` over the differences `a − b`, in eight lanes as [`squared_distance`]. Call it from inside `simd!`.
#[inline(always)]
pub fn sum_of_differences(a: &[f32], b: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0_f64; 8];
    let ((groups, rest), (other_groups, other_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in groups.iter().zip(other_groups) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += term(f64::from(a - b));
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(rest).zip(other_rest) {
        *sum += term(f64::from(a - b));
    }
    sums.iter().sum()
}

/// Adds up `partial` over the chunks of `0..len`, in index order.
pub fn sum_chunks(len: usize, partial: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    // `fold` from 0 instead of `sum`, whose result for no values is -0.
    map_chunks(len, CHUNK, len, partial)
        .iter()
        .fold(0.0, |sum, part| sum + part)
}

/// Collects `map` of every range of `chunk` indices of `0..len`, in index order; `values`, the amount of work, decides
/// whether several threads are used.
pub fn map_chunks<T: Send>(
    len: usize,
    chunk: usize,
    values: usize,
    map: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let call = |index: usize| map(index * chunk..len.min((index + 1) * chunk));
    let chunks = len.div_ceil(chunk);
    map_items(values >= MIN_PARALLEL_LEN && chunks > 1, 0..chunks, call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_cover_every_value_once() {
        for len in [0, 1, CHUNK, CHUNK + 1, MIN_PARALLEL_LEN + 7] {
            assert_eq!(
                sum_chunks(len, |range| range.len() as f64).to_bits(),
                (len as f64).to_bits()
            );
        }
    }

    #[test]
    fn rows_stay_whole() {
        let mut out = vec![-1.0; 3 * 40_000];
        for_rows(&mut out, 40_000, |row, chunk| {
            assert_eq!(chunk.len(), 40_000);
            chunk.fill(row as f32);
        });
        assert_eq!(
            [out[0], out[40_000], out[119_999]].map(|value| value as i32),
            [0, 1, 2]
        );
    }
}
