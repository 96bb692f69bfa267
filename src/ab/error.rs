//! [`AbError`]: why two builds cannot be run in turns.

use std::io;

use crate::diag::Failure;
use crate::results::ResultsError;
use crate::results::git::GitError;

/// Why two builds cannot be run in turns, or why that was not completed.
#[derive(Debug)]
pub enum AbError {
    /// The user's mistake, or a system error that the user can fix.
    Mistake(Failure),
    /// The two builds use different protocols, or their results cannot be compared.
    Unlike(Failure),
    /// A side ended too early; finished pairs are kept.
    Died(Failure),
    /// Ctrl-C.
    Interrupted,
}

impl AbError {
    /// An error without a position in a file.
    pub(crate) fn mistake(title: impl Into<String>, help: impl Into<Option<String>>) -> Self {
        Self::Mistake(Failure::plain(title, help.into()))
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
