//! Profiles of operations beside the runs: the figures, and apart from them the spans, which only a trace wants.

use crate::event::{Profile, Span};

use super::{RunKeys, Store, StoreError};

impl Store {
    /// Keeps the profile of a run; one that was there is replaced.
    ///
    /// # Errors
    /// [`StoreError::System`]; what was there before is unharmed.
    pub fn put_profile(&self, keys: &RunKeys, profile: &Profile) -> Result<(), StoreError> {
        if let Some(journal) = &self.journal {
            journal.hold_profile(profile);
            return Ok(());
        }
        // A profile has some hundred rows and some ten thousand spans.
        let figures = Profile {
            ops: profile.ops.clone(),
            phases: profile.phases.clone(),
            spans: Vec::new(),
            ..*profile
        };
        self.write_of_run(keys, "spans", &profile.spans)?;
        self.write_of_run(keys, "profiles", &figures)
    }

    /// The profile of a run without its spans; `None` where it was never kept or cannot be read.
    pub fn profile_of(&self, keys: &RunKeys) -> Option<Profile> {
        self.read_of_run(keys, "profiles")
    }

    /// The spans of a run's profile; none where they were never kept or cannot be read.
    pub fn spans_of(&self, keys: &RunKeys) -> Vec<Span> {
        self.read_of_run(keys, "spans").unwrap_or_default()
    }
}
