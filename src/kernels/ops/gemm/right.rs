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
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// `None` if there is only a copy.
    pub(super) matrix: Option<Matrix<'a>>,
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
        Self {
            rows: matrix.rows,
            columns: matrix.columns,
            matrix: Some(matrix),
            copy: None,
        }
    }
}

impl RightCopy<'_> {
    /// The pairs from `depth` on, a multiple of [`DEPTHS`], of the panel that begins at `column`.
    pub(super) fn at(self, depth: usize, column: usize) -> *const u32 {
        let at = column / self.panel * self.panel_len + depth / 2 * self.panel;
        self.pairs[at..].as_ptr().cast()
    }
}

impl<'a> Right<'a> {
    /// Rows and columns.
    pub fn size(self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The matrix itself, for products that take no copy.
    pub(super) fn matrix(self) -> Matrix<'a> {
        self.matrix.expect("a right matrix with its values")
    }

    /// Rows `start..start + count`. The copy stays if they begin, and end before others, at a multiple of 32.
    ///
    /// # Panics
    /// When there are fewer, or of a copy alone if it does not stay.
    #[must_use]
    pub fn row_range(self, start: usize, count: usize) -> Self {
        assert!(start + count <= self.rows, "rows within the matrix");
        let is_last = start + count == self.rows;
        let fits = start.is_multiple_of(DEPTHS) && (is_last || count.is_multiple_of(DEPTHS));
        assert!(fits || self.matrix.is_some(), "rows that a copy has");
        Self {
            rows: count,
            matrix: self.matrix.map(|matrix| matrix.row_range(start, count)),
            copy: self.copy.filter(|_| fits).map(|copy| RightCopy {
                pairs: &copy.pairs[(start / 2 * copy.panel).min(copy.pairs.len())..],
                ..copy
            }),
            ..self
        }
    }
}
