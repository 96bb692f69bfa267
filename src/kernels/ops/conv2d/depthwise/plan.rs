//! [`Plan`]: which taps of the kernel every value of a depthwise convolution sums, and from where.

use crate::ops::{Conv2dOptions, Conv2dSize};

/// Largest number of columns of a [`Block`]: a vector of weights is read once for all of them.
const WIDEST: usize = 8;

/// A tap of the kernel along one axis, and the source row or column that it reads.
type Tap = (usize, usize);

/// The taps of the kernel, as offsets of their first channel.
#[derive(Debug)]
pub(super) struct Offsets {
    pub(super) weight: usize,
    pub(super) source: usize,
}

/// Columns of a target row that read the same taps, `target_step` columns apart; the columns that they read are
/// `source_step` apart.
#[derive(Debug)]
pub(super) struct Block {
    /// Offset of the first column in the target row.
    pub(super) target: usize,
    /// 8, 4, 2 or 1.
    pub(super) columns: usize,
    /// Offsets from the first source row that the target row reads.
    pub(super) taps: Vec<Offsets>,
}

/// How targets (results, or for the input's gradient pixels) are summed from sources (the others). Offsets are in values.
#[derive(Debug)]
pub(super) struct Plan {
    /// For each target row of an image, its entry in `kinds` and the offset of its first source row.
    rows: Vec<(usize, usize)>,
    /// Target rows that read the same taps share their blocks.
    kinds: Vec<Vec<Block>>,
    /// Distances in values between the columns of a block.
    pub(super) target_step: usize,
    pub(super) source_step: usize,
    /// Values of a target row, and of a source image.
    pub(super) target_row: usize,
    pub(super) source_image: usize,
    pub(super) channels: usize,
    /// Values of a tap of the weight, at least the channels.
    pub(super) weight_row: usize,
}

impl Plan {
    /// Results from pixels; the taps of the weight are `weight_row` values apart.
    pub(super) fn forward(size: &Conv2dSize, weight_row: usize) -> Self {
        let ((h, w), (ho, wo)) = (size.input, size.output);
        let rows = taps_of_results(h, ho, size.kernel.0, size.options);
        let columns = taps_of_results(w, wo, size.kernel.1, size.options);
        let steps = (1, size.options.stride);
        Self::new(size, (&rows, &columns), (h, w), steps, weight_row)
    }

    /// Gradients of pixels from gradients of results.
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

    /// The blocks of a target row of the batch, and where in the sources its first source row begins.
    pub(super) fn row(&self, row: usize) -> (&[Block], usize) {
        let (image, row) = (row / self.rows.len(), row % self.rows.len());
        let (kind, first) = self.rows[row];
        (&self.kinds[kind], image * self.source_image + first)
    }
}

/// For each result along one axis, its taps within the input.
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

/// For each of `len` sources, the taps and targets that read it.
fn inverse(targets: &[Vec<Tap>], len: usize) -> Vec<Vec<Tap>> {
    let mut sources = vec![Vec::new(); len];
    for (target, taps) in targets.iter().enumerate() {
        for (tap, source) in taps {
            sources[*source].push((*tap, target));
        }
    }
    sources
}

/// Cuts the columns into blocks: first column, number of columns, and the taps of the first column.
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
            // The largest power of two that fits.
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
        // Even pixels meet one tap, odd ones two, the last only one of them.
        let backward = vec![(0, 4), (8, 2), (1, 4), (9, 1), (11, 1)];
        assert_eq!(cut(12, 6, 2), (forward, backward));
    }
}
