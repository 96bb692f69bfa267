//! Software prefetch: while one block of B is multiplied, the next block is fetched into the cache.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "a hint to the cache is an intrinsic; it reads nothing that the program sees"
    )
)]

/// Number of values in a cache line.
pub(super) const LINE: usize = 16;

/// The cache lines of a block that have not been prefetched yet. Each tile that is multiplied prefetches a few of them,
/// so that fetching overlaps with multiplying.
///
/// Lines are fetched row by row, in memory order, so that the hardware prefetcher helps; it would not from row to row,
/// since rows may be pages apart.
#[derive(Clone, Copy)]
pub(super) struct PrefetchLines {
    /// Start of the row that contains the next line, and distance between rows in values.
    row: *const f32,
    row_stride: usize,
    /// Index of the next line in its row, and number of lines per row.
    line: usize,
    lines: usize,
    left: usize,
    share: usize,
}

impl PrefetchLines {
    /// An empty range: there is nothing to prefetch.
    #[inline(always)]
    pub(super) fn nothing() -> Self {
        Self {
            row: std::ptr::null(),
            row_stride: 0,
            line: 0,
            lines: 0,
            left: 0,
            share: 0,
        }
    }

    /// The cache lines of `rows` rows of `columns` values from `first` on, `row_stride` values apart, shared out to
    /// `tiles` tiles.
    pub(super) fn block(
        first: *const f32,
        (rows, row_stride): (usize, usize),
        columns: usize,
        tiles: usize,
    ) -> Self {
        // A row that does not begin at a line's start may span one more line.
        let lines = columns.div_ceil(LINE) + usize::from(row_stride % LINE != 0);
        let left = rows * lines;
        Self {
            row: first,
            row_stride,
            line: 0,
            lines,
            left,
            share: left.div_ceil(tiles.max(1)),
        }
    }

    /// Takes the lines that are to be fetched during the next tile out of this range.
    #[inline(always)]
    pub(super) fn of_tile(&mut self) -> Self {
        if self.left == 0 {
            return Self::nothing();
        }
        let share = self.share.min(self.left);
        let own = Self {
            left: share,
            ..*self
        };
        self.left -= share;
        self.line += share;
        let rows = self.line / self.lines;
        self.row = self.row.wrapping_add(rows * self.row_stride);
        self.line %= self.lines;
        own
    }

    /// Prefetches the next line, into the L2 cache, because it is needed only after the current block.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        if self.left == 0 {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint without visible effect; an invalid address is ignored.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(self.row.wrapping_add(self.line * LINE).cast());
        }
        self.left -= 1;
        self.line += 1;
        if self.line == self.lines {
            self.line = 0;
            self.row = self.row.wrapping_add(self.row_stride);
        }
    }

    #[inline(always)]
    pub(super) fn fetch_rest(&mut self) {
        while self.left > 0 {
            self.fetch();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_tiles_are_every_line_once() {
        for (rows, row_stride, columns, tiles) in [(5, 100, 70, 3), (4, 64, 64, 100), (1, 3, 1, 1)]
        {
            let values = vec![0.0_f32; rows * row_stride + LINE];
            let mut all = PrefetchLines::block(values.as_ptr(), (rows, row_stride), columns, tiles);
            let mut found = Vec::new();
            for _ in 0..tiles {
                let mut own = all.of_tile();
                while own.left > 0 {
                    found.push(own.row.addr() / size_of::<f32>() + own.line * LINE);
                    own.fetch();
                }
            }
            let start = values.as_ptr().addr() / size_of::<f32>();
            let mut wanted = Vec::new();
            for row in 0..rows {
                let more = usize::from(row_stride % LINE != 0);
                let lines = columns.div_ceil(LINE) + more;
                wanted.extend((0..lines).map(|line| start + row * row_stride + line * LINE));
            }
            assert_eq!(found, wanted);
            assert_eq!(all.of_tile().left, 0);
        }
    }
}
