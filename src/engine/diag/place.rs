//! [`Place`] and [`Source`]: texts and positions in them.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// A range of bytes in one of an input's source texts. It is kept small, since every node of a manifest has one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Place {
    /// Index of the source: 0 is the file, further ones are the `--set` options.
    pub source: u32,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the byte after the last one.
    pub end: u32,
}

impl Place {
    /// The bytes `span` of source `source`.
    pub fn new(source: usize, span: &std::ops::Range<usize>) -> Self {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            source: narrow(source),
            start: narrow(span.start),
            end: narrow(span.end),
        }
    }

    /// Whether the place lies in a `--set`, not in the file.
    pub fn is_override(self) -> bool {
        self.source > 0
    }

    /// Range of bytes in the text.
    pub fn span(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `other` lies within this place.
    pub fn contains(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// From the beginning of this place to the end of `other`, in the same source.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            end: other.end.max(self.end),
            ..self
        }
    }
}

/// A text that diagnostics point into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The source's name in messages: the file's path as the user gave it, or `--set`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The repeated keys among `items`: for each occurrence after the first, the key, its place and the place of the first.
pub fn repeated<K: Copy + Eq + Hash>(
    items: impl IntoIterator<Item = (K, Place)>,
) -> Vec<(K, Place, Place)> {
    let mut known = HashMap::new();
    let again = |(key, place)| {
        let first = *known.entry(key).or_insert(place);
        (first != place).then_some((key, place, first))
    };
    items.into_iter().filter_map(again).collect()
}
