//! How long the search took.

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::report::sections::parallel::{self, ParallelRuns};
use crate::report::sections::ranking::different_conditions;

use super::ledger::EpochTotals;
use super::trial::Trial;
use super::trials::Search;

/// Numbers and times of the runs of all sessions of the search; `None` if no start was recorded.
pub(crate) fn all_sessions(search: &Search<'_, '_>) -> Option<ParallelRuns> {
    let runs = search.trials().flat_map(|trial| &trial.cell.blocks);
    let sessions = parallel::sessions(search.view, runs.copied()).into_iter();
    sessions.reduce(|one, next| one.combined_with(&next))
}

/// Sentence: the speed-up of the search over `other`, or why it is unknown; `None` if `other` is not the same search,
/// or ran concurrent trials.
pub(crate) fn speed_up(
    search: &Search<'_, '_>,
    other: &Search<'_, '_>,
) -> Option<Result<String, String>> {
    let is_same = other.spec.space == search.spec.space && other.objectives == search.objectives;
    let (own, alone) = (all_sessions(search)?, all_sessions(other)?);
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
    if let Some(why) = different_conditions(here.cell, there.cell) {
        return Some(Err(format!(
            "{name}, the same search of one trial after the other, took {before}, {why}: no speed-up can be given."
        )));
    }
    let pruned = |search: &Search<'_, '_>| {
        let sum = EpochTotals::of(search, search.trials());
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
