//! Several objectives: the Pareto front of each study, its trials that no trial of another front dominates, and the
//! rule that decides between studies.

use std::collections::HashSet;

use crate::base::pareto::{self, dominates};
use crate::base::text::count;
use crate::base::units::human;
use crate::report::section::Section;
use crate::report::sections::field::{self, Field};
use crate::report::table::{Column, Entry};

use super::objective::Objective;
use super::trial::{Ending, Trial};
use super::trials::{Search, Study};

/// Largest difference of the best values of two studies that still counts as a tie: absolute for accuracies, for other
/// objectives relative to the smaller value.
const LEAD: f64 = 0.05;

/// Trials that no other trial of their study dominates, sorted by their first objective.
pub(crate) type Front<'v, 'a> = Vec<Trial<'v, 'a>>;

/// The Pareto front of a study.
pub(crate) fn front_of<'v, 'a>(search: &Search<'v, 'a>, study: &Study<'v, 'a>) -> Front<'v, 'a> {
    let mut trials = study.best_first(search.first_objective());
    // The earliest of equal trials represents them on the front.
    let mut seen = HashSet::new();
    let bits = |trial: &Trial<'_, '_>| losses(search, trial).into_iter().map(f64::to_bits);
    trials.retain(|trial| seen.insert(bits(trial).collect::<Vec<u64>>()));
    let points: Vec<Vec<f64>> = trials.iter().map(|trial| losses(search, trial)).collect();
    let front = pareto::front(&points).into_iter();
    front.map(|place| trials[place]).collect()
}

fn losses(search: &Search<'_, '_>, trial: &Trial<'_, '_>) -> Vec<f64> {
    let objectives = search.objectives.iter();
    objectives
        .map(|objective| objective.loss(trial).unwrap_or(f64::INFINITY))
        .collect()
}

/// A study with its Pareto front.
pub(super) struct Side<'s, 'v, 'a> {
    pub(super) study: &'s Study<'v, 'a>,
    pub(super) front: Front<'v, 'a>,
    /// For each trial on the study's front, whether no trial on another study's front dominates it.
    pub(super) free: Vec<bool>,
}

pub(super) fn sides<'s, 'v, 'a>(search: &'s Search<'v, 'a>) -> Vec<Side<'s, 'v, 'a>> {
    let studies = search.studies.iter();
    let fronts: Vec<_> = studies
        .map(|study| (study, front_of(search, study)))
        .collect();
    let all = fronts.iter().flat_map(|(_, front)| front);
    let all: Vec<Vec<f64>> = all.map(|trial| losses(search, trial)).collect();
    let side = |(study, front): &(&'s Study<'v, 'a>, Front<'v, 'a>)| {
        // Trials on the same front do not dominate each other, so their own front may be included.
        let is_free = |own: &Trial<'_, '_>| {
            let own = losses(search, own);
            !all.iter().any(|other| dominates(other, &own))
        };
        Side {
            study,
            free: front.iter().map(is_free).collect(),
            front: front.clone(),
        }
    };
    fronts.iter().map(side).collect()
}

impl Side<'_, '_, '_> {
    fn points(&self) -> usize {
        self.free.iter().filter(|free| **free).count()
    }
}

/// A trial with its study, and whether a table marks the trial (for example because it is on the front).
pub(crate) type FlaggedTrial<'s, 'v, 'a> = (&'s Study<'v, 'a>, Trial<'v, 'a>, bool);

/// A column of a table of trials.
pub(crate) type TrialColumn<'s, 'v, 'a> = Field<'s, FlaggedTrial<'s, 'v, 'a>>;

/// The columns with the trial's number and objectives.
pub(crate) fn fields<'s, 'v, 'a>(search: &'s Search<'v, 'a>) -> Vec<TrialColumn<'s, 'v, 'a>> {
    let study = TrialColumn::text("study", |(study, ..)| study.name.clone());
    let trial = TrialColumn::new(Column::setting("trial"), |(_, trial, _)| {
        Entry::text(trial.info.number.to_string())
    });
    let study = (search.studies.len() > 1).then_some(study);
    let objectives = search.objectives.iter().map(|objective| {
        TrialColumn::new(objective.heading(), |(_, trial, _)| objective.entry(trial))
    });
    study.into_iter().chain([trial]).chain(objectives).collect()
}

/// The section with the Pareto fronts and the sentence on which study is better; `None` for one objective.
pub(crate) fn front_section(search: &Search<'_, '_>) -> Option<Section> {
    let sides = sides(search);
    if search.objectives.len() < 2 || sides.iter().all(|side| side.front.is_empty()) {
        return None;
    }
    let points = sides.iter().flat_map(|side| {
        let points = side.front.iter().zip(&side.free);
        points.map(|(trial, is_free)| {
            let key = trial.cell.info.key.clone();
            (key, (side.study, *trial, *is_free))
        })
    });
    let goals: Vec<String> = search.objectives.iter().map(Objective::goal).collect();
    let about = format!(
        "Done trials to which no other trial of their study is equal or better in every objective and better in one: {}.",
        goals.join(", ")
    );
    let mut fields = fields(search);
    let others = TrialColumn::text("other studies’ fronts", |(.., is_free)| {
        if *is_free {
            "do not dominate it"
        } else {
            "dominate it"
        }
    });
    fields.extend((search.studies.len() > 1).then_some(others));
    fields.push(TrialColumn::text("proposed", |(_, trial, _)| {
        search.point_in_words(&trial.info.point)
    }));
    let head = ("search-front", "Pareto fronts", about);
    let table = field::of_rows(head, &fields, points);
    Some(Section::of_table_and_rule(
        table,
        rule(search),
        verdicts(search, &sides),
    ))
}

fn rule(search: &Search<'_, '_>) -> String {
    if search.studies.len() < 2 {
        return "a trial is on the front when no done trial dominates it; best.toml has the one with the best first \
                objective."
            .to_owned();
    }
    let first = search.first_objective();
    let lead = if is_share(first) {
        format!("by more than {LEAD}")
    } else {
        format!("by more than {} % of the lesser", LEAD * 100.0)
    };
    format!(
        "the study with more points that no other study’s front dominates; of equal numbers the one that \
         leads in {} {lead}, else the one whose best trial of that objective took less wall time. One seed, no \
         test: it says which side the rule names, and nothing of how another seed would decide.",
        first.name
    )
}

fn is_share(objective: &Objective) -> bool {
    objective.column.ends_with("accuracy")
}

fn verdicts(search: &Search<'_, '_>, sides: &[Side<'_, '_, '_>]) -> Vec<String> {
    if let [side] = sides {
        let done = count(
            side.study.trials_that_ended(Ending::Done).count(),
            "done trial",
        );
        return vec![format!("{} of {done} on the front.", side.front.len())];
    }
    let counted = sides.iter().map(|side| {
        let all = count(side.front.len(), "point");
        format!("{}: {} of {all}", side.study.name, side.points())
    });
    let counted = counted.collect::<Vec<String>>().join("; ");
    vec![
        format!("Points of its front that no other study’s front dominates: {counted}."),
        format!("Winner by rule: {}.", winner(search, sides)),
    ]
}

/// Which study is better and by which values: more points that no other front dominates, else a better first objective,
/// else less wall time.
fn winner(search: &Search<'_, '_>, sides: &[Side<'_, '_, '_>]) -> String {
    let most = sides.iter().map(Side::points).max().unwrap_or(0);
    let (leading, others): (Vec<_>, Vec<_>) = sides.iter().partition(|side| side.points() == most);
    if let [one] = leading[..] {
        let next = others.into_iter().map(Side::points).max().unwrap_or(0);
        let (name, points) = (&one.study.name, count(most, "point"));
        return format!(
            "{name}, with {points} of its Pareto front that no trial of another study dominates, against {next} of the next study"
        );
    }
    let first = search.first_objective();
    // The first trial of a front is the best by the first objective.
    let best = leading.iter().filter_map(|side| {
        let trial = side.front.first()?;
        Some((&*side.study.name, first.value(trial)?, trial.wall_s()))
    });
    let mut best: Vec<(&str, f64, Option<f64>)> = best.collect();
    best.sort_by(|a, b| {
        let loss = |value: f64| first.direction.as_loss(value);
        loss(a.1).total_cmp(&loss(b.1))
    });
    let [(one, value, _), (other, next, _), ..] = best[..] else {
        return "none, no study has a front".to_owned();
    };
    let needed = if is_share(first) {
        LEAD
    } else {
        LEAD * value.abs().min(next.abs())
    };
    let values = format!(
        "{} {} ({one}) and {} ({other})",
        first.column,
        first.show(value),
        first.show(next)
    );
    if (value - next).abs() > needed {
        return format!("{one}, equal in points ({most} each) and ahead in {values}");
    }
    // The last criterion: wall time of the best trials.
    let times = best
        .iter()
        .filter_map(|(name, _, time)| Some((*name, (*time)?)));
    let mut times: Vec<(&str, f64)> = times.collect();
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let even = format!("equal in points ({most} each), {values} too near each other");
    match times[..] {
        [(name, one), (_, other), ..] if one < other => format!(
            "{name}, {even}, by the wall time of the best trial: {} to {} s (one run each)",
            human(one, 3),
            human(other, 3)
        ),
        _ => format!("none, {even}, and no wall time that tells them apart"),
    }
}
