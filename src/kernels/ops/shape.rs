//! [`Shape`]: up to four dimensions, known at run time, copied freely.

use std::fmt;

/// The one to four dimensions of a [`super::Var`] or [`super::Parameter`], outermost first.
///
/// Images are channels-last, `(B, H, W, C)`; see the letters in [`crate::ops`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; 4],
    rank: u8,
}

impl Shape {
    /// Dimensions as a slice, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..usize::from(self.rank)]
    }

    /// Number of dimensions, 1 to 4.
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether a dimension is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The innermost dimension: features, or channels of an image.
    pub fn last(&self) -> usize {
        self.dims[usize::from(self.rank) - 1]
    }

    /// Number of rows: the product of all dimensions but the innermost.
    pub fn rows(&self) -> usize {
        self.dims()[..self.rank() - 1].iter().product()
    }

    /// This shape with the outermost dimension replaced.
    #[must_use]
    pub fn with_first(mut self, first: usize) -> Self {
        self.dims[0] = first;
        self
    }

    /// This shape with the innermost dimension replaced.
    #[must_use]
    pub fn with_last(mut self, last: usize) -> Self {
        self.dims[usize::from(self.rank) - 1] = last;
        self
    }

    /// The four dimensions of an image batch `(B, H, W, C)`; `None` for another rank.
    pub fn image(&self) -> Option<(usize, usize, usize, usize)> {
        let [b, h, w, c] = self.dims;
        (self.rank == 4).then_some((b, h, w, c))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(values: [usize; N]) -> Self {
        const { assert!(N >= 1 && N <= 4, "a shape has one to four dimensions") };
        let mut dims = [1; 4];
        dims[..N].copy_from_slice(&values);
        Self {
            dims,
            rank: N as u8,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(ToString::to_string).collect();
        write!(f, "({})", dims.join(", "))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
