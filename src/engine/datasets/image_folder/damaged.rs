//! Finds images that cannot be decoded, if the manifest leaves them out (`damaged = "leave-out"`).
//!
//! Planner ([`decode_errors`]) and run ([`undecodable`]) decode every image once and cache the result until a file
//! changes: the planner with its other facts about files, a run in a file in the user's cache folder.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{DatasetError, FingerprintCache};
use super::decode::{DecodeOptions, decode};
use super::pixel_file::{cache_folder, identify};
use crate::base::{file, temporary};

/// What is done with images that cannot be decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DamagedImages {
    /// Images that cannot be decoded are an error.
    #[default]
    Error,
    /// Images that cannot be decoded are in no split; `plan` and `run` warn with their number.
    LeaveOut,
}

/// Name of the cached fact: why an image cannot be decoded.
const FACT: &str = "decodes";

/// For each of `files` the reason why it cannot be decoded; empty if it can.
///
/// # Errors
/// [`DatasetError::Unreadable`] if a file cannot be read, since it may be undamaged.
pub(super) fn decode_errors(
    files: &[PathBuf],
    cache: &mut FingerprintCache,
) -> Result<Vec<String>, DatasetError> {
    let unknown = files
        .iter()
        .filter(|path| !cache.has_cached_fact(path, FACT));
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

/// For each of `files` whether it cannot be decoded.
///
/// # Errors
/// [`DatasetError::Unreadable`] if a file cannot be read.
pub(super) fn undecodable(files: &[PathBuf]) -> Result<Vec<bool>, DatasetError> {
    let (name, source, is_settled) = identify(files, FACT)?;
    let path = cache_folder().join(format!("{name}.damaged"));
    let known: Option<([u8; 32], Vec<bool>)> = file::read(&path)
        .ok()
        .and_then(|known| serde_json::from_slice(&known).ok());
    if let Some((made_from, known)) = known
        && made_from == source
        && known.len() == files.len()
    {
        return Ok(known);
    }
    let damaged = files.par_iter().map(|path| Ok(!reason(path)?.is_empty()));
    let damaged = damaged.collect::<Result<Vec<bool>, DatasetError>>()?;
    if is_settled {
        temporary::remove_abandoned(&cache_folder());
        // If the file cannot be written, the next run decodes all images again.
        let _ = fs::create_dir_all(cache_folder()).and_then(|()| {
            temporary::replace(&path, |file| {
                file.write_all(&serde_json::to_vec(&(source, &damaged))?)
            })
        });
    }
    Ok(damaged)
}

fn reason(path: &Path) -> Result<String, DatasetError> {
    let decoding = DecodeOptions {
        channels: 3,
        is_upright: false,
    };
    match decode(path, decoding) {
        Ok(_) => Ok(String::new()),
        Err(error @ DatasetError::Damaged { .. }) => Ok(error.without_path()),
        Err(error) => Err(error),
    }
}
