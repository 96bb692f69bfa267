//! What can go wrong with a report, in the user's words.

use crate::diag::Failure;
use crate::results::ResultsError;

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The results cannot be read, or the report's files cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// There is no template of this name.
    #[error(
        "unknown template `{name}`; there are {known}, and `<name>.md.j2` or `<name>.html.j2` in `reports/templates`{meant}"
    )]
    UnknownTemplate {
        /// The name that was asked for.
        name: String,
        /// The program's own.
        known: String,
        /// "; did you mean …?"; empty where nothing is near.
        meant: String,
    },
    /// There is no axis to compare along.
    #[error(
        "the template `comparison` needs a treatment with two values; name an axis in the manifest's `[compare]`: `treatment = \"AXIS\"`, or use `fieldtrial compare`"
    )]
    NoTreatment,
    /// A result cannot be compared along its treatment.
    #[error(transparent)]
    Comparison(Box<Failure>),
    /// A template cannot be rendered: drawn at its place.
    #[error(transparent)]
    Template(Box<Failure>),
}

impl ReportError {
    /// The error as the command line shows it: a mistake in a template keeps its drawing.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Template(failure) | Self::Comparison(failure) => *failure,
            other => Failure::plain(other.to_string(), None),
        }
    }
}
