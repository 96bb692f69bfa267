//! [`TileLayout`]: the memory layout of transformed tiles.

use std::ops::Range;

/// Memory layout of transformed tiles: the value of (tile, point, channel) is at
/// `tile · row + point · plane + channel`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TileLayout {
    pub(super) row: usize,
    pub(super) plane: usize,
}

impl TileLayout {
    /// Rows are padded to a multiple of this many values, the widest vector of any vector level.
    pub(super) const VECTOR: usize = 16;

    pub(super) fn new(tiles: usize, channels: usize) -> Self {
        let row = channels.next_multiple_of(Self::VECTOR);
        let plane = Self::plane_of(tiles * row);
        Self { row, plane }
    }

    /// Distance between planes of at least `len` values: an odd number of cache lines, so that the same value of
    /// different planes does not map to the same cache sets.
    pub(super) fn plane_of(len: usize) -> usize {
        len.next_multiple_of(2 * Self::VECTOR) + Self::VECTOR
    }

    pub(super) fn len(self, points: usize) -> usize {
        points * self.plane
    }

    /// Panics unless each plane holds whole vectors of `lanes` values for all channels of `tiles` tiles.
    #[inline(always)]
    pub(super) fn check(self, tiles: usize, channels: usize, lanes: usize) {
        assert!(
            self.row >= channels.next_multiple_of(lanes) && self.plane >= tiles * self.row,
            "rows of whole vectors"
        );
    }

    pub(super) fn plane(self, point: usize) -> Range<usize> {
        point * self.plane..(point + 1) * self.plane
    }
}
