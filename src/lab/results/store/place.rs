//! Where a run is stored.

use std::path::Path;

use crate::base::file;
use crate::results::relative_to_current_dir;

use super::checksum::is_sealed;
use super::{JournalEntries, RecordLocation, RunKeys, Store, journals};

impl Store {
    /// Where a stored run is: in a file of the store, else in the last line of a journal that contains it.
    pub fn place(&self, keys: &RunKeys) -> RecordLocation {
        let path = self.folder.join(keys.path("runs"));
        match file::read(&path) {
            Ok(bytes) => RecordLocation {
                name: relative_to_current_dir(&path).display().to_string(),
                is_checked: is_sealed(&bytes),
            },
            Err(_) => self.place_in_journals(keys).unwrap_or_default(),
        }
    }

    fn place_in_journals(&self, keys: &RunKeys) -> Option<RecordLocation> {
        let results = self.folder.parent().unwrap_or(Path::new("."));
        let mut found = None;
        for journal in journals(results).ok()? {
            let mut entries = JournalEntries::of(&journal.path).ok()?;
            while let Some(Ok(entry)) = entries.next() {
                if entry.run.keys == *keys {
                    found = Some(entries.last_location());
                }
            }
        }
        found
    }
}
