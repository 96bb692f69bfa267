//! Recommendations that test themselves: rules over the measurements, their predictions, and what came of them.
//!
//! Owns [`Advice`], the part of a report's context that says what to change; [`RULES`], and the files
//! `recommendations.csv` and `next.toml`. It measures nothing: `next.toml` is a manifest like any other, which carries
//! the predictions, and the report of its results holds them against the measurement.

mod best;
mod defaults;
mod effect;
mod files;
mod line;
mod next;
mod outcome;
mod recommendation;
mod rules;
mod section;
mod study;
#[cfg(test)]
mod tests;
mod toml_text;

pub(super) use best::{BestFile, best_file};
pub(super) use files::{AdviceFiles, name_of, prepare};
pub use rules::{RULES, Rule};
pub use section::{Advice, AdviceItem};

use serde_json::Value;

use crate::plan::{Claim, TestedSpec, Verdict};

use super::view::View;
use effect::{improvement, paired};
use outcome::Outcome;
use recommendation::{Recommendation, text};
use rules::Said;
use study::Study;

/// Recommendations of a report: one sitting tests no more.
const MOST: usize = 6;

/// What is said of a search.
const OF_SEARCH: &str = "search: the sampler chose these cells, which differ in several settings at once, so that no rule \
                         can hold two of them against each other; best.toml trains the best configuration in full";

/// What the rules say of a view.
struct Counsel<'v, 'a> {
    /// Predictions of the followed report, measured here.
    outcomes: Vec<Outcome>,
    studies: Vec<Study<'v, 'a>>,
    /// Those with an estimate first, by predicted gain, the largest first.
    recommendations: Vec<Recommendation>,
    /// What rules checked without finding anything, and what was left out, as `rule: words`.
    checked: Vec<String>,
    /// Kinds of work that were looked at.
    kinds: usize,
    /// Changes that need no test any more.
    tested: Vec<TestedSpec>,
}

impl<'v, 'a> Counsel<'v, 'a> {
    fn of(view: &'v View<'a>) -> Self {
        let outcomes = Outcome::all(view);
        let mut tested = outcome::tested(view);
        tested.extend(outcomes.iter().filter_map(Outcome::settled));
        let mut counsel = Self {
            studies: Study::all(view, &outcomes),
            kinds: 0,
            outcomes,
            recommendations: Vec::new(),
            checked: Vec::new(),
            tested,
        };
        counsel.ask();
        if view.set.plan.search.is_some() {
            counsel.checked = vec![OF_SEARCH.to_owned()];
        }
        counsel
    }

    fn ask(&mut self) {
        self.kinds = self.studies.len();
        for rule in RULES {
            let mut nothing = Vec::new();
            let before = self.recommendations.len();
            for number in 0..self.studies.len() {
                nothing.extend(self.ask_about(&rule, number));
            }
            let found = self.recommendations.len() > before;
            if let Some(first) = nothing.first().filter(|_| !found) {
                self.checked.push(format!("{}: {first}", rule.id));
            }
        }
        self.recommendations.sort_by(Recommendation::rank);
        let kept = MOST.min(self.recommendations.len());
        for one in self.recommendations.drain(kept..) {
            let words = format!("{}: {}: left for later", one.rule, one.change());
            self.checked.push(words);
        }
        self.renumber();
    }

    /// Adds what a rule recommends of a study, and returns what it says otherwise.
    fn ask_about(&mut self, rule: &Rule, number: usize) -> Vec<String> {
        let study = &self.studies[number];
        let drafts = match rule.look(study) {
            Said::Nothing(words) => return vec![words],
            Said::Recommended(drafts) => drafts,
        };
        let mut refused = Vec::new();
        for draft in drafts {
            let one = Recommendation {
                rule: rule.id,
                study: number,
                cell: study.anchor.info.key.clone(),
                name: study.view.name(study.anchor, None),
                draft,
            };
            match refusal(&one, study, &self.tested, &self.recommendations) {
                Some(why) => refused.push(format!("{}: {why}", one.change())),
                None => self.recommendations.push(one),
            }
        }
        refused
    }

    /// Leaves out studies without a recommendation.
    fn renumber(&mut self) {
        let used = |number: usize| self.recommendations.iter().any(|one| one.study == number);
        let kept: Vec<usize> = (0..self.studies.len()).filter(|n| used(*n)).collect();
        for one in &mut self.recommendations {
            let place = kept.iter().position(|number| *number == one.study);
            one.study = place.unwrap_or(one.study);
        }
        let studies = std::mem::take(&mut self.studies);
        let numbered = studies.into_iter().enumerate();
        self.studies = numbered
            .filter(|(number, _)| kept.contains(number))
            .map(|(_, study)| study)
            .collect();
    }
}

/// Why a change is not recommended after all: it is tested already, measured to be no better, or said before.
fn refusal(
    one: &Recommendation,
    study: &Study<'_, '_>,
    tested: &[TestedSpec],
    known: &[Recommendation],
) -> Option<String> {
    if let Some(tested) = tested.iter().find(|tested| one.is_settled(tested)) {
        let verdict = tested.verdict.text();
        return Some(format!(
            "{verdict} by an earlier test ({} instead of {})",
            tested.to, tested.from
        ));
    }
    if let Some(measured) = study
        .at(one.draft.setting, &one.draft.to)
        .filter(|_| one.draft.claim == Claim::Gain)
        .and_then(|cell| paired(cell, study.anchor, one.draft.column))
        .filter(|measured| {
            let ratio = measured.ratio;
            improvement(one.draft.column, [ratio.median, ratio.low, ratio.high])[0] < 1.0
        })
    {
        let ratio = recommendation::ratio(measured.ratio.median);
        return Some(format!(
            "measured here already, {ratio} {}",
            one.draft.column.words()
        ));
    }
    let same = |other: &&Recommendation| {
        other.study == one.study
            && other.draft.column == one.draft.column
            && other.is_change(
                one.draft.setting,
                &text(&one.draft.from),
                &text(&one.draft.to),
            )
    };
    known
        .iter()
        .find(same)
        .map(|other| format!("the same as that of {}", other.rule))
}

/// What later reports need not try: values that these results show to be no better than what is recommended.
fn surpassed(counsel: &Counsel<'_, '_>) -> Vec<TestedSpec> {
    let mut tested = counsel.tested.clone();
    for one in &counsel.recommendations {
        let Some(study) = counsel.studies.get(one.study) else {
            continue;
        };
        let Some(best) = study.at(one.draft.setting, &one.draft.to) else {
            continue;
        };
        for other in study.others(one.draft.setting) {
            let value: &Value = study.setting(other, one.draft.setting);
            let ratio = paired(other, best, one.draft.column).map(|measured| {
                let ratio = measured.ratio;
                improvement(one.draft.column, [ratio.median, ratio.low, ratio.high])[0]
            });
            let known = TestedSpec {
                rule: one.rule.to_owned(),
                setting: one.draft.setting.to_owned(),
                from: text(&one.draft.to),
                to: text(value),
                verdict: Verdict::Refuted,
            };
            let is_other = other.info.key != best.info.key && !tested.contains(&known);
            if is_other && ratio.is_some_and(|ratio| ratio < rules::WORTH) {
                tested.push(known);
            }
        }
    }
    tested
}
