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
mod manifests;
mod next;
mod outcome;
mod recommendation;
mod rules;
mod section;
mod study;
#[cfg(test)]
mod tests;

pub(super) use files::{AdviceFiles, name_of, prepare};
pub use rules::{RULES, Rule};
pub use section::{Advice, AdviceItem};

use crate::plan::{Claim, TestedSpec, Verdict};

use super::number::times;
use super::view::View;
use effect::paired;
use outcome::Outcome;
use recommendation::{Recommendation, text};
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
        // Changes that the manifest knows to be tested already.
        let mut tested: Vec<TestedSpec> = view.set.plan.reported("tested");
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
            let first = nothing.first().filter(|_| !found);
            self.checked
                .extend(first.map(|first| format!("{}: {first}", rule.id)));
        }
        self.recommendations.sort_by(Recommendation::rank);
        let kept = MOST.min(self.recommendations.len());
        let left = self.recommendations.drain(kept..);
        let words = left.map(|one| format!("{}: {}: left for later", one.rule, one.change()));
        self.checked.extend(words);
        self.renumber();
    }

    /// Adds what a rule recommends of a study, and returns what it says otherwise.
    fn ask_about(&mut self, rule: &Rule, number: usize) -> Vec<String> {
        let study = &self.studies[number];
        let drafts = match (rule.find)(study) {
            Err(words) => return vec![words],
            Ok(drafts) => drafts,
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
        let mut kept: Vec<usize> = self.recommendations.iter().map(|one| one.study).collect();
        kept.sort_unstable();
        kept.dedup();
        for one in &mut self.recommendations {
            one.study = kept.binary_search(&one.study).unwrap_or(one.study);
        }
        let mut number = 0..;
        self.studies
            .retain(|_| number.next().is_some_and(|number| kept.contains(&number)));
    }
}

/// Why a change is not recommended after all: it is tested already, measured to be no better, or said before.
fn refusal(
    one: &Recommendation,
    study: &Study<'_, '_>,
    tested: &[TestedSpec],
    known: &[Recommendation],
) -> Option<String> {
    let draft = &one.draft;
    let (column, words) = (draft.column, draft.column.words());
    if let Some(tested) = tested.iter().find(|tested| one.is_settled(tested)) {
        let verdict = tested.verdict.text();
        let (to, from) = (&tested.to, &tested.from);
        return Some(format!(
            "{verdict} by an earlier test ({to} instead of {from})"
        ));
    }
    if draft.claim == Claim::Gain {
        let measured = study.at(&draft.setting, &draft.to);
        let measured = measured.and_then(|cell| paired(cell, study.anchor, column));
        if let Some(measured) = measured.filter(|measured| measured.improvement(column)[0] < 1.0) {
            let ratio = times(measured.ratio.value);
            return Some(format!("measured here already, {ratio} {words}"));
        }
    }
    let is_same = |other: &&Recommendation| {
        other.study == one.study
            && other.draft.column == column
            && other.is_change(&draft.setting, &text(&draft.from), &text(&draft.to))
    };
    let same = known.iter().find(is_same);
    same.map(|other| format!("the same as that of {}", other.rule))
}

/// What later reports need not try: values that these results show to be no better than what is recommended.
fn surpassed(counsel: &Counsel<'_, '_>) -> Vec<TestedSpec> {
    let mut tested = counsel.tested.clone();
    for one in &counsel.recommendations {
        let (setting, column) = (&*one.draft.setting, one.draft.column);
        let study = &counsel.studies[one.study];
        let Some(best) = study.at(setting, &one.draft.to) else {
            continue;
        };
        for other in study.others(setting) {
            let known = TestedSpec {
                rule: one.rule.to_owned(),
                setting: setting.to_owned(),
                from: text(&one.draft.to),
                to: text(study.setting(other, setting)),
                verdict: Verdict::Refuted,
            };
            let is_other = other.info.key != best.info.key && !tested.contains(&known);
            let gain = paired(other, best, column).map(|found| found.improvement(column)[0]);
            if is_other && gain.is_some_and(|gain| gain < rules::WORTH) {
                tested.push(known);
            }
        }
    }
    tested
}
