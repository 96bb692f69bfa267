//! [`RangeError`]: invalid combinations of values. Ranges of single values are in the schema of their fields.

/// An error: two values that are each valid, but not together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {message}")]
pub struct RangeError {
    /// Key, relative to the section that was checked (`nesterov`, `warm-up.epochs`).
    pub key: &'static str,
    /// Required and found value: "must be at most the learning rate 0.1, not 1".
    pub message: String,
}
