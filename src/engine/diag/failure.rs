//! [`Failure`]: everything that is wrong with one input.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::io::IsTerminal;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Diagnostic, Source, render::render};

/// Largest number of mistakes that are shown.
const DRAWN: usize = 100;

/// All mistakes of one input, in file order, without duplicates, with the texts that contain them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The mistakes, in file order.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts; the first is the input file.
    pub sources: Arc<[Source]>,
    /// Consequence of the mistakes for the closing line, such as "nothing was run"; not part of JSON output.
    #[serde(skip)]
    pub consequence: &'static str,
}

impl std::error::Error for Failure {}

impl Failure {
    /// Sorts the mistakes into file order and removes duplicates.
    pub fn new(mut diagnostics: Vec<Diagnostic>, sources: Arc<[Source]>) -> Self {
        diagnostics.sort_by_key(|diagnostic| diagnostic.place().unwrap_or_default());
        let mut seen = BTreeSet::new();
        diagnostics.retain(|one| seen.insert((one.place(), one.title.clone())));
        Self {
            diagnostics,
            sources,
            consequence: "nothing was run",
        }
    }

    /// Replaces the consequence in the closing line, for example by "no report was written".
    #[must_use]
    pub fn with_consequence(self, consequence: &'static str) -> Self {
        Self {
            consequence,
            ..self
        }
    }

    /// A failure with a single mistake that refers to no source text.
    pub fn without_source(title: impl Into<String>, help: Option<String>) -> Self {
        Self {
            diagnostics: vec![Diagnostic::error(title).maybe_help(help)],
            sources: Arc::new([]),
            consequence: "nothing was run",
        }
    }

    /// Renders every mistake, and the closing line if there is a source text.
    pub fn render(&self, is_coloured: bool) -> String {
        let mut text = self.render_each(is_coloured);
        if !self.sources.is_empty() {
            text.push_str(&self.closing());
        }
        text
    }

    /// Renders the first hundred mistakes, each followed by an empty line, then the number of further ones.
    pub fn render_each(&self, is_coloured: bool) -> String {
        let drawn = self.diagnostics.iter().take(DRAWN);
        let mut text: String = drawn
            .map(|diagnostic| {
                render(diagnostic, &self.sources, is_coloured)
                    .trim_end()
                    .to_owned()
                    + "\n\n"
            })
            .collect();
        let left = self.diagnostics.len().saturating_sub(DRAWN);
        if left > 0 {
            let _ = write!(text, "… and {left} more\n\n");
        }
        text
    }

    /// Whether messages on standard error may be coloured: it is a terminal, and `NO_COLOR` is unset or empty.
    pub fn is_stderr_coloured() -> bool {
        std::io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    fn closing(&self) -> String {
        let count = self.diagnostics.len();
        let mistakes = if count == 1 { "mistake" } else { "mistakes" };
        let path = self.sources.first().map_or("", |source| &source.path);
        format!(
            "error: {count} {mistakes} in `{path}`; {}\n",
            self.consequence
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}
