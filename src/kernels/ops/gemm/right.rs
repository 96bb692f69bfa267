//! [`RightMatrix`]: the right matrix B of one or several products `A · B`.
#![cfg_attr(
    not(all(target_arch = "x86_64", feature = "x86-v4")),
    expect(dead_code, reason = "there is no product that reads a copy")
)]

use super::Matrix;

/// The depth of a copy is a multiple of this, filled with zeros: 16 pairs, as in a vector of AVX-512 or a row of an AMX
/// tile.
pub(super) const DEPTH_MULTIPLE: usize = 32;

/// The right matrix B of products `A · B`, and a copy of B in the form that bf16 products read, if one was made.
#[derive(Debug, Clone, Copy)]
pub struct RightMatrix<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The matrix itself; `None` if there is only the copy.
    pub(super) matrix: Option<Matrix<'a>>,
    pub(super) copy: Option<RightCopy<'a>>,
}

/// A copy of B in bf16: panels of columns, in pairs of neighbouring depths (see [`super::pairs`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct RightCopy<'a> {
    /// The panels from the first pair in use on. An `f32` is only the memory of a pair of bf16 values.
    pub(super) pairs: &'a [f32],
    /// Number of columns of a panel.
    pub(super) panel: usize,
    /// Number of pairs from the start of one panel to the start of the next.
    pub(super) panel_len: usize,
}

impl<'a> From<Matrix<'a>> for RightMatrix<'a> {
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
    /// The pairs from `depth` on, which must be a multiple of [`DEPTH_MULTIPLE`], in the panel that begins at `column`.
    pub(super) fn at(self, depth: usize, column: usize) -> *const u32 {
        let at = column / self.panel * self.panel_len + depth / 2 * self.panel;
        self.pairs[at..].as_ptr().cast()
    }
}

impl<'a> RightMatrix<'a> {
    /// Numbers of rows and columns.
    pub fn size(self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The matrix itself, for products that do not read the copy; panics if there is only the copy.
    pub(super) fn matrix(self) -> Matrix<'a> {
        self.matrix.expect("a right matrix with its values")
    }

    /// Rows `start..start + count`. The copy is kept if `start` is a multiple of 32, and `count` too unless the last
    /// row is included.
    ///
    /// # Panics
    /// When there are fewer rows, or when the copy is not kept and there is only the copy.
    #[must_use]
    pub fn row_range(self, start: usize, count: usize) -> Self {
        assert!(start + count <= self.rows, "rows within the matrix");
        let is_last = start + count == self.rows;
        let fits = start.is_multiple_of(DEPTH_MULTIPLE)
            && (is_last || count.is_multiple_of(DEPTH_MULTIPLE));
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
