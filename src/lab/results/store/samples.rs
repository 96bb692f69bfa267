//! Images of costly evaluations, stored by digest of their content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::base::file;
use crate::base::hash::Digest;
use crate::event::Sample;
use crate::results::ResultsError;

use super::Store;
use super::stored_run::is_image_digest;

impl Store {
    /// Where workers write images before they are stored; emptied at every start.
    pub fn temporary_folder(&self) -> PathBuf {
        match &self.journal {
            Some(journal) => journal.temporary.path().to_owned(),
            None => self.folder.join("tmp"),
        }
    }

    /// Moves an image that a worker has written into the store.
    ///
    /// # Errors
    /// [`ResultsError::System`], also if the file's digest is not the one that the worker reported.
    pub fn add_sample(&self, sample: &Sample) -> Result<(), ResultsError> {
        let wrong = ResultsError::system("read", &sample.path);
        let bytes = match file::read(&sample.path) {
            Ok(bytes) if Digest::new().with(&bytes).short() == sample.digest => bytes,
            Ok(_) => return Err(wrong(io::Error::other("it is not what the worker wrote"))),
            Err(error) => return Err(wrong(error)),
        };
        match &self.journal {
            Some(journal) => {
                let text = STANDARD.encode(&bytes);
                journal
                    .next_run_data()
                    .images
                    .insert(sample.digest.clone(), text);
            }
            None => self.write_atomically(sample_path(&sample.digest), &bytes)?,
        }
        // Failure is ignored: the next start removes the file.
        let _ = fs::remove_file(&sample.path);
        Ok(())
    }

    /// The content of an image; `None` if it was never stored, cannot be read or is damaged.
    pub fn sample(&self, digest: &str) -> Option<Vec<u8>> {
        // The digest may come from an untrusted `plan.json` and could be a path.
        let path = is_image_digest(digest).then(|| sample_path(digest))?;
        let bytes = file::read(&self.folder.join(path)).ok()?;
        (Digest::new().with(&bytes).short() == digest).then_some(bytes)
    }
}

/// Path of an image relative to the store's folder.
pub(super) fn sample_path(digest: &str) -> PathBuf {
    Path::new("samples").join(format!("{digest}.png"))
}
