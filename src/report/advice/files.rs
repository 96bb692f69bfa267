//! `recommendations.csv` and `next.toml` beside a report, and the outcome that results of `next.toml` give.

use std::fs;
use std::path::{Path, PathBuf};

use crate::report::ReportError;
use crate::report::view::View;
use crate::results::{
    self, RecommendationRow, ResultSet, ResultsError, recommendations_csv, write_if_changed,
};

use super::next::{FIRST_LINE, Next, prediction};
use super::outcome::Outcome;
use super::recommendation::{Recommendation, text};
use super::section::measured;
use super::{Advice, Counsel, surpassed};

/// The files of a report's recommendations, ready to write.
pub(crate) struct AdviceFiles {
    folder: PathBuf,
    /// Text of `next.toml`; `None` where nothing is recommended.
    manifest: Option<String>,
    rows: Vec<RecommendationRow>,
}

/// What the rules say of results in `folder`, with how to test it and what a test measured, and the files that belong to
/// it.
pub(crate) fn prepare(folder: &Path, view: &View<'_>) -> (Advice, AdviceFiles) {
    let counsel = Counsel::of(view);
    let mut advice = Advice::from(view, &counsel);
    let name = name_of(folder, view.set);
    let tested = surpassed(&counsel);
    let next = Next {
        view,
        name: &name,
        anchors: counsel.studies.iter().map(|study| study.anchor).collect(),
        recommendations: &counsel.recommendations,
        tested: &tested,
    };
    let manifest = Some(&next)
        .filter(|_| !counsel.recommendations.is_empty())
        .and_then(Next::text);
    let outcomes = outcomes(folder, &name);
    for (item, one) in advice
        .recommendations
        .iter_mut()
        .zip(&counsel.recommendations)
    {
        let of_one = outcome_of(&outcomes, one).map(measured);
        item.outcome = of_one.unwrap_or_default();
    }
    let mut items = advice.recommendations.iter();
    if manifest.is_some() && items.any(|item| item.outcome.is_empty()) {
        advice.command = format!("fieldtrial run reports/{name}/next.toml");
    }
    let files = AdviceFiles {
        folder: folder.to_owned(),
        manifest,
        rows: rows(&counsel, &outcomes),
    };
    (advice, files)
}

impl AdviceFiles {
    /// Writes them and returns their paths. A file without content goes, but for a `next.toml` of the user's own.
    ///
    /// # Errors
    /// [`ReportError::Results`] for a file that cannot be written or removed.
    pub(crate) fn write(self) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = Vec::new();
        let next = self.folder.join("next.toml");
        let is_ours = fs::read_to_string(&next).is_ok_and(|text| text.starts_with(FIRST_LINE));
        match self.manifest {
            Some(text) if is_ours || !next.exists() => {
                write_if_changed(&next, text.as_bytes())?;
                files.push(next);
            }
            None if is_ours => remove(&next)?,
            _ => {}
        }
        let csv = self.folder.join("recommendations.csv");
        if self.rows.is_empty() {
            remove(&csv)?;
        } else {
            write_if_changed(&csv, &recommendations_csv(&self.rows))?;
            files.push(csv);
        }
        Ok(files)
    }
}

/// Name of the results: that of their folder, under which they are found beside others.
pub(crate) fn name_of(folder: &Path, set: &ResultSet) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = whole
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let is_plain = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.filter(is_plain)
        .unwrap_or_else(|| set.plan.name.clone())
}

/// What results of `next.toml`, where there are some, measured of the predictions.
fn outcomes(folder: &Path, name: &str) -> Vec<Outcome> {
    let beside = folder.join("..").join(format!("{name}-next"));
    let Ok(set) = results::read(&beside) else {
        return Vec::new();
    };
    if set.plan.follows.as_deref() != Some(name) {
        return Vec::new();
    }
    Outcome::all(&View::of(&set))
}

/// The outcome of a recommendation: of the same change of the same cell, with the same prediction.
fn outcome_of<'o>(outcomes: &'o [Outcome], one: &Recommendation) -> Option<&'o Outcome> {
    let own = prediction(one);
    outcomes.iter().find(|outcome| {
        let other = &outcome.prediction;
        (
            &other.rule,
            &other.origin,
            &other.setting,
            &other.from,
            &other.to,
        ) == (&own.rule, &own.origin, &own.setting, &own.from, &own.to)
            && other.column == own.column
    })
}

fn rows(counsel: &Counsel<'_, '_>, outcomes: &[Outcome]) -> Vec<RecommendationRow> {
    let proposed = counsel.recommendations.iter().map(|one| {
        let draft = &one.draft;
        let outcome = outcome_of(outcomes, one);
        RecommendationRow {
            rule: one.rule.to_owned(),
            cell: one.cell.clone(),
            setting: draft.setting.to_owned(),
            from: text(&draft.from),
            to: text(&draft.to),
            column: draft.column.name().to_owned(),
            claim: word(&draft.claim),
            predicted: draft.predicted.estimate,
            low: draft.predicted.low,
            high: draft.predicted.high,
            reasoning: draft.reasoning.clone(),
            status: if outcome.is_some() {
                "tested"
            } else {
                "proposed"
            }
            .to_owned(),
            verdict: outcome.map_or(String::new(), |outcome| outcome.verdict.text().to_owned()),
            ..outcome.map(measured_row).unwrap_or_default()
        }
    });
    let followed = counsel.outcomes.iter().map(|outcome| {
        let other = &outcome.prediction;
        RecommendationRow {
            rule: other.rule.clone(),
            cell: outcome.against.clone(),
            setting: other.setting.clone(),
            from: other.from.clone(),
            to: other.to.clone(),
            column: other.column.name().to_owned(),
            claim: word(&other.claim),
            predicted: other.predicted,
            low: other.low,
            high: other.high,
            reasoning: other.reasoning.clone(),
            status: "followed".to_owned(),
            verdict: outcome.verdict.text().to_owned(),
            ..measured_row(outcome)
        }
    });
    proposed.chain(followed).collect()
}

/// A row with nothing but the measured ratio.
fn measured_row(outcome: &Outcome) -> RecommendationRow {
    let ratio = outcome.measured.map(|measured| measured.ratio);
    RecommendationRow {
        measured: ratio.map(|ratio| ratio.median),
        measured_low: ratio.map(|ratio| ratio.low),
        measured_high: ratio.map(|ratio| ratio.high),
        ..RecommendationRow::default()
    }
}

/// A word of a settings' enumeration, as a manifest writes it.
fn word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

pub(super) fn remove(path: &Path) -> Result<(), ResultsError> {
    if !path.exists() {
        return Ok(());
    }
    fs::remove_file(path).map_err(|error| ResultsError::Unwritable {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
