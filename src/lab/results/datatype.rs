//! [`Datatype`]: the type of a column's fields, for programs that read the tables.

/// Type of the fields of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Datatype {
    /// Any text.
    Text,
    /// An integer.
    Whole,
    /// A floating-point number, as metrics are.
    #[default]
    Number,
    /// `true` or `false`.
    Truth,
    /// A date and time in UTC, `2026-11-21T19:05:33.250Z`.
    DateTime,
}

impl Datatype {
    /// Whether the type is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Whole | Self::Number)
    }

    /// The type's name in XML Schema, which CSVW uses.
    pub(crate) fn xml_name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Whole => "integer",
            Self::Number => "double",
            Self::Truth => "boolean",
            Self::DateTime => "dateTime",
        }
    }
}
