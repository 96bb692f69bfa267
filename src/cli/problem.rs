//! [`Problem`]: why a command failed.

use std::io;

use crate::diag::Failure;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Problem {
    /// The user's mistake.
    Mistake(Failure),
    /// An error of writing to a stream or file.
    Output(io::Error),
    /// A bug of the program, in a sentence.
    Bug(String),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Mistake(failure)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The exit code of a command, or why it failed.
pub(super) type Outcome = Result<u8, Problem>;

pub(super) fn mistake(error: impl std::fmt::Display) -> Problem {
    Failure::without_source(error.to_string(), None).into()
}

/// A mistake of the user, with help on how to correct it.
pub(super) fn mistake_with_help(title: impl Into<String>, help: impl Into<String>) -> Problem {
    Failure::without_source(title, Some(help.into())).into()
}
