//! [`Faults`]: errors inside the files of a dataset, each with its position.

use std::fmt;

/// Largest number of faults that are listed; further ones are counted.
const SHOWN: usize = 20;

/// Errors inside a file or folder, in file order: all are counted, the first ones are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    shown: Vec<(String, String)>,
    count: usize,
    /// Advice for the user; `None` if there is none.
    pub help: Option<String>,
    /// Key in the manifest's dataset section that the faults are about; `None` means the key `path`.
    pub key: Option<&'static str>,
}

impl Faults {
    /// A single fault; `place` is "in line 3", "at byte 16", or empty.
    pub(crate) fn one(place: String, reason: String) -> Self {
        Self {
            shown: vec![(place, reason)],
            count: 1,
            ..Self::default()
        }
    }

    /// Counts a fault, and stores its position and reason if it is one of the first.
    pub(crate) fn add(&mut self, fault: impl FnOnce() -> (String, String)) {
        self.count += 1;
        if self.shown.len() < SHOWN {
            self.shown.push(fault());
        }
    }

    /// Appends the faults of `others`.
    pub(crate) fn append_faults(mut self, others: Self) -> Self {
        self.count += others.count;
        self.shown.extend(others.shown);
        self.shown.truncate(SHOWN);
        self
    }

    /// Whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The end of an error's title: position and reason of a single fault, otherwise the number of faults.
    pub fn title(&self) -> String {
        match self.shown.as_slice() {
            [(place, reason)] if place.is_empty() => format!(": {reason}"),
            [(place, reason)] => format!(" {place}: {reason}"),
            _ => format!(" in {} places", self.count),
        }
    }

    /// The listed faults, and how many more there are; empty for a single fault.
    pub fn list(&self) -> Vec<String> {
        if self.shown.len() < 2 {
            return Vec::new();
        }
        let faults = self.shown.iter();
        let mut lines: Vec<String> = faults
            .map(|(place, reason)| match place.trim_start_matches("in ") {
                "" => reason.clone(),
                place => format!("{place}: {reason}"),
            })
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
