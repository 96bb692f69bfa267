//! Profiles of operations, stored beside the runs. Spans are in separate files, since only a trace needs them.

use crate::event::{Profile, Span};
use crate::results::ResultsError;

use super::{RunKeys, Store};

impl Store {
    /// Stores the profile of a run; an existing one is replaced.
    ///
    /// # Errors
    /// [`ResultsError::System`]; the previous content is unchanged.
    pub fn put_profile(&self, keys: &RunKeys, profile: &Profile) -> Result<(), ResultsError> {
        if let Some(journal) = &self.journal {
            journal.next_run_data().profile = Some(profile.clone());
            return Ok(());
        }
        // Spans are stored separately: a profile has some hundred rows of times, but ten thousand spans.
        let figures = Profile {
            ops: profile.ops.clone(),
            phases: profile.phases.clone(),
            spans: Vec::new(),
            ..*profile
        };
        self.write_of_run(keys, "spans", &profile.spans)?;
        self.write_of_run(keys, "profiles", &figures)
    }

    /// The profile of a run without its spans; `None` if it was never stored or cannot be read.
    pub fn profile_of(&self, keys: &RunKeys) -> Option<Profile> {
        self.read_of_run(keys, "profiles")
    }

    /// The spans of a run's profile; empty if they were never stored or cannot be read.
    pub fn spans_of(&self, keys: &RunKeys) -> Vec<Span> {
        self.read_of_run(keys, "spans").unwrap_or_default()
    }
}
