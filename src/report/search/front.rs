//! Several objectives: the Pareto front of each study, which of its points another study's front does not dominate, and
//! the rule for the winner.

use crate::base::pareto::dominates;
use crate::base::text::count;
use crate::report::judged::Judged;
use crate::report::table::{Column, Entry, Row, Table};

use super::objective::Objective;
use super::trials::{Ending, Search, Study, Trial};

/// Lead in a share of right classes that breaks a tie (founding report 002); of other objectives, the relative lead.
const LEAD: f64 = 0.05;

/// Trials that no other trial of their study dominates, by their first objective.
pub(crate) type Front<'v, 'a> = Vec<Trial<'v, 'a>>;

/// The front of a study.
pub(crate) fn front_of<'v, 'a>(search: &Search<'v, 'a>, study: &Study<'v, 'a>) -> Front<'v, 'a> {
    let trials = study.best_first(search.first());
    let losses: Vec<Vec<f64>> = trials.iter().map(|trial| losses(search, trial)).collect();
    let mut front: Vec<usize> = Vec::new();
    // Ordered by the first objective, a trial can only be dominated by one before it, or by one that equals it there.
    for place in 0..trials.len() {
        // Of trials that are equal everywhere the earliest is the point.
        if front.iter().any(|&other| {
            dominates(&losses[other], &losses[place]) || losses[other] == losses[place]
        }) {
            continue;
        }
        front.retain(|&other| !dominates(&losses[place], &losses[other]));
        front.push(place);
    }
    front.into_iter().map(|place| trials[place]).collect()
}

fn losses(search: &Search<'_, '_>, trial: &Trial<'_, '_>) -> Vec<f64> {
    let objectives = search.objectives.iter();
    objectives
        .map(|objective| objective.loss(trial).unwrap_or(f64::INFINITY))
        .collect()
}

/// A study with its front.
pub(super) struct Side<'s, 'v, 'a> {
    pub(super) study: &'s Study<'v, 'a>,
    pub(super) front: Front<'v, 'a>,
    /// Of its front, the points that no other study's front dominates.
    pub(super) free: Vec<bool>,
}

pub(super) fn sides<'s, 'v, 'a>(search: &'s Search<'v, 'a>) -> Vec<Side<'s, 'v, 'a>> {
    let fronts: Vec<Front<'v, 'a>> = search
        .studies
        .iter()
        .map(|study| front_of(search, study))
        .collect();
    let of = |(place, study): (usize, &'s Study<'v, 'a>)| {
        let others: Vec<Vec<f64>> = fronts
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != place)
            .flat_map(|(_, front)| front.iter().map(|trial| losses(search, trial)))
            .collect();
        let is_free = |trial: &Trial<'_, '_>| {
            let own = losses(search, trial);
            !others.iter().any(|other| dominates(other, &own))
        };
        Side {
            study,
            free: fronts[place].iter().map(is_free).collect(),
            front: fronts[place].clone(),
        }
    };
    search.studies.iter().enumerate().map(of).collect()
}

impl Side<'_, '_, '_> {
    fn points(&self) -> usize {
        self.free.iter().filter(|free| **free).count()
    }
}

/// The trial whose configuration is trained in full: the best of the first objective, which is on the front.
pub(crate) fn chosen<'v, 'a>(
    search: &Search<'v, 'a>,
    study: &Study<'v, 'a>,
) -> Option<Trial<'v, 'a>> {
    let best = study.best_first(search.first());
    if search.objectives.len() == 1 {
        return best.first().copied();
    }
    front_of(search, study).first().copied()
}

/// The fronts with the rule's verdict; `None` for one objective.
pub(crate) fn judged(search: &Search<'_, '_>) -> Option<Judged> {
    let sides = sides(search);
    if search.objectives.len() < 2 || sides.iter().all(|side| side.front.is_empty()) {
        return None;
    }
    let is_several = search.studies.len() > 1;
    let mut columns = Vec::new();
    if is_several {
        columns.push(Column::text("study"));
    }
    columns.push(Column::setting("trial"));
    columns.extend(search.objectives.iter().map(Objective::heading));
    if is_several {
        columns.push(Column::text("other studies’ fronts"));
    }
    columns.push(Column::text("proposed"));
    let rows = sides.iter().flat_map(|side| {
        let points = side.front.iter().zip(&side.free);
        points.map(|(trial, free)| row(search, side.study, trial, is_several.then_some(*free)))
    });
    let goals: Vec<String> = search.objectives.iter().map(Objective::goal).collect();
    let about = format!(
        "Done trials to which no other trial of their study is equal or better in every objective and better in one: {}.",
        goals.join(", ")
    );
    let naming = ("search-front", "Pareto fronts", about);
    let table = Table::of_rows(naming, columns, rows.collect());
    Some(Judged::new(table, rule(search), verdicts(search, &sides)))
}

fn row(
    search: &Search<'_, '_>,
    study: &Study<'_, '_>,
    trial: &Trial<'_, '_>,
    is_free: Option<bool>,
) -> Row {
    let mut fields = Vec::new();
    if is_free.is_some() {
        fields.push(Entry::text(study.name.clone()));
    }
    fields.push(Entry::text(trial.info.number.to_string()));
    fields.extend(
        search
            .objectives
            .iter()
            .map(|objective| objective.entry(trial)),
    );
    fields.extend(is_free.map(|is_free| {
        Entry::text(if is_free {
            "do not dominate it"
        } else {
            "dominate it"
        })
    }));
    fields.push(Entry::text(search.point_in_words(&trial.info.point)));
    Row {
        key: trial.cell.info.key.clone(),
        fields,
        missing: None,
    }
}

fn rule(search: &Search<'_, '_>) -> String {
    if search.studies.len() < 2 {
        return "a trial is on the front when no done trial dominates it; best.toml has the one with the best first \
                objective."
            .to_owned();
    }
    let first = search.first();
    let lead = if is_share(first) {
        format!("by more than {LEAD}")
    } else {
        format!("by more than {} % of the lesser", LEAD * 100.0)
    };
    format!(
        "the study with more points that no other study’s front dominates; of equal numbers the one that \
         leads in the best {} {lead}, else the one whose best trial of that objective took less wall time. One seed, no \
         test: it says which side the rule names, and nothing of how another seed would decide.",
        first.column
    )
}

fn is_share(objective: &Objective) -> bool {
    objective.column.ends_with("accuracy")
}

fn verdicts(search: &Search<'_, '_>, sides: &[Side<'_, '_, '_>]) -> Vec<String> {
    let mut verdicts: Vec<String> = Vec::new();
    if sides.len() < 2 {
        let front = sides.first().map_or(0, |side| side.front.len());
        let done = sides
            .first()
            .map_or(0, |side| side.study.ended(Ending::Done).count());
        verdicts.push(format!(
            "{} of {} on the front.",
            front,
            count(done, "done trial")
        ));
        return verdicts;
    }
    let counted = sides.iter().map(|side| {
        format!(
            "{}: {} of {}",
            side.study.name,
            side.points(),
            count(side.front.len(), "point")
        )
    });
    verdicts.push(format!(
        "Points of its front that no other study’s front dominates: {}.",
        counted.collect::<Vec<String>>().join("; ")
    ));
    verdicts.push(winner(search, sides));
    verdicts
}

/// The winner by the rule, with the values that decided.
fn winner(search: &Search<'_, '_>, sides: &[Side<'_, '_, '_>]) -> String {
    let most = sides.iter().map(Side::points).max().unwrap_or(0);
    let leading: Vec<&Side<'_, '_, '_>> =
        sides.iter().filter(|side| side.points() == most).collect();
    if let [one] = leading[..] {
        let others = sides.iter().filter(|side| side.points() < most);
        let next = others.map(Side::points).max().unwrap_or(0);
        return format!(
            "Winner by rule: {}, with {} that no other front dominates to {next}.",
            one.study.name,
            count(most, "point")
        );
    }
    let first = search.first();
    let best = |side: &&Side<'_, '_, '_>| -> Option<f64> { first.value(side.front.first()?) };
    let mut ordered: Vec<(&Side<'_, '_, '_>, f64)> = leading
        .iter()
        .filter_map(|side| Some((*side, best(side)?)))
        .collect();
    ordered.sort_by(|a, b| {
        let loss = |value: f64| first.direction.as_loss(value);
        loss(a.1).total_cmp(&loss(b.1))
    });
    let (Some(one), Some(other)) = (ordered.first(), ordered.get(1)) else {
        return "Winner by rule: none, no study has a front.".to_owned();
    };
    let lead = (one.1 - other.1).abs();
    let needed = if is_share(first) {
        LEAD
    } else {
        LEAD * one.1.abs().min(other.1.abs())
    };
    let values = format!(
        "{} {} ({}) and {} ({})",
        first.column,
        first.show(one.1),
        one.0.study.name,
        first.show(other.1),
        other.0.study.name
    );
    if lead > needed {
        return format!(
            "Winner by rule: {}, equal in points ({most} each) and ahead in {values}.",
            one.0.study.name
        );
    }
    by_time(&ordered, most, &values)
}

/// The last resort of the rule: the wall time of the best trials.
fn by_time(ordered: &[(&Side<'_, '_, '_>, f64)], most: usize, values: &str) -> String {
    let time = |side: &Side<'_, '_, '_>| side.front.first().and_then(Trial::wall_s);
    let mut times: Vec<(&str, f64)> = ordered
        .iter()
        .filter_map(|(side, _)| Some((&*side.study.name, time(side)?)))
        .collect();
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let even = format!("equal in points ({most} each), {values} too near each other");
    match times[..] {
        [(name, one), (_, other), ..] if one < other => format!(
            "Winner by rule: {name}, {even}, by the wall time of the best trial: {} to {} s (one run each).",
            crate::base::units::human(one, 3),
            crate::base::units::human(other, 3)
        ),
        _ => format!("Winner by rule: none, {even}, and no wall time that tells them apart."),
    }
}
