//! [`Advice`]: recommendations, predictions and outcomes in the form that report templates get.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::units::human;
use crate::plan::{Claim, PredictedColumn};
use crate::report::number::times_text;
use crate::report::section::{Section, Theme};
use crate::report::sections::field::{self, Field};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::View;
use crate::results::{IntervalKind, grouped};

use super::advice_data::AdviceData;
use super::effect::Measured;
use super::outcome::Outcome;
use super::recommendation::{Recommendation, ratio_with_ends};

/// Recommendations, and measured outcomes of the recommendations that these results test.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Advice {
    /// Recommendations by predicted gain, the largest first; those with only a bound come last.
    pub recommendations: Vec<AdviceItem>,
    /// The command that tests the recommendations; empty without recommendations to test.
    pub command: String,
    /// Name of the results whose recommendations this experiment tests; empty if it tests none.
    pub follows: String,
    /// Outcomes of the predictions that these results test, one sentence each; the answer begins with them.
    #[serde(skip)]
    pub outcomes: Vec<String>,
    /// Predictions that these results test, with their measurements; `None` if the experiment tests none. The table is
    /// in the theme `recommendations`.
    #[serde(skip)]
    pub predictions: Option<Table>,
}

/// A recommendation, as texts for templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdviceItem {
    /// Rule that made the recommendation.
    pub rule: &'static str,
    /// The change: `train.batch-size = 16 instead of 8`.
    pub change: String,
    /// Name of the changed cell.
    pub cell: String,
    /// The measured values because of which the rule recommends the change.
    pub triggers: String,
    /// The predicted effect: `1.11× (1.05–1.17) the throughput`, or a bound: `at most 1.11× the throughput (a bound,
    /// no estimate)`.
    pub predicted: String,
    /// How the prediction was computed.
    pub formula: String,
    /// Why the change should help, in a sentence.
    pub reasoning: String,
    /// Result of a test of the change; empty if it was not tested.
    pub outcome: String,
    /// Whether only a bound of the effect is known.
    #[serde(skip)]
    pub(super) is_bound: bool,
}

impl Advice {
    /// Recommendations of the rules for these results; [`super::prepare`] adds files and later results.
    pub(crate) fn of(view: &View<'_>) -> Self {
        Self::from(view, &AdviceData::of(view))
    }

    pub(super) fn from(view: &View<'_>, advice_data: &AdviceData<'_, '_>) -> Self {
        let follows = view.set.plan.follows.clone();
        let follows = follows.unwrap_or_else(|| origins(&advice_data.outcomes));
        Self {
            recommendations: advice_data.recommendations.iter().map(item).collect(),
            command: String::new(),
            outcomes: told(&follows, &advice_data.outcomes),
            predictions: (!advice_data.outcomes.is_empty())
                .then(|| table(&follows, &advice_data.outcomes)),
            follows,
        }
    }

    /// Merges equal untested changes of several cells, if only bounds are known for them, into the item with the
    /// largest bound, which is the first.
    pub(super) fn merge(&mut self) {
        let mut merged: Vec<AdviceItem> = Vec::new();
        for item in std::mem::take(&mut self.recommendations) {
            let is_same = |one: &&mut AdviceItem| {
                let (own, other) = ((one.rule, &one.change), (item.rule, &item.change));
                let is_open = one.outcome.is_empty() && item.outcome.is_empty();
                own == other && is_open && one.is_bound && item.is_bound
            };
            match merged.iter_mut().find(is_same) {
                Some(one) => {
                    one.cell = format!("{}; {}", one.cell, item.cell);
                    one.triggers = format!("{} {}", one.triggers, item.triggers);
                }
                None => merged.push(item),
            }
        }
        self.recommendations = merged;
    }

    /// The theme with recommendations that were not fully tested, and with predictions and their measurements; `None`
    /// without any.
    pub(crate) fn theme(&self) -> Option<Theme> {
        let point = |one: &AdviceItem| {
            format!(
                "{} ({}): {} {} Predicted by {}.",
                one.change, one.rule, one.triggers, one.reasoning, one.formula
            )
        };
        let untested = self.recommendations.iter();
        let untested = untested.filter(|one| one.outcome.is_empty());
        let full = Section {
            points: untested.map(point).collect(),
            ..Section::titled("recommendations", "Why these recommendations")
        };
        let predictions = self.predictions.clone().map(Section::table);
        let all = predictions.into_iter().chain([full]);
        let sections: Vec<Section> = all.filter(|section| !section.is_empty()).collect();
        (!sections.is_empty()).then(|| Theme {
            id: "recommendations".to_owned(),
            title: "Recommendations and predictions".to_owned(),
            sections,
        })
    }
}

fn item(one: &Recommendation) -> AdviceItem {
    AdviceItem {
        rule: one.rule,
        change: one.change(),
        cell: one.name.clone(),
        triggers: one.triggers.clone(),
        predicted: predicted(one),
        formula: one.formula.clone(),
        reasoning: one.reasoning.clone(),
        outcome: String::new(),
        is_bound: one.predicted.estimate.is_none(),
    }
}

/// A predicted effect as text.
fn predicted(one: &Recommendation) -> String {
    let (words, found) = (one.column.display_name(), one.predicted);
    if let Some(ends) = found.ends() {
        let claim = match one.claim {
            Claim::Gain => "",
            Claim::NoWorse => ", no worse than its end",
            Claim::Value => ", within it",
        };
        return format!("{} the {words}{claim}", ratio_with_ends(ends));
    }
    let bound = bound(one.column, found.low, found.high);
    format!("{bound} the {words} (a bound, no estimate)")
}

/// The bound of a predicted ratio as text: `at most 1.11×`, or for a time `at least 0.900×`.
fn bound(column: PredictedColumn, low: f64, high: f64) -> String {
    if column.is_better_high() {
        format!("at most {}", times_text(high))
    } else {
        format!("at least {}", times_text(low))
    }
}

/// Largest number of predictions for which each has its own sentence; more are summarised in one.
const TOLD: usize = 2;
/// Sentences about tested predictions: one for each or, if there are many, one with the count and an example of each
/// verdict.
fn told(follows: &str, outcomes: &[Outcome]) -> Vec<String> {
    if outcomes.len() <= TOLD {
        let sentence = |one: &Outcome| format!("{}: {}.", one.change(), measured(one));
        return outcomes.iter().map(sentence).collect();
    }
    let by_verdict = grouped(outcomes, |outcome| outcome.words());
    let counts = by_verdict.iter().map(|own| {
        let (first, spec) = (own[0], &own[0].prediction);
        let ratio = first.measured.map_or_else(String::new, |found| {
            let predicted = spec.predicted.map(|value| {
                let ends = ratio_with_ends([value, spec.low, spec.high]);
                format!(", predicted {ends}")
            });
            let (measured, words) = (ratio_with_ends(found.ends()), spec.column.display_name());
            format!(": {measured} the {words}{}", predicted.unwrap_or_default())
        });
        let more = match own.len() - 1 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let (n, verdict) = (own.len(), first.words());
        format!("{n} {verdict} ({}{ratio}{more})", first.change())
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let all = outcomes.len();
    vec![format!("Of {all} predictions of {follows}: {counts}.")]
}

/// The measured effect of a predicted change, in words.
pub(super) fn measured(outcome: &Outcome) -> String {
    let verdict = outcome.words();
    match &outcome.measured {
        None => format!("{verdict}: {}", outcome.reason),
        Some(found) => format!(
            "{verdict}: measured {} the {} ({}); {}",
            ratio_with_ends(found.ends()),
            outcome.prediction.column.display_name(),
            pairs(found),
            outcome.reason
        ),
    }
}

fn pairs(found: &Measured) -> String {
    match found.ratio.kind {
        IntervalKind::Single => "one pair of runs, no interval".to_owned(),
        IntervalKind::Range => format!("range of {} pairs of runs", found.pairs),
        kind @ (IntervalKind::Bootstrap95 | IntervalKind::Anytime95) => {
            let is_bootstrap = kind == IntervalKind::Bootstrap95;
            let method = if is_bootstrap { "bootstrap " } else { "" };
            format!("95 % {method}interval of {} pairs of runs", found.pairs)
        }
    }
}

/// For a manifest that follows no report: the reports that its predictions come from.
fn origins(outcomes: &[Outcome]) -> String {
    let origins: BTreeSet<&str> = (outcomes.iter())
        .map(|outcome| outcome.prediction.origin.as_str())
        .filter(|origin| !origin.is_empty())
        .collect();
    origins.into_iter().collect::<Vec<_>>().join(", ")
}

fn table(follows: &str, outcomes: &[Outcome]) -> Table {
    type OfOutcome<'f> = Field<'f, &'f Outcome>;
    let with_ends = |[value, low, high]: [f64; 3]| Entry {
        text: times_text(value),
        ..Entry::between(value, Some((low, high)), |value| human(value, 3))
    };
    let from = format!("from the manifest, as `{follows}` predicted");
    let how = "ratio of the medians over pairs of runs of one block and seed";
    let fields = [
        OfOutcome::text("rule", |one| one.prediction.rule.clone()),
        OfOutcome::text("change", |one| one.change()),
        OfOutcome::text("ratio of", |one| one.prediction.column.display_name()),
        OfOutcome::assumed("predicted", "", &from, |one| {
            let of = &one.prediction;
            let bound = || Entry::text(bound(of.column, of.low, of.high));
            let ends = of
                .predicted
                .map(|value| with_ends([value, of.low, of.high]));
            ends.unwrap_or_else(bound)
        }),
        OfOutcome::measured("measured", "", how, |one| {
            let ends = one.measured.map(|found| with_ends(found.ends()));
            ends.unwrap_or_else(|| Entry::text("–"))
        }),
        OfOutcome::measured("pairs", "", "pairs of runs", |one| {
            Entry::count(one.measured.map_or(0, |found| found.pairs))
        }),
        OfOutcome::new(Column::text("verdict"), |one| {
            Entry::detailed(one.words(), &*one.reason)
        }),
    ];
    let about = format!(
        "Predicted and measured ratios of the median of the cell with the change to that of the one without. Confirmed: the \
         interval is not worse than what `{follows}` predicted and excludes the opposite; refuted: all of it is worse; \
         direction right, size off: all of it is better than predicted; unclear: it contains both, or fewer than three pairs."
    );
    let naming = ("predictions", "Predictions and measurement", about);
    let rows = outcomes.iter().map(|one| (one.cell.clone(), one));
    field::of_rows(naming, &fields, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PredictionSpec, Verdict};
    use crate::report::advice::effect::BETTER_THAN_PREDICTED;

    #[test]
    fn of_many_predictions_it_is_told_how_many_were_too_low() {
        let prediction: PredictionSpec = serde_json::from_value(serde_json::json!({
            "rule": "batch-size", "setting": "train.batch-size", "from": "8", "to": "16", "origin": "x", "against": {},
            "cell": {}, "column": "samples_per_s", "claim": "gain", "low": 1.1, "high": 1.3, "reasoning": "It grows."
        }))
        .expect("a prediction");
        let outcome = |reason: &str| Outcome {
            prediction: prediction.clone(),
            cell: String::new(),
            reference: String::new(),
            whose: String::new(),
            measured: None,
            verdict: Verdict::Confirmed,
            reason: reason.to_owned(),
        };
        let change = "train.batch-size = 16 instead of 8";
        let all = [
            outcome(BETTER_THAN_PREDICTED),
            outcome(BETTER_THAN_PREDICTED),
            outcome("met"),
        ];
        assert_eq!(
            told("before", &all),
            [format!(
                "Of 3 predictions of before: 2 direction right, size off ({change}; and 1 more), 1 confirmed ({change})."
            )]
        );
        let none = [outcome("met"), outcome("met"), outcome("met")];
        assert!(told("before", &none)[0].contains("3 confirmed (train"));
    }
}
