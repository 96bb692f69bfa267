//! [`SelftestError`]: why the self-test could not be done.

use crate::ab::AbError;
use crate::diag::Failure;
use crate::record::RecordError;
use crate::results::ResultsError;

/// Why the self-test could not be done.
#[derive(Debug)]
pub enum SelftestError {
    /// An error of this machine: a full disk, a process that does not start.
    Machine(Failure),
    /// Wrong manifest or results of the self-test: a bug of the program.
    Bug(String),
    /// Ctrl-C.
    Interrupted,
}

impl SelftestError {
    /// A failure that is not the user's.
    pub(super) fn bug(failure: &Failure) -> Self {
        Self::Bug(failure.render(false))
    }
}

impl From<RecordError> for SelftestError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Disagreement(error) => Self::Bug(error.to_string()),
            error => Self::Machine(Failure::plain(error.to_string(), None)),
        }
    }
}

impl From<ResultsError> for SelftestError {
    fn from(error: ResultsError) -> Self {
        Self::Machine(Failure::plain(error.to_string(), None))
    }
}

impl From<std::io::Error> for SelftestError {
    fn from(error: std::io::Error) -> Self {
        Self::Machine(Failure::plain(error.to_string(), None))
    }
}

impl From<AbError> for SelftestError {
    fn from(error: AbError) -> Self {
        match error {
            AbError::Mistake(failure) | AbError::Unlike(failure) | AbError::Died(failure) => {
                Self::Machine(failure)
            }
            AbError::Interrupted => Self::Interrupted,
        }
    }
}
