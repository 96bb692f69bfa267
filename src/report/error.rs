//! Errors of reports, worded for the user.

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
        /// The requested name.
        name: String,
        /// Names of the program's templates.
        known: String,
        /// "; did you mean …?"; empty without a similar name.
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
    /// A template cannot be rendered: the message shows the place in it.
    #[error(transparent)]
    Template(Box<Failure>),
}

impl ReportError {
    /// The error as the command line shows it: a mistake in a template is shown at its place.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Template(failure) | Self::Comparison(failure) => *failure,
            other => Failure::without_source(other.to_string(), None),
        }
    }
}
