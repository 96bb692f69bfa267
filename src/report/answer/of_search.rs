//! The answer of a search: its best trial, or with several objectives its Pareto front.

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::report::comparison::best_over_time_plot;
use crate::report::language::Words;
use crate::report::number::with_unit;
use crate::report::quality::optimism_sentence;
use crate::report::search::{
    Ending, Objective, Search, Study, Trial, TrialColumn, all_sessions, best_over_time, front_of,
    front_plots, front_verdict, regret_sentence, related_results, speed_up, trial_fields,
};
use crate::report::sections::field;
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};

use super::context::{Answer, NAMED};

/// Largest number of rows of the table.
const ROWS: usize = 10;

/// The answer of a search; `None` if the manifest has no search.
pub(super) fn answer(view: &View<'_>) -> Option<Answer> {
    let search = Search::of(view)?;
    let names: Vec<&str> = search.objectives.iter().map(|one| &*one.name).collect();
    let names = names.join(", ");
    let is_one = search.objectives.len() == 1;
    let sequential = related_results(view, "sequential");
    let sequential = sequential.as_ref().map(View::of);
    let other = sequential.as_ref().and_then(Search::of);
    let told = other.as_ref().and_then(|other| speed_up(&search, other));
    let is_sooner = is_one && matches!(told, Some(Ok(_)));
    let what = if is_one {
        "the objective"
    } else {
        "the objectives"
    };
    let studies = search.studies.iter().take(NAMED);
    let mut sentences: Vec<String> = studies
        .map(|study| {
            if is_one {
                best(&search, study)
            } else {
                front(&search, study)
            }
        })
        .collect();
    let studies = search.studies.iter().take(NAMED);
    sentences.extend(studies.filter_map(|study| ended_early(&search, study)));
    if search.studies.len() > 1 && !is_one {
        // Which study is better, by comparing their Pareto fronts.
        let verdict = front_verdict(&search).and_then(|section| section.points.last().cloned());
        sentences.splice(0..0, verdict);
    }
    // If the other search ran one trial at a time, both durations are compared as a speed-up.
    let lasted = duration(&search, is_one).filter(|_| !is_sooner);
    sentences.extend(lasted);
    sentences.extend(told.map(|told| told.unwrap_or_else(|why| why)));
    let other_found = other.as_ref().filter(|_| is_sooner).and_then(found);
    sentences.extend(other_found.and_then(|there| found_sooner(&search, &there)));
    sentences.extend(regret_sentence(&search));
    sentences.extend(caution(&search));
    let tables = table(&search).into_iter().collect();
    let plots = if is_one {
        let plot = best_over_time_plot(Words::default(), &[("", &search)]);
        plot.into_iter().collect()
    } else {
        front_plots(&search)
    };
    let against = other.filter(|_| is_sooner);
    let against = against.and_then(|other| beside_each_other([search, other]));
    Some(Answer {
        sentences,
        by: format!("{names}, {what} of the search"),
        figures: against.into_iter().chain(plots).take(1).collect(),
        tables,
        not_run: String::new(),
    })
}

/// How long all trials took, and, for a single study, when its best trial was found.
fn duration(search: &Search<'_, '_>, is_one: bool) -> Option<String> {
    let end = human_seconds(all_sessions(search)?.makespan_s);
    Some(match found(search).filter(|_| is_one) {
        Some([_, after]) => format!("The search took {end}; the best was found after {after}."),
        None => format!("The search took {end}."),
    })
}

/// The best value of a search of one study, and when it was found.
fn found(search: &Search<'_, '_>) -> Option<[String; 2]> {
    let [study] = &search.studies[..] else {
        return None;
    };
    let (best, _) = best_over_time(search, study);
    let &(seconds, value, _) = best.steps.last()?;
    Some([search.first_objective().show(value), human_seconds(seconds)])
}

/// Sentence: best value and time until it was found, of this search and of an earlier one.
fn found_sooner(search: &Search<'_, '_>, [there, before]: &[String; 2]) -> Option<String> {
    let [here, after] = found(search)?;
    Some(format!(
        "The best of this search, {here}, was found after {after}; that of the sequential one, {there}, after {before}."
    ))
}

/// Plot: best value over time of two searches that differ in how many trials run at one time.
fn beside_each_other(searches: [Search<'_, '_>; 2]) -> Option<PlotContext> {
    let named = searches.map(|search| (search.view.set.plan.name.clone(), search));
    let both = [0, 1].map(|side| (&*named[side].0, &named[side].1));
    let plot = best_over_time_plot(Words::default(), &both)?;
    let ends = named.iter().filter_map(|(name, search)| {
        let [best, after] = found(search)?;
        let end = human_seconds(all_sessions(search)?.makespan_s);
        Some(format!(
            "{name}: best {best} after {after}, all trials after {end}"
        ))
    });
    let ends = ends.collect::<Vec<_>>().join("; ");
    Some(PlotContext {
        id: "answer".to_owned(),
        caption: format!("{} {ends}.", plot.caption),
        ..plot
    })
}

/// Warning that the best of many trials may be the best by chance; `None` if no trial was completed.
fn caution(search: &Search<'_, '_>) -> Option<String> {
    if !search.trials().any(|trial| trial.ending() == Ending::Done) {
        return None;
    }
    let told = optimistic_best(search).unwrap_or_else(|| {
        "The best of many by the figure that chose it is optimistic.".to_owned()
    });
    Some(format!(
        "{told} Each trial ran once: best.toml trains the best anew."
    ))
}

/// Sentence: the best trial of all studies by the first objective is optimistic, and its value on the test split, which
/// chose nothing; `None` if the objective is not a quality.
fn optimistic_best(search: &Search<'_, '_>) -> Option<String> {
    let objective = search.first_objective();
    let studies = search.studies.iter();
    let best = studies.filter_map(|study| {
        let trial = study.best_first(objective).first().copied()?;
        Some((objective.loss(&trial)?, &*study.name, trial.cell))
    });
    let mut best: Vec<(f64, &str, &Cell<'_>)> = best.collect();
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (&(.., first), others) = best.split_first()?;
    let others = others
        .iter()
        .take(NAMED)
        .map(|(_, name, cell)| (*name, *cell));
    let others: Vec<(&str, &Cell<'_>)> = others.collect();
    let trials = count(search.trials().count(), "trial");
    optimism_sentence(search.view, &trials, (first, &others), &objective.column)
}

/// Sentence on the best trial of a study and the second best.
fn best(search: &Search<'_, '_>, study: &Study<'_, '_>) -> String {
    let objective = search.first_objective();
    let order = study.best_first(objective);
    let text = |place: usize| {
        let trial = order.get(place)?;
        let point = search.point_in_words(&trial.info.point);
        let shown = objective.show(objective.value(trial)?);
        let shown = with_unit(&shown, objective.unit());
        Some(format!("{shown} (trial {}: {point})", trial.info.number))
    };
    let trials = count(study.trials.len(), "trial");
    let prefix = study.prefix();
    let Some(best) = text(0) else {
        let name = &objective.name;
        return format!("{prefix}No trial of {trials} ended with a value of {name}.");
    };
    let ended = study.completed_count();
    let ran = match (ended, ended - study.trials_that_ended(Ending::Done).count()) {
        (1, _) => "one ran to its end".to_owned(),
        (_, 0) => format!("{ended} ran to their end"),
        (_, empty) => format!("{ended} ran to their end, {empty} without a value"),
    };
    let next = text(1).map(|next| format!("; the next has {next}"));
    format!(
        "{prefix}{} of {trials}, of which {ran}: {best}{}.",
        objective.best_in_words(),
        next.unwrap_or_default()
    )
}

/// Sentence: a study has fewer trials than the search allows because its space has no other point.
fn ended_early(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<String> {
    let (ran, of) = (study.trials.len(), search.spec.trials);
    (ran < of && study.has_every_point(search.spec)).then(|| {
        let prefix = study.prefix();
        format!(
            "{prefix}The space has no other configuration: the search ended after {ran} of {of} trials."
        )
    })
}

/// Sentence on the result of a study with several objectives: its best trial by the first of them, and how many are on
/// its front.
fn front(search: &Search<'_, '_>, study: &Study<'_, '_>) -> String {
    let front = front_of(search, study);
    let done = count(study.trials_that_ended(Ending::Done).count(), "trial");
    let prefix = study.prefix();
    let [best, rest @ ..] = &front[..] else {
        return format!(
            "{prefix}No trial of {} ended with a value of every objective.",
            study.trials.len()
        );
    };
    let shown = |objective: &Objective| Some(objective.show(objective.value(best)?));
    let first = search.first_objective();
    let others = search.objectives.iter().skip(1);
    let others = others.filter_map(|one| Some(format!("{} {}", one.name, shown(one)?)));
    let others = others.collect::<Vec<_>>().join(", ");
    let value = shown(first).unwrap_or_default();
    let number = best.info.number;
    let told = format!(
        "{prefix}{} {value} (trial {number}: {others})",
        first.best_in_words()
    );
    if rest.is_empty() {
        return format!("{told}; of {done} it is the best by every objective.");
    }
    format!(
        "{told}; {} of {done} are on the Pareto front, none is best by every objective.",
        front.len()
    )
}

/// The best trials of the studies, those on a Pareto front first; `None` if no trial was completed.
fn table(search: &Search<'_, '_>) -> Option<Table> {
    let studies = &search.studies[..search.studies.len().min(NAMED)];
    let most = ROWS / studies.len().max(1);
    let mut trials = Vec::new();
    let (mut ranked, mut done) = (0, 0);
    for study in studies {
        let best = study.best_first(search.first_objective());
        let front = if search.objectives.len() == 1 {
            Vec::new()
        } else {
            front_of(search, study)
        };
        let is_on = |number: usize| front.iter().any(|trial| trial.info.number == number);
        let (mut order, rest): (Vec<_>, Vec<_>) =
            best.iter().partition(|trial| is_on(trial.info.number));
        order.extend(rest);
        ranked += order.len();
        done += study.trials_that_ended(Ending::Done).count();
        let shown = order.into_iter().take(most);
        trials.extend(shown.map(|trial: &Trial<'_, '_>| (study, *trial, is_on(trial.info.number))));
    }
    if trials.is_empty() {
        return None;
    }
    let where_else = if search.objectives.len() > 1 {
        " Configurations are in the table of the fronts, under Search."
    } else {
        ""
    };
    let about = format!(
        "By {}; each trial ran once, with one seed.{where_else}{}",
        search.first_objective().goal(),
        run_on(search)
    );
    let head = ("decision", "Best trials", about);
    let count = trials.len();
    let rows = trials.iter().map(|row| (row.1.cell.info.key.clone(), *row));
    let mut table = field::of_rows(
        head,
        &fields(search, trials.iter().any(|(.., is_on)| *is_on)),
        rows,
    );
    table.cut = (ranked > count).then(|| {
        let each = if studies.len() > 1 {
            " of each study"
        } else {
            ""
        };
        format!(
            "The first {most}{each}, of {done} trials that are done; all of them are in runs.csv."
        )
    });
    Some(table)
}

/// Sentence: the values of pruned trials that were repeated without pruning; empty without such trials.
fn run_on(search: &Search<'_, '_>) -> String {
    let objective = search.first_objective();
    let trials = search.studies.iter().flat_map(|study| &study.regret);
    let values = trials.map(|trial| {
        let value = objective.value(trial).map(|value| objective.show(value));
        let value = value.as_deref().unwrap_or("no value");
        format!("{value} (trial {})", trial.info.number)
    });
    let values: Vec<String> = values.collect();
    if values.is_empty() {
        return String::new();
    }
    format!(
        " Pruned, and run again to the end to see what pruning missed: {}.",
        values.join(", ")
    )
}

/// The columns of the table of trials; `has_front` adds one that says which trials are on the Pareto front.
fn fields<'s, 'v, 'a>(search: &'s Search<'v, 'a>, has_front: bool) -> Vec<TrialColumn<'s, 'v, 'a>> {
    let mut fields = trial_fields(search);
    let side = |is_on: bool| if is_on { "on it" } else { "–" };
    let front = TrialColumn::text("Pareto front", move |(.., is_on)| side(*is_on));
    fields.extend(has_front.then_some(front));
    // With several objectives the table of the Pareto fronts shows each trial's configuration.
    let named = TrialColumn::text("configuration", |(_, trial, _)| {
        search.point_in_words(&trial.info.point)
    });
    fields.extend((search.objectives.len() == 1).then_some(named));
    let clock = "n = 1: start to end of the run";
    fields.push(TrialColumn::measured(
        "wall",
        "s",
        clock,
        |(_, trial, _)| Entry::shown(trial.wall_s(), |wall| human(wall, 3)),
    ));
    fields
}
