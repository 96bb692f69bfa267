//! [`Right`]: the right matrix of several products.
#![cfg_attr(
    not(all(target_arch = "x86_64", feature = "x86-v4")),
    expect(dead_code, reason = "there is no product that reads a copy")
)]

use super::Matrix;

/// Depths that a copy is made of: 16 pairs, a vector of AVX-512 and a row of a tile; the last ones are filled with zeros.
pub(super) const DEPTHS: usize = 32;

/// B of several products `A · B`, with the copy that products in bf16 take, if one was made for all of them.
#[derive(Debug, Clone, Copy)]
pub struct Right<'a> {
    pub(super) matrix: Matrix<'a>,
    pub(super) copy: Option<RightCopy<'a>>,
}

/// Panels of columns in pairs of neighbouring depths (see [`super::pairs`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct RightCopy<'a> {
    /// The first pair that is used; each takes the room of an `f32`.
    pub(super) pairs: &'a [f32],
    /// Number of columns of a panel.
    pub(super) panel: usize,
    /// Number of pairs from the start of one panel to the start of the next.
    pub(super) panel_len: usize,
}

impl<'a> From<Matrix<'a>> for Right<'a> {
    fn from(matrix: Matrix<'a>) -> Self {
        Self { matrix, copy: None }
    }
}

impl RightCopy<'_> {
    /// The pairs from `depth` on, a multiple of [`DEPTHS`], of the panel that begins at `column`.
    pub(super) fn at(self, depth: usize, column: usize) -> *const u32 {
        let at = column / self.panel * self.panel_len + depth / 2 * self.panel;
        self.pairs[at..].as_ptr().cast()
    }
}

impl Right<'_> {
    /// Rows and columns.
    pub fn size(self) -> (usize, usize) {
        (self.matrix.rows, self.matrix.columns)
    }

    /// Rows `start..start + count`. The copy stays if they begin, and end before others, at a multiple of 32.
    ///
    /// # Panics
    /// When there are fewer.
    #[must_use]
    pub fn row_range(self, start: usize, count: usize) -> Self {
        let is_last = start + count == self.matrix.rows;
        let fits = start.is_multiple_of(DEPTHS) && (is_last || count.is_multiple_of(DEPTHS));
        Self {
            matrix: self.matrix.row_range(start, count),
            copy: self.copy.filter(|_| fits).map(|copy| RightCopy {
                pairs: &copy.pairs[(start / 2 * copy.panel).min(copy.pairs.len())..],
                ..copy
            }),
        }
    }
}
