//! [`PairSessions`]: which two programs ran the pairs of which session of `ab`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ResultsError, pretty_json, write_if_changed};
use crate::base::hash::Digest;

/// Digests of two programs' files, and whether the pairs of a cell were stopped as soon as the verdict was significant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairPrograms {
    before: String,
    after: String,
    #[serde(default)]
    until_sure: bool,
}

impl PairPrograms {
    /// Computes the digests of two files; `until_sure` says whether pairs stop as soon as the verdict is significant.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(before: &Path, after: &Path, until_sure: bool) -> io::Result<Self> {
        let digest = |path: &Path| Ok::<_, io::Error>(Digest::new().with(fs::read(path)?).short());
        Ok(Self {
            before: digest(before)?,
            after: digest(after)?,
            until_sure,
        })
    }
}

/// The content of `sessions.json`, beside the two results folders of `ab`: the programs of each session. A stored run
/// with the same code hash may come from another build; its time counts only if the same two executables were run in
/// turns.
#[derive(Debug)]
pub struct PairSessions {
    path: PathBuf,
    by_id: BTreeMap<String, PairPrograms>,
}

impl PairSessions {
    /// Reads the sessions of the comparison in `folder`; empty if the file is missing or cannot be read.
    pub fn of(folder: &Path) -> Self {
        let path = folder.join("sessions.json");
        let text = fs::read(&path).unwrap_or_default();
        Self {
            path,
            by_id: serde_json::from_slice(&text).unwrap_or_default(),
        }
    }

    /// Whether the pairs of session `id` were run by these programs.
    pub fn was_run_by(&self, id: &str, programs: &PairPrograms) -> bool {
        self.by_id.get(id) == Some(programs)
    }

    /// Stores the programs of a new session.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, id: &str, programs: PairPrograms) -> Result<(), ResultsError> {
        self.by_id.insert(id.to_owned(), programs);
        write_if_changed(&self.path, pretty_json(&self.by_id).as_bytes()).map(drop)
    }

    /// The sessions in which pairs stopped as soon as their cell's verdict was significant.
    pub fn sessions_stopped_early(self) -> BTreeSet<String> {
        let own = self.by_id.into_iter().filter(|(_, of)| of.until_sure);
        own.map(|(id, _)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_counts_for_the_programs_that_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (old, new) = (file("old", "1"), file("new", "2"));
        let both = PairPrograms::of(&old, &new, true).unwrap();
        let mut sessions = PairSessions::of(folder.path());
        assert!(!sessions.was_run_by("mon", &both));
        sessions.begin("mon", both.clone()).unwrap();
        let sessions = PairSessions::of(folder.path());
        assert!(sessions.was_run_by("mon", &both));
        let fixed = PairPrograms::of(&old, &new, false).unwrap();
        let others = PairPrograms::of(&old, &file("new", "3"), true).unwrap();
        for programs in [&fixed, &others] {
            assert!(!sessions.was_run_by("mon", programs), "{programs:?}");
        }
        assert!(!sessions.was_run_by("tue", &both));
        assert_eq!(sessions.sessions_stopped_early(), ["mon".to_owned()].into());
    }
}
