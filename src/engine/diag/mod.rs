//! Diagnostics of user mistakes (place, message, advice) and their rendering.
//!
//! Owns [`Diagnostic`] (one mistake), [`Source`] (the text that contains it) and [`Failure`] (all mistakes of one
//! input, with the closing line). It does not depend on manifests: other modules build diagnostics, [`Failure`] renders
//! them.

mod failure;
mod place;
mod render;
mod suggest;

pub use failure::Failure;
pub use place::{Place, Source, repeated};
pub use suggest::{did_you_mean, list, list_of, nearest};

use serde::{Deserialize, Serialize};

/// One mistake, or one warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The message: a lower-case fragment that can be understood alone, literals in backticks, no full stop.
    pub title: String,
    /// Places of the mistake, the primary one first.
    pub labels: Vec<Label>,
    /// Advice, one line each; a suggested name comes first.
    pub help: Vec<String>,
    /// Background information, one line each.
    pub note: Vec<String>,
    /// Severity: error or warning.
    pub severity: Severity,
}

/// A position in a source with a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Source and byte range that the label marks.
    pub place: Place,
    /// The label, a few words; may be empty.
    pub text: String,
    /// Whether the label is at the mistake (`^^^`), or at a place that explains it (`---`).
    pub is_primary: bool,
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// An error: nothing is run.
    Error,
    /// A warning; the command continues.
    Warning,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            labels: Vec::new(),
            help: Vec::new(),
            note: Vec::new(),
            severity: Severity::Error,
        }
    }

    /// A warning without a place.
    pub fn warning(title: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(title)
        }
    }

    /// Adds the place that the message is about.
    #[must_use]
    pub fn at(self, place: Place, text: impl Into<String>) -> Self {
        self.label(place, text, true)
    }

    /// Adds a place that explains the mistake.
    #[must_use]
    pub fn context(self, place: Place, text: impl Into<String>) -> Self {
        self.label(place, text, false)
    }

    /// Adds a line of advice.
    #[must_use]
    pub fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }

    /// Adds a line of advice if there is one.
    #[must_use]
    pub fn maybe_help(mut self, line: Option<String>) -> Self {
        self.help.extend(line);
        self
    }

    /// Adds advice: the one of `names` that is most similar to `word`, if any is, and a list of all `names`, introduced
    /// by the text `what`.
    #[must_use]
    pub fn suggest_from<'a>(
        self,
        word: &str,
        what: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let meant = did_you_mean(word, names.iter().copied());
        let all = (!names.is_empty()).then(|| format!("{what} {}", list(names)));
        self.maybe_help(meant).maybe_help(all)
    }

    /// Adds a line of background information.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.note.push(line.into());
        self
    }

    /// The place that the message is about; `None` if the diagnostic has no place.
    pub fn place(&self) -> Option<Place> {
        self.labels.first().map(|label| label.place)
    }

    fn label(mut self, place: Place, text: impl Into<String>, is_primary: bool) -> Self {
        self.labels.push(Label {
            place,
            text: text.into(),
            is_primary,
        });
        self
    }
}
