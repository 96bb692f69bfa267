//! [`Form`]: the shape of the values between the layers of a declared model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::units::human_integer;
use crate::datasets::{Features, ImageSize, Target};
use crate::ops::Shape;

/// Shape of one sample's values between two layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A row of numbers: `(B, features)`.
    Row {
        /// Number of features.
        features: usize,
    },
    /// An image: `(B, height, width, channels)` in memory.
    Image(ImageSize),
    /// A sequence of rows: `(B, tokens, features)`.
    Tokens {
        /// Number of tokens.
        tokens: usize,
        /// Number of features of a token.
        features: usize,
    },
    /// A sequence of token ids.
    Ids {
        /// Number of tokens.
        tokens: usize,
        /// Number of different tokens.
        vocabulary: usize,
    },
}

impl Form {
    /// The form of a dataset's samples; `None` for data that declared models do not support.
    pub(super) fn of(features: Features) -> Option<Self> {
        match features {
            Features::Vector { len } => Some(Self::Row { features: len }),
            Features::Image(size) => Some(Self::Image(size)),
            Features::Tokens { length, vocabulary } => Some(Self::Ids {
                tokens: length,
                vocabulary,
            }),
            Features::Path { .. } => None,
        }
    }

    /// The form that a model's output must have for a dataset's targets; `None` without targets.
    pub(super) fn of_output(target: Target) -> Option<Self> {
        match target {
            Target::Values { len } | Target::Labels { len } => Some(Self::Row { features: len }),
            Target::Class { classes } => Some(Self::Row { features: classes }),
            Target::Tokens { length, vocabulary } => Some(Self::Tokens {
                tokens: length,
                features: vocabulary,
            }),
            Target::None => None,
        }
    }

    /// Sizes as text: `32×32×3`, `65 × 192`.
    pub fn sizes(self) -> String {
        match self {
            Self::Row { features } => features.to_string(),
            Self::Image(size) => format!("{}×{}×{}", size.height, size.width, size.channels),
            Self::Tokens { tokens, features } => format!("{tokens} × {features}"),
            Self::Ids { tokens, .. } => format!("{tokens}"),
        }
    }

    /// Number of values of one sample.
    #[expect(clippy::len_without_is_empty, reason = "no form is empty")]
    pub fn len(self) -> usize {
        self.shape(1).len()
    }

    /// Size of the innermost dimension: features or channels; 1 for ids.
    pub fn last(self) -> usize {
        match self {
            Self::Ids { .. } => 1,
            form => form.shape(1).last(),
        }
    }

    /// This form with another innermost dimension.
    pub(super) fn with_last(self, last: usize) -> Self {
        match self {
            Self::Row { .. } => Self::Row { features: last },
            Self::Image(size) => Self::Image(ImageSize {
                channels: last,
                ..size
            }),
            Self::Tokens { tokens, .. } | Self::Ids { tokens, .. } => Self::Tokens {
                tokens,
                features: last,
            },
        }
    }

    /// Product of all sizes except the innermost one: number of pixels or tokens, 1 for a row.
    pub fn rows(self) -> usize {
        self.len() / self.last().max(1)
    }

    /// The shape of a batch in memory.
    pub(super) fn shape(self, batch: usize) -> Shape {
        match self {
            Self::Row { features } => [batch, features].into(),
            Self::Image(size) => size.shape(batch),
            Self::Tokens { tokens, features } => [batch, tokens, features].into(),
            Self::Ids { tokens, .. } => [batch, tokens].into(),
        }
    }
}

impl fmt::Display for Form {
    /// The form in messages: `a row of 1,024 numbers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Row { features: 1 } => write!(f, "a row of 1 number"),
            Self::Row { features } => write!(f, "a row of {} numbers", grouped(features)),
            Self::Image(size) => write!(
                f,
                "an image of {}×{} pixels with {}",
                size.height,
                size.width,
                counted(size.channels, "channel")
            ),
            Self::Tokens { tokens, features } => {
                write!(
                    f,
                    "{} tokens of {} features",
                    grouped(tokens),
                    grouped(features)
                )
            }
            Self::Ids { tokens, vocabulary } => write!(
                f,
                "the numbers of {} tokens, out of {}",
                grouped(tokens),
                grouped(vocabulary)
            ),
        }
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A number with a comma after every three digits.
pub(super) fn grouped(number: usize) -> String {
    human_integer(number as u64)
}
