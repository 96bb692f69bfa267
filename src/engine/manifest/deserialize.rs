//! [`Node`]s as a serde data format, with errors as values instead of text.

use std::fmt::Display;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::node::{Key, Node, Value};

/// An error that serde reported about a value, without its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeserializeError {
    /// A key that the section does not have.
    UnknownKey {
        /// Name of the key.
        name: String,
        /// Keys of the section.
        accepted: Vec<&'static str>,
    },
    /// A string that is not one of the accepted values (an enum variant, for serde).
    UnknownWord {
        /// The string found.
        word: String,
        /// Accepted strings.
        accepted: Vec<&'static str>,
    },
    /// A required key that is missing.
    Missing {
        /// Name of the key.
        name: &'static str,
    },
    /// A value of the wrong type.
    WrongType {
        /// Type found, as named by serde.
        found: String,
        /// Type expected, as named by serde.
        expected: String,
    },
    /// A list of the wrong length.
    WrongLength {
        /// The length found.
        found: usize,
        /// Length expected, as named by serde.
        expected: String,
    },
    /// Any other error, with the message of the type that reported it.
    Other(String),
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::WrongType {
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::WrongLength {
            found,
            expected: expected.to_string(),
        }
    }

    fn unknown_variant(word: &str, accepted: &'static [&'static str]) -> Self {
        Self::UnknownWord {
            word: word.to_owned(),
            accepted: accepted.to_vec(),
        }
    }

    fn unknown_field(name: &str, accepted: &'static [&'static str]) -> Self {
        Self::UnknownKey {
            name: name.to_owned(),
            accepted: accepted.to_vec(),
        }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing { name }
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match &self.value {
            Value::String(text) | Value::Datetime(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Array(nodes) => {
                let mut list = SeqDeserializer::new(nodes.iter());
                let value = visitor.visit_seq(&mut list)?;
                // Fails if the list has more elements than the type reads, such as a third one for a pair.
                list.end()?;
                Ok(value)
            }
            Value::Table(table) => visitor.visit_map(MapDeserializer::new(
                table.entries.iter().map(|(key, node)| (key, node)),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match &self.value {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            _ => Err(DeserializeError::WrongType {
                found: self.kind().to_owned(),
                expected: "a string".to_owned(),
            }),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, DeserializeError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> IntoDeserializer<'de, DeserializeError> for &'de Key {
    type Deserializer = de::value::BorrowedStrDeserializer<'de, DeserializeError>;

    fn into_deserializer(self) -> Self::Deserializer {
        de::value::BorrowedStrDeserializer::new(&self.name)
    }
}
