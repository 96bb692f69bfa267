//! [`Memo`]: units of cells, resolved once per combination of the axis values that change them.

use std::collections::HashMap;
use std::sync::Arc;

use super::matrix::Matrix;

/// Largest number of combinations that a memo stores; it is then emptied, so that a large matrix needs little memory.
const CAPACITY: usize = 1 << 14;

/// A unit of a cell, resolved.
#[derive(Debug, Clone)]
pub(super) struct Part<T> {
    /// Name in the manifest, for models, datasets and losses.
    pub(super) name: Arc<str>,
    /// The section as a typed value.
    pub(super) value: Arc<T>,
    /// Digest over the section's canonical form.
    pub(super) digest: Arc<str>,
    /// Why the section could not be read; `value` is then a default.
    pub(super) problem: Option<Arc<str>>,
}

/// Resolved values, by the combination of axis values that they depend on.
#[derive(Debug)]
pub(super) struct Memo<T> {
    /// The axes that the value depends on, each with its number of values.
    axes: Vec<(usize, u64)>,
    known: HashMap<u64, T>,
}

impl<T: Clone> Memo<T> {
    /// A memo for a value that depends on `axes` of `matrix`.
    pub(super) fn new(matrix: &Matrix, axes: &[usize]) -> Self {
        let count = |axis: &usize| (*axis, u64::from(matrix.count_of(*axis)));
        Self {
            axes: axes.iter().map(count).collect(),
            known: HashMap::new(),
        }
    }

    /// The value for `choice`: stored, or computed by `make`.
    pub(super) fn get(&mut self, choice: &[u32], make: impl FnOnce() -> T) -> T {
        let combination = self.axes.iter().fold(0_u64, |number, (axis, count)| {
            let value = choice.get(*axis).copied().unwrap_or(0);
            number.wrapping_mul(*count).wrapping_add(u64::from(value))
        });
        if self.known.len() >= CAPACITY {
            self.known.clear();
        }
        self.known.entry(combination).or_insert_with(make).clone()
    }
}
