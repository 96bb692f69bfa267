//! The cells of a matrix in row order, produced lazily.

use super::matrix::{Dimension, Matrix, compare};

/// Choices of a matrix, one value per axis, in row order: the product without what is excluded, merged with what is
/// included.
pub(super) struct Choices<'a> {
    matrix: &'a Matrix,
    position: u64,
    size: u64,
    include: usize,
    next_product: Option<Vec<u32>>,
}

impl Matrix {
    /// Number of combinations before excluding and including.
    pub(super) fn product_size(&self) -> u64 {
        let size = |dimension: &Dimension| dimension.len() as u64;
        let sizes = self.dimensions.iter().map(size);
        sizes.fold(1, u64::saturating_mul)
    }

    pub(super) fn choices(&self) -> Choices<'_> {
        let mut choices = Choices {
            matrix: self,
            position: 0,
            size: self.product_size(),
            include: 0,
            next_product: None,
        };
        choices.next_product = choices.advance();
        choices
    }

    pub(super) fn count(&self) -> usize {
        if self.excludes.is_empty() {
            usize::try_from(self.product_size()).unwrap_or(usize::MAX) + self.includes.len()
        } else {
            self.choices().count()
        }
    }

    fn combination(&self, mut position: u64) -> Vec<u32> {
        let mut choice = vec![0; self.axes.len()];
        for dimension in self.dimensions.iter().rev() {
            let length = dimension.len().max(1) as u64;
            let row = dimension.row((position % length) as usize);
            position /= length;
            for (axis, value) in dimension.axes.iter().zip(row) {
                choice[*axis] = *value;
            }
        }
        choice
    }
}

impl Choices<'_> {
    /// Skips up to `count` choices without making them, where none is excluded or included, and returns how many.
    pub(super) fn leave_out(&mut self, count: usize) -> usize {
        let is_plain = self.matrix.excludes.is_empty() && self.matrix.includes.is_empty();
        if !is_plain || self.next_product.is_none() {
            return 0;
        }
        // The next one is already made and comes before `position`.
        let left = 1 + (self.size - self.position);
        let skipped = (count as u64).min(left);
        self.position += skipped - 1;
        self.next_product = self.advance();
        skipped as usize
    }

    fn advance(&mut self) -> Option<Vec<u32>> {
        while self.position < self.size {
            let choice = self.matrix.combination(self.position);
            self.position += 1;
            if self.matrix.excludes.is_empty() || !self.matrix.is_excluded(&choice) {
                return Some(choice);
            }
        }
        None
    }
}

impl Iterator for Choices<'_> {
    type Item = Vec<u32>;

    fn next(&mut self) -> Option<Vec<u32>> {
        let included = self.matrix.includes.get(self.include);
        let is_include_first = match (&self.next_product, included) {
            (Some(next), Some(included)) => compare(&self.matrix.axes, included, next).is_lt(),
            (next, included) => next.is_none() && included.is_some(),
        };
        if is_include_first {
            self.include += 1;
            return included.cloned();
        }
        let product = self.next_product.take()?;
        self.next_product = self.advance();
        Some(product)
    }
}
