//! [`Recommendation`]: one change of one setting, with what it is expected to do.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use crate::base::units::human;
pub(super) use crate::compare::setting_text as text;
use crate::plan::{Claim, PredictedColumn, TestedSpec, Verdict};
use crate::report::number::times;

use super::effect::improvement;

/// A change that a rule proposes, before it is known of which cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProposedChange {
    /// Setting, by its long path.
    pub(super) setting: Cow<'static, str>,
    /// Present value of the setting; null for none.
    pub(super) from: Value,
    /// The value to try.
    pub(super) to: Value,
    /// Column that is predicted.
    pub(super) column: PredictedColumn,
    /// Kind of prediction.
    pub(super) claim: Claim,
    /// Predicted effect of the change.
    pub(super) predicted: Predicted,
    /// The measured values that the rule acted on.
    pub(super) triggers: String,
    /// How the prediction is computed.
    pub(super) formula: String,
    /// Why, in a sentence.
    pub(super) reasoning: String,
}

/// A predicted ratio of a column: with the change over without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Predicted {
    /// A measured effect, or that of a model fitted to measurements; `None` where only bounds are known.
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

    /// From `worth`, the smallest change that is worth a test, to `best`, which cannot be surpassed: ratios of throughputs
    /// above 1, or of times below.
    pub(super) fn bound(worth: f64, best: f64) -> Self {
        Self {
            estimate: None,
            low: worth.min(best),
            high: worth.max(best),
        }
    }

    /// The estimate with its ends; `None` where only bounds are known.
    pub(super) fn ends(&self) -> Option<[f64; 3]> {
        Some([self.estimate?, self.low, self.high])
    }
}

/// A change of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recommendation {
    /// Rule that made the recommendation.
    pub(super) rule: &'static str,
    /// Number of the study, from 0.
    pub(super) study: usize,
    /// Key of the cell that it changes.
    pub(super) cell: String,
    /// The cell's name in sentences.
    pub(super) name: String,
    /// The recommended change, with its prediction.
    pub(super) proposed: ProposedChange,
}

impl Recommendation {
    /// How many times better the column is predicted to get; where only a bound is known, at best.
    pub(super) fn gain(&self) -> f64 {
        let Predicted { low, high, .. } = self.proposed.predicted;
        let ends = self.proposed.predicted.ends();
        let [middle, _, best] = improvement(self.proposed.column, ends.unwrap_or([1.0, low, high]));
        ends.map_or(best, |_| middle)
    }

    /// Estimates before bounds, each by their gain, the largest first.
    pub(super) fn rank(&self, other: &Self) -> Ordering {
        let is_bound = |one: &Self| one.proposed.predicted.estimate.is_none();
        is_bound(self)
            .cmp(&is_bound(other))
            .then(other.gain().total_cmp(&self.gain()))
    }

    /// `train.batch-size = 16 instead of 8`
    pub(super) fn change(&self) -> String {
        let (from, to) = (text(&self.proposed.from), text(&self.proposed.to));
        format!("{} = {to} instead of {from}", self.proposed.setting)
    }

    /// Whether the recommendation is this change of this setting.
    pub(super) fn is_change(&self, setting: &str, from: &str, to: &str) -> bool {
        let proposed = &self.proposed;
        proposed.setting == setting && text(&proposed.from) == from && text(&proposed.to) == to
    }

    /// Whether the change needs no further test: its value was refuted, or the very change tested.
    pub(super) fn is_settled(&self, tested: &TestedSpec) -> bool {
        let proposed = &self.proposed;
        match tested.verdict {
            Verdict::Refuted => {
                proposed.setting == tested.setting && text(&proposed.to) == tested.to
            }
            Verdict::Confirmed | Verdict::Unclear => {
                self.is_change(&tested.setting, &tested.from, &tested.to)
            }
        }
    }
}

/// A ratio with its ends: `1.13× (1.05–1.21)`.
pub(super) fn ratio_with_ends([value, low, high]: [f64; 3]) -> String {
    format!("{} ({}–{})", times(value), human(low, 3), human(high, 3))
}
