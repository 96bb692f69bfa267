//! The report of a search: the parts that the template `search` shows in addition to those of every report.
//!
//! Owns [`sections`], made from files only: the search of `plan.json`, each trial's number, point, values and pruning,
//! and the rows of the CSV files. It describes the best trials, the effect of pruning and the duration, and writes the
//! best configurations to `best.toml`. Start at [`trials::Search`].

mod ends;
#[cfg(test)]
pub(crate) mod fixture;
mod front;
mod front_plot;
mod importances;
mod ledger;
mod objective;
mod progress;
#[cfg(test)]
mod tests;
mod time;
mod trial;
mod trials;

use crate::base::text::count;
use crate::plan::toml_text;
use crate::results::{self, ResultSet};

use super::section::Section;
use super::view::View;
pub(crate) use front::{
    TrialColumn, fields as trial_fields, front_of, front_section as front_verdict,
};
pub(crate) use front_plot::plots as front_plots;
pub(crate) use ledger::{EpochTotals, regret_sentence};
pub(crate) use objective::Objective;
pub(crate) use progress::{best_over_time, drawn_loss_limit};
pub(crate) use time::{all_sessions, speed_up};
pub(crate) use trial::{Ending, Trial};
pub(crate) use trials::{Search, Study};

/// The sections of a search; none if the manifest has no search.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let Some(search) = &Search::of(view) else {
        return Vec::new();
    };
    let mut points = vec![proposed(search)];
    points.extend(ledger::pruning_sentence(search));
    let clock = clock(search);
    if !clock.is_empty() {
        points.push(format!(
            "Depends on the clock: {}. Another run of the same seed may give other trials; what was recorded is what \
             resuming uses.",
            clock.join("; ")
        ));
    }
    let mut all = vec![Section {
        points,
        ..Section::titled("search-summary", "Trials")
    }];
    all.extend(front::front_section(search));
    // The first plot is part of the answer.
    let others = front_plot::plots(search).into_iter().skip(1).collect();
    all.push(Section::plots("fronts", others));
    all.extend(importances::importance_sections(search));
    all.extend(ends::ensemble(search));
    all
}

/// Sentence: how trials were proposed, and how many were allowed.
fn proposed(search: &Search<'_, '_>) -> String {
    let spec = search.spec;
    let text = |value: serde_json::Result<serde_json::Value>| toml_text(&value.unwrap_or_default());
    let each = match search.studies.len() {
        0 | 1 => "",
        _ => " in each study",
    };
    format!(
        "Up to {}{each} of {}: sampler {}, pruner {}, seed {}, {} at a time (assumed, from the manifest).",
        count(spec.trials, "trial"),
        count(spec.space.parameters.len(), "parameter"),
        text(serde_json::to_value(&spec.sampler)),
        text(serde_json::to_value(&spec.pruner)),
        spec.seed,
        spec.jobs
    )
}

/// Results of a related experiment in a neighbouring folder, whose name is that of the search with a suffix: `best`,
/// `sequential`.
pub(crate) fn related_results(view: &View<'_>, what: &str) -> Option<ResultSet> {
    let folder = view.folder?;
    let name = format!("{}-{what}", super::names::name_of_results(folder, view.set));
    let set = results::read(&folder.join("..").join(&name)).ok()?;
    (set.plan.name == name).then_some(set)
}

/// The trial of each study that is trained in full: the one with the best first objective.
pub(crate) fn best_trials<'s, 'v, 'a>(
    search: &'s Search<'v, 'a>,
) -> Vec<(&'s Study<'v, 'a>, Trial<'v, 'a>)> {
    let studies = search.studies.iter();
    let best = |study| Some((study, *front_of(search, study).first()?));
    studies.filter_map(best).collect()
}

/// Sentences on settings that depend on a clock, so that the same seed may give other trials.
fn clock(search: &Search<'_, '_>) -> Vec<String> {
    let spec = search.spec;
    let objectives = search
        .objectives
        .iter()
        .filter(|objective| objective.is_per_run);
    let objectives = objectives.map(|objective| format!("the objective {}", objective.column));
    let is_limited = |trial: Trial<'_, '_>| {
        let limits = search.view.section(trial.cell, "limits");
        limits.is_some_and(|limits| limits.get("time").is_some_and(|time| !time.is_null()))
    };
    let others = [
        (spec.max_time_s.is_some(), "the budget in time"),
        (
            spec.max_cost.is_some(),
            "the budget in cost, which is time × price",
        ),
        (search.trials().any(is_limited), "the time limit of a trial"),
    ];
    let others = others.iter().filter(|(is_so, _)| *is_so);
    let others = others.map(|(_, name)| (*name).to_owned());
    objectives.chain(others).collect()
}
