//! The report of a search: what the template `search` shows beside the parts that every report has.
//!
//! Owns [`sections`], made from files only: the search of `plan.json`, each trial's place, point, values and pruning,
//! and the rows of the CSV files. It proposes nothing and judges no trial; it says who was best, what pruning did, how long
//! all of it took, and writes the best configurations to `best.toml`. Start at [`trials::Search`].

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
mod tally;
#[cfg(test)]
mod tests;
mod time;
mod trials;

use std::path::Path;

use super::section::Section;
use super::view::View;
pub(crate) use front::{front_of, judged as front_verdict};
pub(crate) use front_plot::plots as front_plots;
pub(crate) use ledger::Sum;
pub(crate) use objective::Objective;
pub(crate) use progress::BestSoFar;
pub(crate) use progress::plots as progress_plots;
pub(crate) use time::whole;
pub(crate) use trials::{Ending, Search, Study, Trial, entry, short_name};

/// The sections of a search; none where the manifest has none. `folder` is that of the results, beside which those of the
/// final training lie.
pub(crate) fn sections(view: &View<'_>, folder: Option<&Path>) -> Vec<Section> {
    let Some(search) = &Search::of(view) else {
        return Vec::new();
    };
    let name = folder.map_or_else(
        || view.set.plan.name.clone(),
        |folder| super::advice::name_of(folder, view.set),
    );
    let beside = folder.and_then(|folder| ends::read_beside(folder, &name));
    let mut points = vec![summary(search)];
    let clock = clock(search);
    if !clock.is_empty() {
        points.push(format!(
            "Depends on the clock: {}. Another run of the same seed may give other trials; what was recorded is what \
             resuming uses.",
            clock.join("; ")
        ));
    }
    let summary = Section {
        points,
        ..Section::titled("search-summary", "Trials")
    };
    let slices = Section {
        paragraphs: vec![SLICES.to_owned()],
        plots: slices::plots(search),
        ..Section::titled("slices", "Slices")
    };
    let progress = Section {
        plots: progress::plots(search),
        ..Section::titled("progress", "Best value so far")
    };
    let fronts = Section::plots("fronts", front_plot::plots(search));
    let mut all = vec![summary];
    all.extend(front::judged(search).map(Section::judged));
    all.extend([fronts, progress]);
    all.extend(Some(slices).filter(|slices| !slices.plots.is_empty()));
    all.extend(importances::judged(search).into_iter().map(Section::judged));
    all.extend(ledger::judged(search).map(Section::judged));
    all.extend(ledger::regret(search).map(Section::judged));
    all.extend(ends::failed(search).map(Section::table));
    all.push(Section::judged(time::judged(search)));
    all.extend(time::cost(search).map(Section::table));
    all.extend(ends::ensemble(search).map(Section::judged));
    let trained = ends::best_model(search, &name, beside.as_ref());
    all.push(Section::judged(trained));
    all.extend([settings::table(search), settings::space(search)].map(Section::table));
    all
}

/// What a slice shows.
const SLICES: &str = "Each trial at its value of a parameter; the others vary too, so that a slice shows where good trials \
                      lie and not what the parameter alone does.";

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
        let tally = tally::tally(study);
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
