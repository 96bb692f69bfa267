//! How long the search took, and how much of the machine's cores it had meanwhile.

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::report::section::Section;
use crate::report::sections::field::{self, Field};
use crate::report::sections::parallel::{self, Together};
use crate::report::sections::ranking::measured_apart;
use crate::report::table::Entry;

use super::ledger::Sum;
use super::shown::plain;
use super::trials::{Search, Trial};

/// The trials' runs by session, sessions in the order in which they began.
fn sessions(search: &Search<'_, '_>) -> Vec<Together> {
    let runs = search.trials().flat_map(|trial| &trial.cell.blocks);
    parallel::sessions(search.view, runs.copied())
}

/// All sessions of the search together; `None` where no start was recorded.
pub(crate) fn whole(search: &Search<'_, '_>) -> Option<Together> {
    let sessions = sessions(search).into_iter();
    sessions.reduce(|one, next| one.and(&next))
}

/// The table of times (R15), with the speed-up against `sequential`, the same search of one trial after the other.
pub(super) fn judged(search: &Search<'_, '_>, sequential: Option<&Search<'_, '_>>) -> Section {
    type OfSession = Field<'static, (String, Together)>;
    let sessions = sessions(search);
    let numbered = sessions.iter().zip(1..);
    let mut rows: Vec<(String, Together)> = numbered
        .filter(|_| sessions.len() > 1)
        .map(|(found, place)| (place.to_string(), *found))
        .collect();
    rows.extend(whole(search).map(|all| ("all".to_owned(), all)));
    let about = format!(
        "The trials that the sampler proposed (those at one point share a run, which counts once), with jobs = {} by the \
         manifest (assumed); regret runs, the ensemble and the final training are not among them.",
        search.spec.jobs
    );
    let (clock, derived) = ("start and wall time of each run", "by the rule below");
    let seconds = |value: f64| Entry::value(value, human_seconds(value));
    let digits = |value: f64| human(value, 3);
    let fields = [
        OfSession::text("session", |(name, _)| name.clone()),
        OfSession::count("runs", "rows of blocks.csv", |(_, found)| found.runs),
        OfSession::measured("at once, most", "", clock, |(_, found)| {
            Entry::count(found.at_once)
        }),
        OfSession::measured("makespan", "", clock, move |(_, found)| {
            seconds(found.makespan_s)
        }),
        OfSession::measured("sum of the trials", "", clock, move |(_, found)| {
            seconds(found.sum_s)
        }),
        OfSession::derived("core time", "core-s", derived, move |(_, found)| {
            Entry::shown(found.core_s.map(|(had, _)| had), digits)
        }),
        OfSession::derived("efficiency", "%", derived, move |(_, found)| {
            Entry::shown(found.efficiency().map(|share| share * 100.0), digits)
        }),
    ];
    let head = ("search-time", "Time of the search", about);
    let table = field::of_rows(head, &fields, plain(rows));
    let rule = "makespan is from the first start to the last end of a session, summed over sessions. Core time is wall time × \
                the cores that a run kept from others, of which runs side by side have parts. Efficiency is core time ÷ \
                (cores × makespan); it is low too where a decision waits for trials that have not ended (lag).";
    let told = sequential.and_then(|other| speed_up(search, other));
    let verdict = told.map(|told| told.unwrap_or_else(|why| why));
    Section::judged(table, rule, verdict.into_iter().collect())
}

/// How much sooner the search ended than `other`, or why that cannot be said; `None` where `other` is not the same
/// search, or had trials side by side.
pub(crate) fn speed_up(
    search: &Search<'_, '_>,
    other: &Search<'_, '_>,
) -> Option<Result<String, String>> {
    let is_same = other.spec.space == search.spec.space && other.objectives == search.objectives;
    let (own, alone) = (whole(search)?, whole(other)?);
    if !is_same || alone.at_once > 1 || own.at_once == 1 {
        return None;
    }
    let name = &other.view.set.plan.name;
    let (seconds, before) = (own.makespan_s, human_seconds(alone.makespan_s));
    let is_measured = |trial: &Trial<'_, '_>| trial.cell.is_measured();
    let (here, there) = (
        search.trials().find(is_measured)?,
        other.trials().find(is_measured)?,
    );
    if let Some(why) = measured_apart(here.cell, there.cell) {
        return Some(Err(format!(
            "{name}, the same search of one trial after the other, took {before}, {why}: no speed-up can be given."
        )));
    }
    let pruned = |search: &Search<'_, '_>| {
        let sum = Sum::of(search);
        format!("{} of {} pruned", sum.pruned, count(sum.trials, "trial"))
    };
    Some(Ok(format!(
        "Speed-up against {name}, the same search of one trial after the other: {before} ÷ {} = {}× (n = 1 on each side; {} \
         there, {} here).",
        human_seconds(seconds),
        human(alone.makespan_s / seconds, 3),
        pruned(other),
        pruned(search)
    )))
}
