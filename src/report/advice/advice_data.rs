//! [`AdviceData`]: the recommendations that the rules derive from results.

use crate::plan::{Claim, TestedSpec, Verdict};
use crate::report::view::View;

use super::effect::paired_ratio;
use super::outcome::Outcome;
use super::recommendation::{Recommendation, text};
use super::rules::{self, RULES};
use super::study::WorkGroup;

/// Largest number of recommendations in a report, so that one `next.toml` can test them all.
const MOST: usize = 6;

/// Recommendations for results, their studies, and the changes that these or earlier results tested.
pub(super) struct AdviceData<'v, 'a> {
    /// Measured outcomes of the predictions that these results test; empty if their manifest has no predictions.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) studies: Vec<WorkGroup<'v, 'a>>,
    /// Recommendations: those with an estimate first, then by predicted gain, the largest first.
    pub(super) recommendations: Vec<Recommendation>,
    /// Changes that have been tested.
    tested: Vec<TestedSpec>,
}

impl<'v, 'a> AdviceData<'v, 'a> {
    pub(super) fn of(view: &'v View<'a>) -> Self {
        let outcomes = Outcome::all(view);
        // Changes that the manifest lists as tested by earlier results.
        let mut tested: Vec<TestedSpec> = view.set.plan.report_setting("tested");
        tested.extend(outcomes.iter().filter_map(Outcome::as_tested_change));
        let mut advice_data = Self {
            studies: WorkGroup::all(view, &outcomes),
            outcomes,
            recommendations: Vec::new(),
            tested,
        };
        advice_data.ask();
        advice_data
    }

    fn ask(&mut self) {
        for rule in RULES {
            for (number, study) in self.studies.iter().enumerate() {
                for mut one in (rule.find)(study).into_iter().flatten() {
                    (one.rule, one.study) = (rule.id, number);
                    if !is_refused(&one, study, &self.tested, &self.recommendations) {
                        self.recommendations.push(one);
                    }
                }
            }
        }
        self.recommendations.sort_by(Recommendation::rank);
        self.recommendations.truncate(MOST);
        self.renumber();
    }

    /// Removes studies without a recommendation and numbers the others anew.
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

/// Whether a change is not recommended, because it was tested, measured to be no better, is already recommended, or is
/// predicted without an upper end.
fn is_refused(
    one: &Recommendation,
    study: &WorkGroup<'_, '_>,
    tested: &[TestedSpec],
    known: &[Recommendation],
) -> bool {
    let column = one.column;
    let is_no_gain = || {
        let measured = study.at(&one.setting, &one.to);
        let measured = measured.and_then(|cell| paired_ratio(cell, study.anchor, column));
        measured.is_some_and(|measured| measured.improvement(column)[0] < 1.0)
    };
    let is_same = |other: &Recommendation| {
        other.study == one.study
            && other.column == column
            && other.is_change(&one.setting, &text(&one.from), &text(&one.to))
    };
    // Where a phase takes the whole step, the bound 1 ÷ (1 − share) is infinite.
    !one.predicted.high.is_finite()
        || tested.iter().any(|tested| one.is_settled(tested))
        || one.claim == Claim::Gain && is_no_gain()
        || known.iter().any(is_same)
}

/// Changes that later reports need not recommend: values that these results show to be no better than the recommended
/// ones.
pub(super) fn outperformed_values(advice_data: &AdviceData<'_, '_>) -> Vec<TestedSpec> {
    let mut tested = advice_data.tested.clone();
    for one in &advice_data.recommendations {
        let (setting, column) = (&*one.setting, one.column);
        let study = &advice_data.studies[one.study];
        let Some(best) = study.at(setting, &one.to) else {
            continue;
        };
        for other in study.others(setting) {
            let known = TestedSpec {
                rule: one.rule.to_owned(),
                setting: setting.to_owned(),
                from: text(&one.to),
                to: text(study.setting(other, setting)),
                verdict: Verdict::Refuted,
            };
            let is_other = other.info.key != best.info.key && !tested.contains(&known);
            let gain = paired_ratio(other, best, column).map(|found| found.improvement(column)[0]);
            if is_other && gain.is_some_and(|gain| gain < rules::MIN_GAIN) {
                tested.push(known);
            }
        }
    }
    tested
}
