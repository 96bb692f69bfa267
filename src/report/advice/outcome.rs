//! [`Outcome`]: a prediction with its measured effect, in the results that test it.

use crate::plan::{Claim, PredictionSpec, TestedSpec, Verdict};
use crate::report::view::{Cell, View};

use super::effect::{BETTER_THAN_PREDICTED, Measured, paired_ratio, verdict};
use super::recommendation::other_parts;

/// A prediction that these results test, with its measurement and verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// The prediction as the manifest has it.
    pub(super) prediction: PredictionSpec,
    /// Key of the cell with the change; empty if the plan has no such cell.
    pub(super) cell: String,
    /// Key of the cell without the change.
    pub(super) reference: String,
    /// Name of the unchanged (reference) cell, without the part for the changed setting; empty if all predictions have
    /// the same reference cell, or if the plan has no such cell.
    pub(super) whose: String,
    /// The measured ratio; `None` if one of the two cells was not measured.
    pub(super) measured: Option<Measured>,
    /// Verdict on the prediction.
    pub(super) verdict: Verdict,
    /// Reason of the verdict, as a phrase.
    pub(super) reason: String,
}

impl Outcome {
    /// The outcomes of the manifest's predictions, in the manifest's order.
    pub(super) fn all(view: &View<'_>) -> Vec<Self> {
        let predictions: Vec<PredictionSpec> = view.set.plan.report_setting("predictions");
        let outcomes = predictions.into_iter().map(|one| Self::of(view, one));
        let mut outcomes: Vec<Self> = outcomes.collect();
        let first = outcomes.first().map(|one| one.reference.clone());
        if outcomes
            .iter()
            .all(|one| Some(&one.reference) == first.as_ref())
        {
            for one in &mut outcomes {
                one.whose.clear();
            }
        }
        outcomes
    }

    fn of(view: &View<'_>, prediction: PredictionSpec) -> Self {
        let (cell, reference) = (view.find(&prediction.cell), view.find(&prediction.against));
        let key = |cell: Option<&Cell<'_>>| cell.map(|cell| cell.info.key.clone());
        let measured = cell
            .zip(reference)
            .and_then(|(cell, reference)| paired_ratio(cell, reference, prediction.column));
        let (verdict, reason) = match &measured {
            Some(measured) => {
                let ends = [prediction.low, prediction.high];
                let (found, why) = verdict(prediction.column, prediction.claim, ends, measured);
                (found, why.to_owned())
            }
            None => (Verdict::Unclear, why_missing(cell, reference)),
        };
        Self {
            cell: key(cell).unwrap_or_default(),
            reference: key(reference).unwrap_or_default(),
            whose: reference.map_or_else(String::new, |cell| {
                let name = view.name(cell, None);
                other_parts(&name, &prediction.setting, &prediction.from).join(", ")
            }),
            prediction,
            measured,
            verdict,
            reason,
        }
    }

    /// The change as text: `train.batch-size = 16 instead of 8`, with ` for large` where several cells are changed.
    pub(super) fn change(&self) -> String {
        let PredictionSpec {
            setting, from, to, ..
        } = &self.prediction;
        let whose = match &*self.whose {
            "" => String::new(),
            name => format!(" for {name}"),
        };
        format!("{setting} = {to} instead of {from}{whose}")
    }

    /// Whether the change should be kept: its prediction, a gain or no loss, was confirmed.
    pub(super) fn should_be_kept(&self) -> bool {
        self.verdict == Verdict::Confirmed && self.prediction.claim != Claim::Value
    }

    /// The verdict in words. A gain larger than predicted confirms only the direction of the prediction.
    pub(super) fn words(&self) -> &'static str {
        if self.reason == BETTER_THAN_PREDICTED {
            "direction right, size off"
        } else {
            self.verdict.text()
        }
    }

    /// Measured factor by which the column improved (above 1 is better); 0 if nothing was measured.
    pub(super) fn gain(&self) -> f64 {
        let gain = |measured: Measured| measured.improvement(self.prediction.column)[0];
        self.measured.map_or(0.0, gain)
    }

    /// The change and its verdict, to be listed as tested in later manifests; `None` while too few pairs of runs were
    /// measured. An unclear change counts as tested: another test would show no more.
    pub(super) fn as_tested_change(&self) -> Option<TestedSpec> {
        let prediction = &self.prediction;
        let is_tested = self.measured.is_some_and(|found| found.decides());
        is_tested.then(|| TestedSpec {
            rule: prediction.rule.clone(),
            setting: prediction.setting.clone(),
            from: prediction.from.clone(),
            to: prediction.to.clone(),
            verdict: self.verdict,
        })
    }
}

fn why_missing(cell: Option<&Cell<'_>>, reference: Option<&Cell<'_>>) -> String {
    match (cell, reference) {
        (Some(cell), _) if !cell.is_measured() => cell.why_missing(),
        (_, Some(reference)) if !reference.is_measured() => reference.why_missing(),
        (Some(_), Some(_)) => "not measured in the same block".to_owned(),
        _ => "the plan has no such cell".to_owned(),
    }
}
