//! [`RangeError`]: a value that no optimizer, schedule or average can work with.

/// A value out of range, by its key inside its section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {message}")]
pub struct RangeError {
    /// Key, relative to the section that was checked (`lr`, `warm-up.from`).
    pub key: &'static str,
    /// What must hold and what stands there: "must be above 0, not -1".
    pub message: String,
}

/// Collects the mistakes of one section.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<RangeError>);

impl Ranges {
    /// `value > 0`, finite.
    pub(super) fn positive(self, key: &'static str, value: f64) -> Self {
        let holds = value.is_finite() && value > 0.0;
        self.require(holds, key, || format!("must be above 0, not {value}"))
    }

    /// `value ≥ 0`, finite.
    pub(super) fn not_negative(self, key: &'static str, value: f64) -> Self {
        let holds = value.is_finite() && value >= 0.0;
        self.require(holds, key, || format!("must be 0 or more, not {value}"))
    }

    /// `0 ≤ value < 1`.
    pub(super) fn below_one(self, key: &'static str, value: f64) -> Self {
        let holds = (0.0..1.0).contains(&value);
        self.require(holds, key, || {
            format!("must be at least 0 and below 1, not {value}")
        })
    }

    /// Whatever `holds` says.
    pub(super) fn require(
        mut self,
        holds: bool,
        key: &'static str,
        message: impl FnOnce() -> String,
    ) -> Self {
        if !holds {
            self.0.push(RangeError {
                key,
                message: message(),
            });
        }
        self
    }

    pub(super) fn done(self) -> Vec<RangeError> {
        self.0
    }
}
