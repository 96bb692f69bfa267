//! [`Store`]: the runs of one results folder, with their steps, profiles and images.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::journal::Journal;
use super::lock::Lock;
use super::stored_run::StoredRun;
use crate::results::Environment;

/// All finished runs of one results folder.
#[derive(Debug)]
pub struct Store {
    pub(super) folder: PathBuf,
    pub(super) runs: HashMap<Arc<str>, Vec<StoredRun>>,
    pub(super) codes: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) environments: BTreeMap<String, Environment>,
    pub(super) damaged: Vec<PathBuf>,
    pub(super) lock: Option<Lock>,
    /// If set, new runs are appended here instead of to the folder.
    pub(super) journal: Option<Journal>,
}
