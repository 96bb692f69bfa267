//! [`RangeError`]: values that do not go together. What a value must be by itself stands at its field, in the schema.

/// A value that does not go with another one, by its key inside its section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {message}")]
pub struct RangeError {
    /// Key, relative to the section that was checked (`nesterov`, `warm-up.epochs`).
    pub key: &'static str,
    /// What must hold and what stands there: "must be at most the learning rate 0.1, not 1".
    pub message: String,
}
