//! The rules: each looks at a study and recommends a change, or says what it checked.

mod batch_size;

use super::recommendation::Draft;
use super::study::Study;

/// A rule, as `fieldtrial list rules` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// When it recommends what, with its thresholds.
    pub about: &'static str,
    find: fn(&Study<'_, '_>) -> Said,
}

/// Smallest improvement worth a recommendation, as a ratio.
pub(super) const WORTH: f64 = 1.02;

/// What a rule says of a study.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    /// Changes to try.
    Recommended(Vec<Draft>),
    /// What it checked, with the values.
    Nothing(String),
}

/// Every rule, in the order in which reports name them.
pub const RULES: [Rule; 1] = [Rule {
    id: "batch-size",
    about: batch_size::ABOUT,
    find: batch_size::find,
}];

impl Rule {
    /// Looks at a study.
    pub(super) fn look(&self, study: &Study<'_, '_>) -> Said {
        (self.find)(study)
    }
}
