//! Hyperparameter search and runs side by side: what these results can say of them.
//!
//! The searches are those that `[report] searches` names, else the sides that are searches themselves; the first of them is
//! what the others are held against.

mod trials;

use crate::report::comparison::scene::Scene;
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::search::{Search, whole};
use crate::report::section::Section;
use crate::report::sections::cost::wall_s;
use crate::report::sections::parallel::{Together, sessions};
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::View;
use crate::results::{BlockRow, Status};

use super::rows::{Line, plain};

#[cfg(test)]
pub(in crate::report) use trials::MESSAGES as MESSAGES_OF_TRIALS;
pub(in crate::report) use trials::plot as best_over_time;

messages! {
    search_name() = "hyperparameter search, makespan" | "Hyperparametersuche, Gesamtdauer";
    search_of(sides) = "hyperparameter search, makespan ({sides})" | "Hyperparametersuche, Gesamtdauer ({sides})";
    search_sentence(before, after, ratio) = "Search, makespan: {before} → {after}, {ratio}× (n = 1 on each side)." | "Suche, Gesamtdauer: {before} → {after}, {ratio}× (n = 1 auf jeder Seite).";
    search_missing(names) = "Not measured: no results of {names} lie beside these." | "Nicht gemessen: neben diesen Ergebnissen liegen keine von {names}.";
    search_time_title() = "Time of the search" | "Dauer der Suche";
    search_title() = "Search and parallel runs" | "Suche und parallele Läufe";
    search_pruned(pruned, runs, wall) = "{pruned} of {runs} were pruned; they took {wall} of wall time in all, which is counted in the cost." | "{pruned} von {runs} wurden vorzeitig verworfen; sie dauerten zusammen {wall}, die in den Kosten mitgezählt sind.";
    search_of_trials() = "The trials of each search, without regret runs, ensemble and final training. Makespan is from the first start to the last end of a session, summed over sessions; efficiency is core time ÷ (cores × makespan). One search is one run of chance and machine: n = 1, no interval." | "Die Versuche jeder Suche, ohne vollständig wiederholte Versuche, Ensemble und Abschlusstraining. Die Gesamtdauer reicht vom ersten Start bis zum letzten Ende einer Sitzung, summiert über Sitzungen; die Auslastung ist Kernzeit ÷ (Kerne × Gesamtdauer). Eine Suche ist ein Lauf von Zufall und Maschine: n = 1, kein Intervall.";
    search_once() = "n = 1 on each side" | "n = 1 auf jeder Seite";
    search_about() = "Runs that shared the machine. Makespan is from the first start to the last end of a session, summed over sessions; efficiency is core time ÷ (cores × makespan)." | "Läufe, die sich die Maschine teilten. Die Gesamtdauer reicht vom ersten Start bis zum letzten Ende einer Sitzung, summiert über Sitzungen; die Auslastung ist Kernzeit ÷ (Kerne × Gesamtdauer).";
    search_side() = "side" | "Seite";
    search_runs() = "runs" | "Läufe";
    search_at_once() = "at once, most" | "gleichzeitig, höchstens";
    search_makespan() = "makespan" | "Gesamtdauer";
    search_sum() = "sum of the runs" | "Summe der Läufe";
    search_core() = "core time" | "Kernzeit";
    search_efficiency() = "efficiency" | "Auslastung";
    search_counted() = "rows of blocks.csv" | "Zeilen von blocks.csv";
    search_clock() = "start and wall time of each run" | "Start und Dauer jedes Laufs";
    search_derived() = "by the formula above" | "nach der Formel oben";
    search_run_count(count) = "{count} runs" | "{count} Läufe";
    outcome_only(side) = "Only {side} is a search: the runs of the other side are planned cells." | "Nur {side} ist eine Suche: Die Läufe der anderen Seite sind geplante Zellen.";
}

/// A search under the name that the page has for it.
type Named<'v, 'a> = (String, Search<'v, 'a>);

fn searches<'v, 'a>(scene: &'v Scene<'a>) -> Vec<Named<'v, 'a>> {
    let named = scene.searches.iter().rev();
    let mut views: Vec<(String, &View<'a>)> = named
        .map(|view| (view.set.plan.name.clone(), view))
        .collect();
    if views.is_empty() {
        views = sides(scene);
    }
    let found = views.into_iter();
    found
        .filter_map(|(name, view)| Some((name, Search::of(view)?)))
        .collect()
}

/// The results that are looked at, each once: both sides of one result are the same.
fn sides<'v, 'a>(scene: &'v Scene<'a>) -> Vec<(String, &'v View<'a>)> {
    if scene.comparison.along.is_some() {
        return vec![("–".to_owned(), &scene.after)];
    }
    vec![
        (scene.words.before(), &scene.before),
        (scene.words.after(), &scene.after),
    ]
}

/// The makespans of the first search and of each other one.
fn makespans(scene: &Scene<'_>) -> Vec<([String; 2], [f64; 2])> {
    let found = searches(scene);
    let span = |one: &Named<'_, '_>| Some((one.0.clone(), whole(&one.1)?.makespan_s));
    let mut spans = found.iter().filter_map(span);
    let Some((first, before)) = spans.next() else {
        return Vec::new();
    };
    spans
        .map(|(name, after)| ([first.clone(), name], [before, after]))
        .collect()
}

/// The makespans in a table of figures; `None` without two searches.
pub(crate) fn line(scene: &Scene<'_>) -> Option<Line> {
    let words = scene.words;
    let ([before, after], values) = makespans(scene).pop()?;
    let name = if scene.searches.is_empty() {
        words.search_name()
    } else {
        words.search_of(format!("{before} → {after}"))
    };
    let shown = |value| Entry::shown(value, |value| words.seconds(value));
    let once = words.search_once();
    Some(plain(words, name, values.map(Some), &shown, &once))
}

/// The makespans in a sentence for each search after the first.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let named = |name: &String, seconds: f64| {
        let seconds = words.seconds(seconds);
        if scene.searches.is_empty() {
            seconds
        } else {
            format!("{name} {seconds}")
        }
    };
    let found = makespans(scene).into_iter();
    let told = found.map(|(names, [before, after])| {
        words.search_sentence(
            named(&names[0], before),
            named(&names[1], after),
            words.ratio(after / before),
        )
    });
    told.collect()
}

/// The section; `None` where there is no search and no run that was pruned or shared its machine.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let found = searches(scene);
    let mut section = Section::titled("search", words.search_title());
    if found.is_empty() {
        section.points.extend(missing(scene));
        return Some(without(scene, section)).filter(|section| !section.is_empty());
    }
    section.tables.push(trials::table(words, &found));
    let times = found
        .iter()
        .filter_map(|(name, search)| Some(time_row(words, name, &whole(search)?)));
    let (title, about) = (words.search_time_title(), words.search_of_trials());
    section
        .tables
        .extend(parallel(words, &title, about, times.collect()));
    section.plots.extend(trials::plot(words, &found));
    section.points.extend(points(scene, &found));
    Some(section)
}

/// What there is to say without a search: runs that were pruned, and runs that shared the machine.
fn without(scene: &Scene<'_>, mut section: Section) -> Section {
    let words = scene.words;
    let sides = sides(scene);
    let runs: Vec<&BlockRow> = sides
        .iter()
        .flat_map(|(_, view)| &view.set.blocks)
        .collect();
    section.points.extend(pruned(words, &runs));
    let rows = sides.iter().filter_map(|(name, view)| {
        let shared = view.set.blocks.iter().filter(|run| !run.exclusive);
        let each = sessions(view, shared).into_iter();
        let all = each.reduce(|one, next| one.and(&next))?;
        Some(time_row(words, name, &all))
    });
    let rows: Vec<Row> = rows.collect();
    if !rows.is_empty() {
        // The table has the heading then.
        let title = std::mem::take(&mut section.title);
        section
            .tables
            .extend(parallel(words, &title, words.search_about(), rows));
    }
    section
}

fn pruned(words: Words, runs: &[&BlockRow]) -> Option<String> {
    let pruned: Vec<_> = runs
        .iter()
        .filter(|run| run.status == Status::Pruned)
        .collect();
    let all = words.search_run_count(words.count(runs.len()));
    let wall: f64 = pruned.iter().filter_map(|run| wall_s(run)).sum();
    let told = || words.search_pruned(words.count(pruned.len()), all, words.seconds(wall));
    (!pruned.is_empty()).then(told)
}

fn parallel(words: Words, title: &str, about: String, rows: Vec<Row>) -> Option<Table> {
    let counted = Provenance::Measured(words.search_counted());
    let clock = Provenance::Measured(words.search_clock());
    let derived = Provenance::Derived(words.search_derived());
    let columns = vec![
        Column::text(&words.search_side()),
        words.column(words.search_runs(), "", &counted),
        words.column(words.search_at_once(), "", &clock),
        words.column(words.search_makespan(), "", &clock),
        words.column(words.search_sum(), "", &clock),
        words.column(words.search_core(), "", &derived),
        words.column(words.search_efficiency(), "", &derived),
    ];
    (!rows.is_empty()).then(|| Table::of_rows(("parallel", title, about), columns, rows))
}

fn time_row(words: Words, side: &str, found: &Together) -> Row {
    let seconds = |value: f64| Entry::value(value, words.seconds(value));
    let core_seconds = |value: f64| words.core_seconds(words.number(value, 3));
    let efficiency = found.efficiency().map(|share| share * 100.0);
    Row::new(
        "",
        vec![
            Entry::text(side),
            count(words, found.runs),
            count(words, found.at_once),
            seconds(found.makespan_s),
            seconds(found.sum_s),
            Entry::shown(found.core_s.map(|(had, _)| had), core_seconds),
            Entry::shown(efficiency, |percent| words.percent(percent / 100.0)),
        ],
    )
}

fn count(words: Words, value: usize) -> Entry {
    Entry::value(value as f64, words.count(value))
}

/// The searches that the manifest names and that have no results.
fn missing(scene: &Scene<'_>) -> Option<String> {
    let mut names: Vec<String> = scene.after.set.plan.reported("searches");
    let found: Vec<&String> = scene
        .searches
        .iter()
        .map(|view| &view.set.plan.name)
        .collect();
    names.retain(|name| !found.contains(&name));
    let names: Vec<String> = names.iter().map(|name| scene.words.quoted(name)).collect();
    (!names.is_empty()).then(|| scene.words.search_missing(scene.words.listed(&names, 8)))
}

fn points(scene: &Scene<'_>, found: &[Named<'_, '_>]) -> Vec<String> {
    let words = scene.words;
    let mut points: Vec<String> = missing(scene).into_iter().collect();
    let is_of_sides = scene.comparison.along.is_none() && scene.searches.is_empty();
    if let ([only], true) = (found, is_of_sides) {
        points.push(words.outcome_only(&only.0));
    }
    if let [first, others @ ..] = found {
        points.extend(
            others
                .iter()
                .map(|other| trials::shared(words, &first.1, &other.1)),
        );
    }
    points
}
