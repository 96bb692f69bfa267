//! [`Recommendation`]: one change of one setting, with what it is expected to do.

use serde_json::Value;

use crate::base::units::human;
use crate::plan::{Claim, PredictedColumn, TestedSpec, Verdict};

use super::effect::improvement;

/// A change that a rule proposes, before it is known of which cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// Setting, by its long path.
    pub(super) setting: &'static str,
    /// Its value; null for none.
    pub(super) from: Value,
    /// The value to try.
    pub(super) to: Value,
    /// What the prediction is about.
    pub(super) column: PredictedColumn,
    /// What is claimed.
    pub(super) claim: Claim,
    /// Ratio of the column, with the change over without: value, lower and upper end.
    pub(super) predicted: [f64; 3],
    /// The measured values that called for it.
    pub(super) triggers: String,
    /// How the prediction is computed.
    pub(super) formula: String,
    /// Why, in a sentence.
    pub(super) reasoning: String,
}

/// A change of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recommendation {
    /// Rule that made it.
    pub(super) rule: &'static str,
    /// Number of the study, from 0.
    pub(super) study: usize,
    /// Key of the cell that it changes.
    pub(super) cell: String,
    /// That cell in words.
    pub(super) name: String,
    /// The change.
    pub(super) draft: Draft,
}

impl Recommendation {
    /// How many times better the column is predicted to get.
    pub(super) fn gain(&self) -> f64 {
        improvement(self.draft.column, self.draft.predicted)[0]
    }

    /// `train.batch-size = 16 instead of 8`
    pub(super) fn change(&self) -> String {
        let (from, to) = (text(&self.draft.from), text(&self.draft.to));
        format!("{} = {to} instead of {from}", self.draft.setting)
    }

    /// Whether both are the same change of the same setting.
    pub(super) fn is_change(&self, setting: &str, from: &str, to: &str) -> bool {
        let draft = &self.draft;
        draft.setting == setting && text(&draft.from) == from && text(&draft.to) == to
    }

    /// Whether it needs no further test: its value was refuted, or the very change confirmed.
    pub(super) fn is_settled(&self, tested: &TestedSpec) -> bool {
        let draft = &self.draft;
        match tested.verdict {
            Verdict::Refuted => draft.setting == tested.setting && text(&draft.to) == tested.to,
            Verdict::Confirmed => self.is_change(&tested.setting, &tested.from, &tested.to),
            Verdict::Unclear => false,
        }
    }
}

/// A value as reports show it: text without quotes, `none` for nothing.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name} = {}", text(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// A ratio for people: `1.13×`.
pub(super) fn ratio(value: f64) -> String {
    format!("{}×", human(value, 3))
}

/// A ratio with its ends: `1.13× (1.05–1.21)`.
pub(super) fn ratio_with_ends([value, low, high]: [f64; 3]) -> String {
    format!("{} ({}–{})", ratio(value), human(low, 3), human(high, 3))
}
