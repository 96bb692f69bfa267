//! [`Memo`]: units resolved once per combination of the axis values that touch them.

use std::collections::HashMap;
use std::sync::Arc;

use super::matrix::Matrix;

/// Combinations that a memo keeps; one with more keeps only the last, so that a large matrix needs little memory.
const CAPACITY: u64 = 1 << 16;

#[derive(Debug)]
pub(super) struct Part<T> {
    /// Name in the manifest, for models, datasets and losses.
    pub(super) name: Arc<str>,
    pub(super) value: Arc<T>,
    /// Digest over its canonical form.
    pub(super) digest: Arc<str>,
    /// Why it could not be resolved; `value` is then a placeholder.
    pub(super) problem: Option<Arc<str>>,
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            value: Arc::clone(&self.value),
            digest: Arc::clone(&self.digest),
            problem: self.problem.clone(),
        }
    }
}

/// Resolved values by the combination that they depend on.
#[derive(Debug)]
pub(super) struct Memo<T> {
    /// The axes that touch it, with the number of their values.
    axes: Vec<(usize, u64)>,
    known: HashMap<u64, T>,
    /// Whether there are few enough combinations to keep all.
    is_kept: bool,
    last: Option<(u64, T)>,
}

impl<T: Clone> Memo<T> {
    /// A memo of something that depends on `axes` of `matrix`.
    pub(super) fn new(matrix: &Matrix, axes: &[usize]) -> Self {
        let count = |axis: usize| {
            matrix
                .axes
                .get(axis)
                .map_or(1, |axis| axis.values.len() as u64)
        };
        let axes: Vec<(usize, u64)> = axes.iter().map(|axis| (*axis, count(*axis))).collect();
        let combinations = axes.iter().map(|(_, count)| *count);
        Self {
            is_kept: combinations.fold(1, u64::saturating_mul) <= CAPACITY,
            axes,
            known: HashMap::new(),
            last: None,
        }
    }

    /// Index of the combination that `choice` belongs to.
    pub(super) fn combination(&self, choice: &[u32]) -> u64 {
        self.axes.iter().fold(0, |number, (axis, count)| {
            let value = choice.get(*axis).copied().unwrap_or(0);
            number.wrapping_mul(*count).wrapping_add(u64::from(value))
        })
    }

    /// As [`Self::get`], without the combination.
    pub(super) fn value(&mut self, choice: &[u32], make: impl FnOnce() -> T) -> T {
        self.get(choice, make).1
    }

    /// The index of the combination of `choice` and its value, made on first use.
    pub(super) fn get(&mut self, choice: &[u32], make: impl FnOnce() -> T) -> (u64, T) {
        let combination = self.combination(choice);
        if let Some((last, value)) = &self.last
            && *last == combination
        {
            return (combination, value.clone());
        }
        let value = if self.is_kept {
            self.known.entry(combination).or_insert_with(make).clone()
        } else {
            make()
        };
        self.last = Some((combination, value.clone()));
        (combination, value)
    }
}
