//! [`Page`]: the printed text of a comparison, shortened unless all is requested.

use std::fmt::Write;

use super::words::{duration, wrapped};
use crate::compare::Comparison;

/// Largest number of lines of a section.
const LINES: usize = 10;

/// How a comparison is printed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Printing {
    pub(super) is_coloured: bool,
    /// Whether everything is printed.
    pub(super) is_all: bool,
}

/// The printed text of a comparison, built section by section.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) printing: Printing,
    /// Whether entries were left out or only counted, which [`Printing::is_all`] would show.
    pub(super) is_cut: bool,
}

impl Page {
    pub(super) fn new(printing: Printing) -> Self {
        Self {
            text: String::new(),
            printing,
            is_cut: false,
        }
    }

    /// Adds lines, broken if they are too long.
    pub(super) fn add(&mut self, lines: &str) {
        self.text.push_str(&wrapped(lines));
    }

    /// The first `most` entries, or all if requested; and the number of the others.
    pub(super) fn first<'l, T>(&mut self, entries: &'l [T], most: usize) -> (&'l [T], usize) {
        if self.printing.is_all || entries.len() <= most {
            return (entries, 0);
        }
        self.is_cut = true;
        (&entries[..most], entries.len() - most)
    }

    /// Adds a heading with lines below it; does nothing without lines.
    pub(super) fn section(&mut self, heading: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let (lines, more) = self.first(lines, LINES);
        let mut text = format!("\n{heading}\n");
        for line in lines {
            let _ = writeln!(text, "  {line}");
        }
        if more > 0 {
            let _ = writeln!(text, "  … {more} more");
        }
        self.add(&text);
    }
}

/// The note that is added to ratios between different environments.
pub(super) fn environments_note(comparison: &Comparison) -> &'static str {
    if comparison.environment.is_across {
        " across environments"
    } else {
        ""
    }
}

pub(super) fn times((before, after): (Option<f64>, Option<f64>)) -> [String; 2] {
    [before, after].map(|time| time.map_or_else(|| "–".to_owned(), duration))
}
