//! [`Recommendation`]: one change of one setting, with its predicted effect.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use crate::base::units::human;
pub(super) use crate::compare::setting_text as text;
use crate::plan::{Claim, PredictedColumn, TestedSpec, Verdict};
use crate::report::number::times_text;

use super::effect::improvement;

/// A predicted ratio of a column: the value with the change divided by that without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Predicted {
    /// Measured effect, or the effect that a fit to measurements predicts; `None` if only bounds are known.
    pub(super) estimate: Option<f64>,
    /// Lower end of the estimate's interval, or lower bound.
    pub(super) low: f64,
    /// Upper end of the estimate's interval, or upper bound.
    pub(super) high: f64,
}

impl Predicted {
    /// An estimate with the ends of its interval.
    pub(super) fn estimate([estimate, low, high]: [f64; 3]) -> Self {
        Self {
            estimate: Some(estimate),
            low,
            high,
        }
    }

    /// Bounds of the ratio: `worth` for the smallest effect that is worth a test, `best` for the best possible one;
    /// above 1 for throughputs, below 1 for times.
    pub(super) fn bound(worth: f64, best: f64) -> Self {
        Self {
            estimate: None,
            low: worth.min(best),
            high: worth.max(best),
        }
    }

    /// The estimate with the ends of its interval; `None` where only bounds are known.
    pub(super) fn ends(&self) -> Option<[f64; 3]> {
        Some([self.estimate?, self.low, self.high])
    }
}

/// A recommended change of a setting of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recommendation {
    /// Rule that made the recommendation.
    pub(super) rule: &'static str,
    /// Index of the recommendation's study (the cells of one kind of work), from 0.
    pub(super) study: usize,
    /// Key of the cell that the recommendation changes.
    pub(super) cell: String,
    /// The cell's name for use in sentences.
    pub(super) name: String,
    /// Dotted path of the setting.
    pub(super) setting: Cow<'static, str>,
    /// Present value of the setting; null if it is not set.
    pub(super) from: Value,
    /// The value to try.
    pub(super) to: Value,
    /// Column that is predicted.
    pub(super) column: PredictedColumn,
    /// What is predicted: a gain, no loss, or a value.
    pub(super) claim: Claim,
    /// Predicted effect of the change.
    pub(super) predicted: Predicted,
    /// The measured values that made the rule propose the change, as text.
    pub(super) triggers: String,
    /// How the prediction is computed.
    pub(super) formula: String,
    /// Why the change should help, in a sentence.
    pub(super) reasoning: String,
}

impl Recommendation {
    /// Predicted factor by which the column improves (larger is better); if only a bound is known, the best possible
    /// factor.
    pub(super) fn gain(&self) -> f64 {
        let Predicted { low, high, .. } = self.predicted;
        let ends = self.predicted.ends();
        let [middle, _, best] = improvement(self.column, ends.unwrap_or([1.0, low, high]));
        ends.map_or(best, |_| middle)
    }

    /// Sort order: estimates before bounds, then by gain, the largest first.
    pub(super) fn rank(&self, other: &Self) -> Ordering {
        let is_bound = |one: &Self| one.predicted.estimate.is_none();
        is_bound(self)
            .cmp(&is_bound(other))
            .then(other.gain().total_cmp(&self.gain()))
    }

    /// The change as text: `train.batch-size = 16 instead of 8`.
    pub(super) fn change(&self) -> String {
        let (from, to) = (text(&self.from), text(&self.to));
        format!("{} = {to} instead of {from}", self.setting)
    }

    /// Whether the recommendation changes `setting` from the value `from` to `to`.
    pub(super) fn is_change(&self, setting: &str, from: &str, to: &str) -> bool {
        self.setting == setting && text(&self.from) == from && text(&self.to) == to
    }

    /// Whether the change needs no further test: its new value was refuted, or exactly this change was tested.
    pub(super) fn is_settled(&self, tested: &TestedSpec) -> bool {
        match tested.verdict {
            Verdict::Refuted => self.setting == tested.setting && text(&self.to) == tested.to,
            Verdict::Confirmed | Verdict::Unclear => {
                self.is_change(&tested.setting, &tested.from, &tested.to)
            }
        }
    }
}

/// The parts of a cell's name except the value of a setting: `large` of `large, batch-size 8` for the setting
/// `train.batch-size`.
pub(super) fn other_parts<'n>(name: &'n str, setting: &str, value: &str) -> Vec<&'n str> {
    let changed = format!("{} ", key_of(setting));
    let parts = name.split(", ");
    parts
        .filter(|part| *part != value && !part.starts_with(&changed))
        .collect()
}

/// The last part of a setting's path.
pub(super) fn key_of(setting: &str) -> &str {
    setting.rsplit('.').next().unwrap_or_default()
}

/// A ratio with the ends of its interval as text: `1.13× (1.05–1.21)`.
pub(super) fn ratio_with_ends([value, low, high]: [f64; 3]) -> String {
    format!(
        "{} ({}–{})",
        times_text(value),
        human(low, 3),
        human(high, 3)
    )
}
