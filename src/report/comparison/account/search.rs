//! Comparisons of searches: numbers of trials by status, the best trial, when it was found, and the total duration.
//!
//! The searches that `[report] searches` of another experiment names are described by a sentence in that comparison's
//! answer.

use std::collections::BTreeMap;

use crate::base::text::capitalised;
use crate::report::comparison::scene::Scene;
use crate::report::language::{Words, messages};
use crate::report::plot::{MAX_SERIES, PointPlot, Series};
use crate::report::search::{
    EpochTotals, Search, Study, all_sessions, best_over_time, drawn_loss_limit,
};
use crate::report::section::Section;
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::View;

messages! {
    search_sentence(before, after, ratio) = "Search, makespan: {before} → {after}, {ratio}× (n = 1 on each side)." | "Suche, Gesamtdauer: {before} → {after}, {ratio}× (n = 1 auf jeder Seite).";
    search_missing(names) = "Not measured: no results of {names} lie beside these." | "Nicht gemessen: neben diesen Ergebnissen liegen keine von {names}.";
    search_title() = "Trials and the best of them" | "Versuche und der beste";
    search_about() = "What each search proposed, ended early and found. One search is one run of chance and machine: n = 1, no interval." | "Was jede Suche vorschlug, vorzeitig verwarf und fand. Eine Suche ist ein Lauf von Zufall und Maschine: n = 1, kein Intervall.";
    search_side() = "side" | "Seite";
    outcome_study() = "study" | "Studie";
    outcome_trials() = "trials" | "Versuche";
    outcome_done() = "done" | "fertig";
    outcome_pruned() = "pruned" | "verworfen";
    outcome_failed() = "failed" | "gescheitert";
    outcome_trained() = "epochs trained" | "trainierte Epochen";
    outcome_best() = "best value" | "bester Wert";
    outcome_found() = "found after" | "gefunden nach";
    outcome_rows() = "rows of runs.csv" | "Zeilen von runs.csv";
    outcome_clock() = "n = 1: start and wall time of each run" | "n = 1: Start und Dauer jedes Laufs";
    outcome_trial(value, trial) = "{value}, trial {trial}" | "{value}, Versuch {trial}";
    outcome_other(count, all) = "{count} of {all} trials have the same configuration on both sides." | "{count} von {all} Versuchen haben auf beiden Seiten dieselbe Konfiguration.";
    outcome_plot(name) = "{name} over time" | "{name} über der Zeit";
    outcome_seconds_axis() = "seconds since the first trial began" | "Sekunden seit Beginn des ersten Versuchs";
    outcome_caption() = "Line: best value of done trials so far; marks: where it improved; dots: every done trial, without far worse ones. Measured, n = 1: the end of each trial by start and wall time; the clock stands still between sessions." | "Linie: bisher bester Wert fertiger Versuche; Marken: wo er besser wurde; Punkte: alle fertigen Versuche ohne weit schlechtere. Gemessen, n = 1: das Ende jedes Versuchs nach Start und Dauer; die Uhr steht zwischen Sitzungen still.";
    outcome_only(side) = "Only {side} is a search: the runs of the other side are planned cells." | "Nur {side} ist eine Suche: Die Läufe der anderen Seite sind geplante Zellen.";
}

/// A search with its name on the page.
type Named<'v, 'a> = (String, Search<'v, 'a>);

/// The searches that the manifest names, else the sides that are searches; none if cells of one result are compared.
fn searches<'v, 'a>(scene: &'v Scene<'a>) -> Vec<Named<'v, 'a>> {
    let named = scene.searches.iter().rev();
    let mut views: Vec<(String, &View<'a>)> = named
        .map(|view| (view.set.plan.name.clone(), view))
        .collect();
    if views.is_empty() && scene.comparison.along.is_none() {
        let names = [scene.words.before(), scene.words.after()];
        views = names
            .into_iter()
            .zip([&scene.before, &scene.after])
            .collect();
    }
    let found = views.into_iter();
    found
        .filter_map(|(name, view)| Some((name, Search::of(view)?)))
        .collect()
}

/// Sentences: the duration of the first search compared with that of each other one, and the named searches without
/// results.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let found = searches(scene);
    let span = |(name, search): &Named<'_, '_>| {
        let seconds = all_sessions(search)?.makespan_s;
        let shown = words.seconds(seconds);
        Some(if scene.searches.is_empty() {
            (shown, seconds)
        } else {
            (format!("{name} {shown}"), seconds)
        })
    };
    let mut spans = found.iter().filter_map(span);
    let mut told = Vec::new();
    if let Some((first, before)) = spans.next() {
        told.extend(
            spans.map(|(name, after)| {
                words.search_sentence(&first, name, words.ratio(after / before))
            }),
        );
    }
    let mut names: Vec<String> = scene.after.set.plan.report_setting("searches");
    names.retain(|name| {
        scene
            .searches
            .iter()
            .all(|view| view.set.plan.name != *name)
    });
    let names: Vec<String> = names.iter().map(|name| words.quoted(name)).collect();
    told.extend((!names.is_empty()).then(|| words.search_missing(words.listed(&names, 8))));
    told
}

/// The section that compares the searches; `None` if no side is a search.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let found = searches(scene);
    if found.is_empty() || !scene.searches.is_empty() {
        return None;
    }
    let named = found.iter().map(|(name, search)| (&**name, search));
    let named: Vec<(&str, &Search<'_, '_>)> = named.collect();
    let point = match &found[..] {
        [first, other, ..] => shared(words, &first.1, &other.1),
        _ => words.outcome_only(&found[0].0),
    };
    Some(Section {
        id: "search".to_owned(),
        plots: plot(words, &named).into_iter().collect(),
        points: vec![point],
        ..Section::table(table(words, &found))
    })
}

/// A row for each study of each search.
fn table(words: Words, found: &[Named<'_, '_>]) -> Table {
    let counted = words.measured(words.outcome_rows());
    let clock = words.measured(words.outcome_clock());
    let columns = vec![
        Column::text(&words.search_side()),
        Column::text(&words.outcome_study()),
        Column::number(&words.outcome_trials(), "", &counted),
        Column::number(&words.outcome_done(), "", &counted),
        Column::number(&words.outcome_pruned(), "", &counted),
        Column::number(&words.outcome_failed(), "", &counted),
        Column::number(&words.outcome_trained(), "", &counted),
        Column::text(&words.outcome_best()),
        Column::number(&words.outcome_found(), "", &clock),
    ];
    let rows = found.iter().flat_map(|(name, search)| {
        let studies = search.studies.iter();
        studies.map(move |study| row_of(words, name, search, study))
    });
    let naming = (
        "search-trials",
        &*words.search_title(),
        words.search_about(),
    );
    Table::of_rows(naming, columns, rows.collect())
}

fn row_of(words: Words, side: &str, search: &Search<'_, '_>, study: &Study<'_, '_>) -> Row {
    let sum = EpochTotals::of(search, study.trials.iter().copied());
    let count = |value: usize| Entry::value(value as f64, words.count(value));
    let study_name = match &*study.name {
        "" => "–",
        name => name,
    };
    let done = study.completed_count();
    let first = search.first_objective();
    let (curve, _) = best_over_time(search, study);
    let found = curve.steps.last().map(|(at, ..)| *at);
    let best = study.best_first(first).first().copied();
    let best = best.and_then(|trial| {
        let value = words.localised(&first.show(first.value(&trial)?));
        let text = words.outcome_trial(value, trial.info.number);
        Some(format!("{}: {text}", first.column))
    });
    let fields = vec![
        Entry::text(side),
        Entry::text(study_name),
        count(sum.trials),
        count(done),
        count(sum.pruned),
        count(sum.trials - done - sum.pruned),
        count(sum.trained),
        Entry::text(best.unwrap_or_else(|| "–".to_owned())),
        Entry::shown(found, |at| words.seconds(at)),
    ];
    Row::new("", fields)
}

/// Number of trials of one search whose configuration the other search also tried.
fn shared(words: Words, one: &Search<'_, '_>, other: &Search<'_, '_>) -> String {
    let points = |search: &Search<'_, '_>| -> BTreeMap<(usize, usize), String> {
        let trials = search.trials();
        let point = trials.map(|trial| {
            let place = (trial.info.study, trial.info.number);
            (place, search.point_in_words(&trial.info.point))
        });
        point.collect()
    };
    let (ours, theirs) = (points(one), points(other));
    let same = ours
        .iter()
        .filter(|(place, point)| theirs.get(place) == Some(point));
    let (same, all) = (same.count(), ours.len().max(theirs.len()));
    words.outcome_other(words.count(same), words.count(all))
}

/// The best value over time, one line for each study of each search; `None` if no times were recorded, or the searches
/// have different objectives. The name of a single search is empty.
pub(in crate::report) fn plot(
    words: Words,
    found: &[(&str, &Search<'_, '_>)],
) -> Option<PlotContext> {
    let objective = found.first()?.1.first_objective();
    let mut others = found.iter().map(|(_, search)| search.first_objective());
    if others.any(|other| other.column != objective.column) {
        return None;
    }
    let studies = found.iter().flat_map(|(side, search)| {
        let limit = drawn_loss_limit(search);
        let studies = search.studies.iter();
        studies.map(move |study| (side, search, study, limit))
    });
    let (mut series, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for (side, search, study, limit) in studies.take(MAX_SERIES) {
        let (best, mut done) = best_over_time(search, study);
        done.retain(|(_, value)| objective.direction.as_loss(*value) <= limit);
        let names = [side, &*study.name].into_iter();
        let mut names: Vec<&str> = names.filter(|name| !["", "–"].contains(name)).collect();
        if names.is_empty() {
            names.push("best so far");
        }
        let points = best
            .points(|y, number| words.outcome_trial(words.localised(&objective.show(y)), number));
        series.push(Series::of(&names.join(", "), points));
        lines.push(best.staircase());
        dots.push(done);
    }
    if lines.iter().all(|line| line.len() < 2) {
        return None;
    }
    let drawn = lines.iter().chain(&dots).flatten();
    let ys: Vec<f64> = drawn.map(|(_, y)| *y).collect();
    let title = words.outcome_plot(capitalised(&objective.name));
    let drawing = PointPlot {
        about: title.clone(),
        x_label: words.outcome_seconds_axis(),
        y_label: objective.label(),
        y_scale: objective.scale(&ys),
        series,
        lines,
        dots,
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: "search-time".to_owned(),
        title,
        caption: words.outcome_caption(),
        svg: drawing.draw(),
    })
}
