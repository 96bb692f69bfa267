//! [`Size`]: height and width in pixels, `32` or `[24, 32]` in a manifest.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Largest height and width of an image.
pub(in super::super) const MAX_SIDE: usize = 16_384;

/// Height and width in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Height in pixels.
    pub height: usize,
    /// Width in pixels.
    pub width: usize,
}

impl Size {
    /// A square of `side` pixels.
    pub const fn square(side: usize) -> Self {
        Self {
            height: side,
            width: side,
        }
    }

    /// Whether height and width are equal.
    pub fn is_square(self) -> bool {
        self.height == self.width
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_square() {
            return self.height.serialize(serializer);
        }
        [self.height, self.width].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sides;

        impl<'de> Visitor<'de> for Sides {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a list of height and width")
            }

            fn visit_u64<E: Error>(self, side: u64) -> Result<Size, E> {
                let side = usize::try_from(side).map_err(|_| E::custom("is too large"))?;
                Ok(Size::square(side))
            }

            fn visit_i64<E: Error>(self, side: i64) -> Result<Size, E> {
                let side = u64::try_from(side).map_err(|_| E::custom("must be at least 1"))?;
                self.visit_u64(side)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Size, A::Error> {
                let mut side = |place| {
                    let missing = A::Error::invalid_length(place, &"a list of 2");
                    list.next_element()?.ok_or(missing)
                };
                Ok(Size {
                    height: side(0)?,
                    width: side(1)?,
                })
            }
        }

        deserializer.deserialize_any(Sides)
    }
}

/// The JSON Schema of the setting `size`.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    let side = json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_SIDE });
    json_schema!({
        "type": ["integer", "array"],
        "minimum": 1,
        "maximum": MAX_SIDE,
        "items": side,
        "minItems": 2,
        "maxItems": 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_or_a_pair() {
        let pair = Size {
            height: 24,
            width: 32,
        };
        for (text, size) in [("40", Size::square(40)), ("[24,32]", pair)] {
            assert_eq!(serde_json::from_str::<Size>(text).unwrap(), size);
            assert_eq!(serde_json::to_string(&size).unwrap(), text);
        }
        for wrong in ["-1", "[24]", "[24,32,3]", "\"24\"", "[-1,2]", "1.5"] {
            assert!(serde_json::from_str::<Size>(wrong).is_err(), "{wrong}");
        }
    }
}
