//! `recommendations.csv`, `next.toml` and `best.toml` beside a report, and the outcomes of predictions that results of
//! `next.toml` show.

use std::path::{Path, PathBuf};

use crate::plan::PredictionSpec;
use crate::report::ReportError;
use crate::report::names;
use crate::report::view::View;
use crate::results::{self, RecommendationRow, ResultSet, csv_of};

use super::advice_data::{AdviceData, outperformed_values};
use super::best::best_file;
use super::manifests::GeneratedFile;
use super::next::{FIRST_LINE, next_manifest_text, prediction};
use super::outcome::Outcome;
use super::section::{Advice, measured};

/// The files of a report's recommendations, ready to write.
pub(crate) struct AdviceFiles([GeneratedFile; 3]);

/// Recommendations for results in `folder`, with the command that tests them and the measured outcomes, and the files
/// to write.
pub(crate) fn prepare(folder: &Path, view: &View<'_>) -> (Advice, AdviceFiles) {
    let advice_data = AdviceData::of(view);
    let mut advice = Advice::from(view, &advice_data);
    let name = names::name_of_results(folder, view.set);
    let tested = outperformed_values(&advice_data);
    let manifest = next_manifest_text(view, &name, &advice_data, &tested);
    let outcomes = outcomes(folder, &name);
    let mut rows = Vec::new();
    let recommended = advice_data.recommendations.iter();
    for (item, one) in advice.recommendations.iter_mut().zip(recommended) {
        let prediction = prediction(one);
        let outcome = outcomes.iter().find(|outcome| is_of(outcome, &prediction));
        item.outcome = outcome.map(measured).unwrap_or_default();
        let status = if outcome.is_some() {
            "tested"
        } else {
            "proposed"
        };
        rows.push(row(&prediction, &one.cell, status, outcome));
    }
    let followed = advice_data.outcomes.iter();
    rows.extend(followed.map(|one| row(&one.prediction, &one.reference, "followed", Some(one))));
    let mut items = advice.recommendations.iter();
    if manifest.is_some() && items.any(|item| item.outcome.is_empty()) {
        advice.command = format!("fieldtrial run reports/{name}/next.toml");
    }
    advice.merge();
    let next = GeneratedFile {
        path: folder.join("next.toml"),
        mark: FIRST_LINE,
        text: manifest.map(String::into_bytes),
    };
    let csv = GeneratedFile {
        path: folder.join("recommendations.csv"),
        mark: "",
        text: (!rows.is_empty()).then(|| csv_of(&rows)),
    };
    let best = best_file(folder, &name, view);
    (advice, AdviceFiles([next, csv, best]))
}

impl AdviceFiles {
    /// Writes the files and returns their paths. A file without content is removed, except a manifest that the user
    /// wrote.
    ///
    /// # Errors
    /// [`ReportError::Results`] for a file that cannot be written or removed.
    pub(crate) fn write(self) -> Result<Vec<PathBuf>, ReportError> {
        let written = self.0.into_iter().map(GeneratedFile::write);
        written.filter_map(Result::transpose).collect()
    }
}

/// Measured outcomes of the predictions in `next.toml`; empty if it was not run. Predictions for cells that are not
/// measured yet are left out.
fn outcomes(folder: &Path, name: &str) -> Vec<Outcome> {
    let beside = results::read(&folder.join("..").join(format!("{name}-next"))).ok();
    let follows = |set: &ResultSet| set.plan.follows.as_deref() == Some(name);
    let outcomes = beside
        .filter(follows)
        .map(|set| Outcome::all(&View::of(&set)));
    let mut outcomes = outcomes.unwrap_or_default();
    outcomes.retain(|outcome| outcome.measured.is_some());
    outcomes
}

/// Whether an outcome belongs to a prediction: the same change of the same cell.
fn is_of(outcome: &Outcome, own: &PredictionSpec) -> bool {
    let what = |one: &PredictionSpec| {
        let texts = [&one.rule, &one.origin, &one.setting, &one.from, &one.to];
        (texts.map(String::clone), one.column)
    };
    what(&outcome.prediction) == what(own)
}

fn row(
    prediction: &PredictionSpec,
    cell: &str,
    status: &str,
    outcome: Option<&Outcome>,
) -> RecommendationRow {
    let claim = serde_json::to_value(prediction.claim).unwrap_or_default();
    let ratio = outcome.and_then(|outcome| Some(outcome.measured?.ratio));
    RecommendationRow {
        rule: prediction.rule.clone(),
        cell: cell.to_owned(),
        setting: prediction.setting.clone(),
        from: prediction.from.clone(),
        to: prediction.to.clone(),
        column: prediction.column.name().to_owned(),
        claim: claim.as_str().unwrap_or_default().to_owned(),
        predicted: prediction.predicted,
        low: prediction.low,
        high: prediction.high,
        reasoning: prediction.reasoning.clone(),
        status: status.to_owned(),
        measured: ratio.map(|ratio| ratio.value),
        measured_low: ratio.map(|ratio| ratio.low),
        measured_high: ratio.map(|ratio| ratio.high),
        verdict: outcome
            .map_or("", |outcome| outcome.verdict.text())
            .to_owned(),
    }
}
