//! Finds images that cannot be decoded, if the manifest leaves them out.
//!
//! Planner ([`reasons`]) and run ([`found`]) decode every image once and cache the result until a file changes: the
//! planner with its other facts about files, runs in a file in the user's cache folder.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{DatasetError, FingerprintCache};
use super::decode::{Decoding, decode};
use super::pixel_file::{DIGEST, cache_folder, identify};
use crate::base::{file, temporary};

/// What is done with images that cannot be decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Damaged {
    /// They are a mistake.
    #[default]
    Error,
    /// They are in no split; `plan` and `run` warn with their number.
    LeaveOut,
}

/// Name of the fact in the cache.
const FACT: &str = "decodes";

/// Why each of `files` cannot be decoded; an empty text for one that can.
///
/// # Errors
/// [`DatasetError::Unreadable`]: an unreadable file may be undamaged.
pub(super) fn reasons(
    files: &[PathBuf],
    cache: &mut FingerprintCache,
) -> Result<Vec<String>, DatasetError> {
    let unknown = files.iter().filter(|path| !cache.knows(path, FACT));
    let unknown: Vec<&PathBuf> = unknown.collect();
    let read = unknown.par_iter().map(|path| Ok((*path, reason(path)?)));
    let read = read.collect::<Result<HashMap<&PathBuf, String>, DatasetError>>()?;
    let files = files.iter().map(|path| {
        cache.cached_fact(path, FACT, || match read.get(path) {
            Some(known) => Ok(known.clone()),
            None => reason(path),
        })
    });
    files.collect()
}

/// Whether each of `files` cannot be decoded.
///
/// # Errors
/// As [`reasons`].
pub(super) fn found(files: &[PathBuf]) -> Result<Vec<bool>, DatasetError> {
    let (name, source, is_settled) = identify(files, FACT)?;
    let path = cache_folder().join(format!("{name}.damaged"));
    if let Some(known) = read(&path, &source, files.len()) {
        return Ok(known);
    }
    let damaged = files.par_iter().map(|path| Ok(!reason(path)?.is_empty()));
    let damaged = damaged.collect::<Result<Vec<bool>, DatasetError>>()?;
    if is_settled {
        // If the file cannot be written, the next run decodes all images again.
        let _ = write(&path, &source, &damaged);
    }
    Ok(damaged)
}

fn reason(path: &Path) -> Result<String, DatasetError> {
    let decoding = Decoding {
        channels: 3,
        is_upright: false,
    };
    match decode(path, decoding) {
        Ok(_) => Ok(String::new()),
        Err(error @ DatasetError::Damaged { .. }) => Ok(error.within()),
        Err(error) => Err(error),
    }
}

/// Reads the cache file: `source`, the digest of the rest, one byte for every image.
fn read(path: &Path, source: &[u8; DIGEST], count: usize) -> Option<Vec<bool>> {
    let bytes = file::read_at_most(path, (2 * DIGEST + count) as u64).ok()?;
    let (made_from, rest) = bytes.split_at_checked(DIGEST)?;
    let (digest, flags) = rest.split_at_checked(DIGEST)?;
    let is_valid = made_from == source && digest == blake3::hash(flags).as_bytes();
    (is_valid && flags.len() == count).then(|| flags.iter().map(|flag| *flag != 0).collect())
}

fn write(path: &Path, source: &[u8; DIGEST], damaged: &[bool]) -> io::Result<()> {
    let folder = cache_folder();
    fs::create_dir_all(&folder)?;
    temporary::remove_left(&folder);
    let flags: Vec<u8> = damaged.iter().map(|flag| u8::from(*flag)).collect();
    temporary::replace(path, |file| {
        file.write_all(source)?;
        file.write_all(blake3::hash(&flags).as_bytes())?;
        file.write_all(&flags)
    })
}
