//! [`Source`]: one or several experiments, whose results can be a side of a comparison.

use std::path::PathBuf;

use crate::results::git::{CommitFile, Repository};

/// Results that a side of a comparison can be taken from: one experiment, or several at one location.
#[derive(Debug)]
pub struct Source {
    /// Name as given by the user.
    pub name: String,
    /// The experiments, by name.
    pub experiments: Vec<Experiment>,
    /// Whether the user named a single experiment.
    pub is_one: bool,
}

/// An experiment of a [`Source`], whose results have not been read yet.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name of the experiment's folder.
    pub name: String,
    pub(super) place: Place,
}

/// Location of an experiment's files.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Folder(PathBuf),
    Commit {
        repository: Repository,
        reference: String,
        commit: String,
        /// Folder in the commit.
        folder: String,
        files: Vec<CommitFile>,
    },
}
