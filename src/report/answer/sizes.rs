//! [`SampleSizes`]: how many values the cells of a test have.

use crate::base::text::count;

/// The smallest and the largest number of values of cells that are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SampleSizes {
    pub(super) least: usize,
    most: usize,
}

impl SampleSizes {
    pub(super) fn of<'v>(cells: impl Iterator<Item = &'v Vec<f64>> + Clone) -> Self {
        let sizes = cells.map(Vec::len);
        Self {
            least: sizes.clone().min().unwrap_or(0),
            most: sizes.max().unwrap_or(0),
        }
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// The number of values as text: `n = 6`, `n = 5 to 7`.
    pub(super) fn text(self) -> String {
        match self {
            Self { least, most } if least == most => format!("n = {least}"),
            Self { least, most } => format!("n = {least} to {most}"),
        }
    }

    /// The number of values with the word for them: `6 seeds`, `5 to 7 seeds`.
    pub(super) fn count_with_unit(self, what: &str) -> String {
        match self {
            Self { least, most } if least == most => count(least, what),
            Self { least, most } => format!("{least} to {}", count(most, what)),
        }
    }

    /// The test between cells: `n = 6, Mann–Whitney, Holm`.
    pub(super) fn test_in_words(self) -> String {
        format!("{}, Mann–Whitney, Holm", self.text())
    }
}
