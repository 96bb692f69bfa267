//! [`RangeError`]: settings that do not fit each other. The range of a single setting is in its schema.

/// An error: two settings that are valid each, but not together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {message}")]
pub struct RangeError {
    /// Name of the setting, relative to the checked section (`nesterov`, `warm-up.epochs`).
    pub key: &'static str,
    /// What the value must be and what it is: "must be at most the learning rate 0.1, not 1".
    pub message: String,
}
