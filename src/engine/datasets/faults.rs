//! [`Faults`]: what is wrong inside the files of a dataset, each with its place.

use std::fmt;

/// Faults that are written out; the others are counted.
const SHOWN: usize = 20;

/// What is wrong inside a file or folder, in its order: all are counted, the first are written out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    shown: Vec<(String, String)>,
    count: usize,
    /// What to do about it, where that is known.
    pub help: Option<String>,
    /// Key of the dataset's section that they concern; `path` without one.
    pub key: Option<&'static str>,
}

impl Faults {
    /// A single fault at `place`: "in line 3", "at byte 16", or nothing.
    pub(crate) fn one(place: String, reason: String) -> Self {
        Self {
            shown: vec![(place, reason)],
            count: 1,
            ..Self::default()
        }
    }

    /// Counts a fault, and keeps its place and reason where there are few yet.
    pub(crate) fn add(&mut self, fault: impl FnOnce() -> (String, String)) {
        self.count += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(fault());
        }
    }

    /// Number of all faults.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The fault, where there is one; of several, in how many places they are.
    pub fn title(&self) -> String {
        match self.shown.as_slice() {
            [(place, reason)] if place.is_empty() => format!(": {reason}"),
            [(place, reason)] => format!(" {place}: {reason}"),
            _ => format!(" in {} places", self.count),
        }
    }

    /// Several faults one by one, and how many more there are; nothing where there is one.
    pub fn list(&self) -> Vec<String> {
        if self.shown.len() < 2 {
            return Vec::new();
        }
        let faults = self.shown.iter();
        let mut lines: Vec<String> = faults
            .map(|(place, reason)| format!("{}: {reason}", place.trim_start_matches("in ")))
            .collect();
        if self.count > lines.len() {
            lines.push(format!("and {} more", self.count - lines.len()));
        }
        lines
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (title, list) = (self.title(), self.list());
        if list.is_empty() {
            return f.write_str(&title);
        }
        write!(f, "{title}: {}", list.join("; "))
    }
}
