//! [`AbError`]: why two builds cannot be run in turns.

use std::io;

use crate::diag::Failure;
use crate::results::ResultsError;
use crate::results::git::GitError;

/// Why two builds cannot be run in turns, or why this ended early.
#[derive(Debug)]
pub enum AbError {
    /// A mistake of the user, or a system error that the user can correct.
    Mistake(Failure),
    /// The builds cannot be compared: they use different protocols or formats of results, or differ in what their times
    /// depend on (`environment.must_match`).
    IncompatibleSides(Failure),
    /// The process of a side ended too early; finished pairs are kept.
    Died(Failure),
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl AbError {
    /// A mistake of the user that has no position in a file; `help` says what to do.
    pub(crate) fn mistake(title: impl Into<String>, help: impl Into<Option<String>>) -> Self {
        Self::Mistake(Failure::without_source(title, help.into()))
    }
}

impl From<Failure> for AbError {
    fn from(failure: Failure) -> Self {
        Self::Mistake(failure)
    }
}

impl From<GitError> for AbError {
    fn from(error: GitError) -> Self {
        let help = match &error {
            GitError::UnknownReference { advice, .. } => advice.clone(),
            GitError::NoRepository { .. } => Some(
                "`ab` builds another commit; `compare` holds two results folders against each other without git".into(),
            ),
            GitError::Failed { .. } => None,
        };
        Self::mistake(error.to_string(), help)
    }
}

impl From<io::Error> for AbError {
    fn from(error: io::Error) -> Self {
        Self::mistake(error.to_string(), None)
    }
}

impl From<ResultsError> for AbError {
    fn from(error: ResultsError) -> Self {
        Self::mistake(error.to_string(), None)
    }
}
