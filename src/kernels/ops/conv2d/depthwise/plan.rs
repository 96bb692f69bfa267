//! [`Plan`]: for every value of a depthwise convolution, the taps of the kernel and the source values whose products it
//! sums.

use crate::ops::{Conv2dOptions, Conv2dSize};

/// Largest number of columns of a [`Block`]; a vector of weights is loaded once for all columns of a block.
const WIDEST: usize = 8;

/// Along one axis: the index of a tap of the kernel, and the source row or column that it is multiplied with.
type Tap = (usize, usize);

/// Where a tap's values begin: in the weight, and in the source relative to the first source row.
#[derive(Debug)]
pub(super) struct Offsets {
    pub(super) weight: usize,
    pub(super) source: usize,
}

/// Columns of a target row that read the same taps. Neighbouring columns of a block are `target_step` apart in the
/// target row and `source_step` apart in the source row.
#[derive(Debug)]
pub(super) struct Block {
    /// Offset of the block's first column in the target row, in values.
    pub(super) target: usize,
    /// Number of columns: 8, 4, 2 or 1.
    pub(super) columns: usize,
    /// Taps of the first column; source offsets count from the first source row that the target row reads.
    pub(super) taps: Vec<Offsets>,
}

/// How the targets of a depthwise convolution are summed from its sources. Forward, targets are results and sources are
/// input pixels; for the input's gradient it is the reverse. All offsets and steps are in values.
#[derive(Debug)]
pub(super) struct Plan {
    /// For each target row of an image, its entry in `kinds` and the offset of its first source row.
    rows: Vec<(usize, usize)>,
    /// The blocks of every kind of target row; rows that read the same taps relative to their first source row are of
    /// one kind.
    kinds: Vec<Vec<Block>>,
    /// Distances between neighbouring columns of a block, in target and source.
    pub(super) target_step: usize,
    pub(super) source_step: usize,
    /// Number of values of a target row, and of a source image.
    pub(super) target_row: usize,
    pub(super) source_image: usize,
    pub(super) channels: usize,
    /// Number of values between the taps of the weight; at least `channels`.
    pub(super) weight_row: usize,
}

impl Plan {
    /// The plan that sums results from input pixels; the taps of the weight are `weight_row` values apart.
    pub(super) fn forward(size: &Conv2dSize, weight_row: usize) -> Self {
        let ((h, w), (ho, wo)) = (size.input, size.output);
        let rows = taps_of_results(h, ho, size.kernel.0, size.options);
        let columns = taps_of_results(w, wo, size.kernel.1, size.options);
        let steps = (1, size.options.stride);
        Self::new(size, (&rows, &columns), (h, w), steps, weight_row)
    }

    /// The plan that sums gradients of input pixels from gradients of results.
    pub(super) fn backward(size: &Conv2dSize) -> Self {
        let ((h, w), (ho, wo)) = (size.input, size.output);
        let rows = inverse(&taps_of_results(h, ho, size.kernel.0, size.options), h);
        let columns = inverse(&taps_of_results(w, wo, size.kernel.1, size.options), w);
        let (steps, weight_row) = ((size.options.stride, 1), size.channels.1);
        Self::new(size, (&rows, &columns), (ho, wo), steps, weight_row)
    }

    fn new(
        size: &Conv2dSize,
        (rows, columns): (&[Vec<Tap>], &[Vec<Tap>]),
        source: (usize, usize),
        (target_step, source_step): (usize, usize),
        weight_row: usize,
    ) -> Self {
        let channels = size.channels.1;
        let (width, source_row) = (size.kernel.1, source.1 * channels);
        let blocks = blocks(columns, target_step, source_step);
        let mut patterns: Vec<Vec<Tap>> = Vec::new();
        let mut numbered = Vec::with_capacity(rows.len());
        for taps in rows {
            let first = taps.iter().map(|tap| tap.1).min().unwrap_or(0);
            let pattern: Vec<Tap> = taps.iter().map(|tap| (tap.0, tap.1 - first)).collect();
            let known = patterns.iter().position(|known| *known == pattern);
            numbered.push((known.unwrap_or(patterns.len()), first * source_row));
            if known.is_none() {
                patterns.push(pattern);
            }
        }
        let block = |down: &[Tap], (start, columns, across): &(usize, usize, Vec<Tap>)| Block {
            target: start * channels,
            columns: *columns,
            taps: down
                .iter()
                .flat_map(|(r, y)| across.iter().map(move |(s, x)| (r, y, s, x)))
                .map(|(r, y, s, x)| Offsets {
                    weight: (r * width + s) * weight_row,
                    source: y * source_row + x * channels,
                })
                .collect(),
        };
        let kinds = patterns
            .iter()
            .map(|down| blocks.iter().map(|across| block(down, across)).collect())
            .collect();
        Self {
            rows: numbered,
            kinds,
            target_step: target_step * channels,
            source_step: source_step * channels,
            target_row: columns.len() * channels,
            source_image: source.0 * source_row,
            channels,
            weight_row,
        }
    }

    /// The blocks of a target row, numbered over the whole batch, and the offset in the sources of the first source row
    /// that it reads.
    pub(super) fn row(&self, row: usize) -> (&[Block], usize) {
        let (image, row) = (row / self.rows.len(), row % self.rows.len());
        let (kind, first) = self.rows[row];
        (&self.kinds[kind], image * self.source_image + first)
    }
}

/// For each result along one axis, its taps that lie inside the input, with the input pixels that they read.
fn taps_of_results(
    input: usize,
    output: usize,
    kernel: usize,
    options: Conv2dOptions,
) -> Vec<Vec<Tap>> {
    let taps = |result: usize| {
        let pixel = move |tap: usize| {
            (result * options.stride + tap * options.dilation).checked_sub(options.padding)
        };
        let inside = (0..kernel).filter_map(move |tap| Some((tap, pixel(tap)?)));
        inside.filter(|(_, pixel)| *pixel < input).collect()
    };
    (0..output).map(taps).collect()
}

/// Inverts [`taps_of_results`]: for each of `len` sources, the taps and targets that read it.
fn inverse(targets: &[Vec<Tap>], len: usize) -> Vec<Vec<Tap>> {
    let mut sources = vec![Vec::new(); len];
    for (target, taps) in targets.iter().enumerate() {
        for (tap, source) in taps {
            sources[*source].push((*tap, target));
        }
    }
    sources
}

/// Cuts the columns into blocks of equal taps; returns each block's first column, number of columns, and first column's
/// taps.
fn blocks(
    columns: &[Vec<Tap>],
    target_step: usize,
    source_step: usize,
) -> Vec<(usize, usize, Vec<Tap>)> {
    let follows = |start: usize, number: usize| {
        columns
            .get(start + number * target_step)
            .is_some_and(|taps| {
                let shifted = columns[start]
                    .iter()
                    .map(|(tap, source)| (*tap, source + number * source_step));
                shifted.eq(taps.iter().copied())
            })
    };
    let mut blocks = Vec::new();
    for phase in 0..target_step.min(columns.len()) {
        let mut start = phase;
        while start < columns.len() {
            let alike = (1..WIDEST).take_while(|number| follows(start, *number));
            let alike = 1 + alike.count();
            // A block has 8, 4, 2 or 1 columns.
            let count = 1 << alike.ilog2();
            blocks.push((start, count, columns[start].clone()));
            start += count * target_step;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_cut_where_their_taps_change() {
        let cut = |input, output, stride| {
            let options = Conv2dOptions {
                stride,
                padding: 1,
                ..Conv2dOptions::default()
            };
            let taps = taps_of_results(input, output, 3, options);
            let starts_and_counts = |blocks: Vec<(usize, usize, Vec<Tap>)>| -> Vec<_> {
                blocks.into_iter().map(|block| (block.0, block.1)).collect()
            };
            (
                starts_and_counts(blocks(&taps, 1, stride)),
                starts_and_counts(blocks(&inverse(&taps, input), stride, 1)),
            )
        };
        let both = vec![(0, 1), (1, 8), (9, 2), (11, 1)];
        assert_eq!(cut(12, 12, 1), (both.clone(), both));
        let forward = vec![(0, 1), (1, 4), (5, 1)];
        // Even pixels meet one tap and odd pixels two, except the last pixel, which meets one.
        let backward = vec![(0, 4), (8, 2), (1, 4), (9, 1), (11, 1)];
        assert_eq!(cut(12, 6, 2), (forward, backward));
    }
}
