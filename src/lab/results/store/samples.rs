//! Images of costly evaluations, by their bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::hash::Digest;
use crate::event::Sample;

use super::{Store, StoreError};

impl Store {
    /// Where workers may write images that are to be kept: emptied at every start.
    pub fn temporary_folder(&self) -> PathBuf {
        match &self.journal {
            Some(journal) => journal.temporary.path().to_owned(),
            None => self.folder.join("tmp"),
        }
    }

    /// Takes the image that a worker has written into the store.
    ///
    /// # Errors
    /// [`StoreError::System`], also where the file is not what the worker wrote.
    pub fn take_sample(&self, sample: &Sample) -> Result<(), StoreError> {
        let wrong = StoreError::system("read", &sample.path);
        let bytes = match fs::read(&sample.path) {
            Ok(bytes) if Digest::new().with(&bytes).short() == sample.digest => bytes,
            Ok(_) => return Err(wrong(io::Error::other("it is not what the worker wrote"))),
            Err(error) => return Err(wrong(error)),
        };
        match &self.journal {
            Some(journal) => journal.hold_image(&sample.digest, &bytes),
            None => self.write_atomically(sample_path(&sample.digest), &bytes)?,
        }
        // One that stays is removed at the next start.
        let _ = fs::remove_file(&sample.path);
        Ok(())
    }

    /// The bytes of an image; `None` where it was never kept or cannot be read.
    pub fn sample(&self, digest: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.join(sample_path(digest))).ok()
    }
}

/// File of an image below the store's folder.
pub(super) fn sample_path(digest: &str) -> PathBuf {
    Path::new("samples").join(format!("{digest}.png"))
}
