//! The report of a search: what the template `search` shows beside the parts that every report has.
//!
//! Owns [`SearchReport`], made from files only: the search of `plan.json`, each trial's place, point, values and pruning,
//! and the rows of the CSV files. It proposes nothing and judges no trial; it says who was best, what pruning did, how long
//! all of it took, and writes the best configurations to `best.toml`. Start at [`trials::Search`].

mod best;
mod ends;
#[cfg(test)]
pub(crate) mod fixture;
mod front;
mod front_plot;
mod importances;
mod ledger;
mod objective;
mod progress;
mod settings;
mod slices;
#[cfg(test)]
mod tests;
mod time;
mod trials;

use std::path::Path;

use serde::Serialize;

use super::judged::Judged;
use super::sections::headline::Headline;
use super::sections::plots::PlotContext;
use super::table::Table;
use super::view::View;
pub(crate) use ledger::Sum;
pub(crate) use progress::BestSoFar;
pub(crate) use time::whole;
pub(crate) use trials::{Ending, Search, Study, Trial};

/// What the template `search` sees of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchReport {
    /// "2 studies of 20 trials: 26 done, 12 pruned, 2 failed".
    pub summary: String,
    /// Why the same seed may give other trials: what depends on a clock; empty where nothing does.
    pub clock: Vec<String>,
    /// Sampler, pruner, objectives, lag, seed, budget, as the manifest has them.
    pub settings: Table,
    /// The parameters of the space.
    pub space: Table,
    /// The best value of each study and the makespan, the same values as in the tables.
    pub headlines: Vec<Headline>,
    /// The best trials of each study.
    pub best: Vec<Table>,
    /// Pareto fronts with the winner by a rule; none for one objective.
    pub front: Option<Judged>,
    /// The fronts.
    pub fronts: Vec<PlotContext>,
    /// The best value so far, over trials and over time.
    pub progress: Vec<PlotContext>,
    /// The first objective against each parameter.
    pub slices: Vec<PlotContext>,
    /// Importance of the parameters by study; empty where nothing can be said.
    pub importance: Vec<Judged>,
    /// Every pruned trial with value, threshold and what it spared; none without a pruner.
    pub pruned: Option<Judged>,
    /// Pruned trials that were run to their end; none where there are none.
    pub regret: Option<Judged>,
    /// Trials that failed, with their reasons; none where there are none.
    pub failed: Option<Table>,
    /// Makespan, sum, lower bound, efficiency.
    pub time: Judged,
    /// What the search cost; none where the manifest has no price.
    pub cost: Option<Table>,
    /// The ensembles beside the best single trials; none where there are none.
    pub ensemble: Option<Judged>,
    /// Search and final training together.
    pub best_model: Judged,
}

impl SearchReport {
    /// The report of the search of a view; `None` where its manifest has none.
    pub(crate) fn of(view: &View<'_>) -> Option<Self> {
        let search = &Search::of(view)?;
        let name = &view.set.plan.name;
        Some(Self {
            summary: summary(search),
            clock: clock(search),
            settings: settings::table(search),
            space: settings::space(search),
            headlines: headlines(search),
            best: best::tables(search),
            front: front::judged(search),
            fronts: front_plot::plots(search),
            progress: progress::plots(search),
            slices: slices::plots(search),
            importance: importances::judged(search),
            pruned: ledger::judged(search),
            regret: ledger::regret(search),
            failed: ends::failed(search),
            time: time::judged(search),
            cost: time::cost(search),
            ensemble: ends::ensemble(search),
            best_model: ends::best_model(search, name, None),
        })
    }

    /// Adds what lies beside the results in `folder`: those of the final training.
    pub(crate) fn look_beside(&mut self, view: &View<'_>, folder: &Path, name: &str) {
        if let (Some(search), Some(set)) = (Search::of(view), ends::read_beside(folder, name)) {
            self.best_model = ends::best_model(&search, name, Some(&set));
        }
    }

    /// The best trials alone, as reports of all cells show them: ranked by any other figure, a pruned trial or another than
    /// the one in `best.toml` could stand first.
    pub(crate) fn headlines_of_best(&self) -> Vec<Headline> {
        let is_best = |headline: &&Headline| self.best.iter().any(|best| best.id == headline.link);
        self.headlines.iter().filter(is_best).cloned().collect()
    }

    /// Every plot.
    pub(crate) fn plots(&self) -> impl Iterator<Item = &PlotContext> {
        self.fronts.iter().chain(&self.progress).chain(&self.slices)
    }
}

/// The trial of each study that is trained in full: the best of the first objective, which is on the front.
pub(crate) fn best_trials<'s, 'v, 'a>(
    search: &'s Search<'v, 'a>,
) -> Vec<(&'s Study<'v, 'a>, Trial<'v, 'a>)> {
    let studies = search.studies.iter();
    let chosen = studies.filter_map(|study| Some((study, front::chosen(search, study)?)));
    chosen.collect()
}

fn summary(search: &Search<'_, '_>) -> String {
    let each = search.studies.iter().map(|study| {
        let tally = best::tally(study);
        if study.name.is_empty() {
            tally
        } else {
            format!("{}: {tally}", study.name)
        }
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        "No trial has ended".to_owned()
    } else {
        each.join("; ")
    }
}

fn headlines(search: &Search<'_, '_>) -> Vec<Headline> {
    let best = best::headlines(search).into_iter();
    best.chain(time::headline(search)).collect()
}

/// What depends on a clock, so that the same seed may give other trials.
fn clock(search: &Search<'_, '_>) -> Vec<String> {
    let objectives = search
        .objectives
        .iter()
        .filter(|objective| objective.is_clock);
    let mut reasons: Vec<String> = objectives
        .map(|objective| format!("the objective {}", objective.column))
        .collect();
    let spec = search.spec;
    if spec.max_time_s.is_some() {
        reasons.push("the budget in time".to_owned());
    }
    if spec.max_cost.is_some() {
        reasons.push("the budget in cost, which is time × price".to_owned());
    }
    let limit = |trial: &Trial<'_, '_>| {
        let limits = search.view.section(trial.cell, "limits");
        limits.is_some_and(|limits| limits.get("time").is_some_and(|time| !time.is_null()))
    };
    if search.trials().any(|trial| limit(&trial)) {
        reasons.push("the time limit of a trial".to_owned());
    }
    reasons
}
