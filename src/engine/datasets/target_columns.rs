//! [`TargetColumns`]: the name of a column that is to be predicted, or several.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DatasetSpec;

impl DatasetSpec {
    /// Whether targets are several labels, each there or not.
    pub fn predicts_labels(&self) -> bool {
        match self {
            Self::Csv(spec) => spec.predicts_labels(),
            Self::ImageFolder(spec) => spec.predicts_labels(),
            _ => false,
        }
    }
}

/// Names of the columns that are to be predicted: a text in a manifest, or a list of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetColumns(Vec<String>);

impl From<&str> for TargetColumns {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for TargetColumns {
    fn from(names: [&str; N]) -> Self {
        Self(names.map(str::to_owned).into())
    }
}

impl Deref for TargetColumns {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl TargetColumns {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `name` is one of them.
    pub(super) fn has(&self, name: &str) -> bool {
        self.iter().any(|own| own == name)
    }

    /// The first name that stands here twice.
    pub(super) fn repeated(&self) -> Option<&str> {
        let twice = |(place, name): &(usize, &String)| self[..*place].contains(name);
        let found = self.iter().enumerate().find(twice);
        found.map(|(_, name)| name.as_str())
    }
}

impl Serialize for TargetColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] => serializer.serialize_str(only),
            names => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TargetColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany)
    }
}

struct OneOrMany;

impl<'de> Visitor<'de> for OneOrMany {
    type Value = TargetColumns;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a column, or a list of them")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<TargetColumns, E> {
        Ok(name.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<TargetColumns, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(TargetColumns)
    }
}

impl JsonSchema for TargetColumns {
    fn schema_name() -> Cow<'static, str> {
        "TargetColumns".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}
