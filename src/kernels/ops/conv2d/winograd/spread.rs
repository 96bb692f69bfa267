//! [`Spread`]: the memory layout of transformed values.

use std::ops::Range;

/// Layout of transformed values: value (tile, point, channel) at `tile · row + point · plane + channel`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub(super) row: usize,
    pub(super) plane: usize,
}

impl Spread {
    /// Rows are padded to whole vectors of the widest level.
    pub(super) const VECTOR: usize = 16;

    pub(super) fn new(tiles: usize, channels: usize) -> Self {
        let row = channels.next_multiple_of(Self::VECTOR);
        let plane = Self::plane_of(tiles * row);
        Self { row, plane }
    }

    /// Stride between planes of that many values: an odd number of cache lines, so that the points of a tile, or of a pair
    /// of channels, do not map to the same cache sets.
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
