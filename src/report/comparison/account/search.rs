//! Hyperparameter search and runs side by side: what these results can say of them.

mod outcome;

use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::search::{Search, whole};
use crate::report::section::Section;
use crate::report::sections::cost::wall_s;
use crate::report::sections::parallel::{Together, sessions};
use crate::report::table::{Column, Entry, Row};
use crate::report::view::View;
use crate::results::{BlockRow, Status};

use super::rows::{heads, plain_row};

#[cfg(test)]
pub(in crate::report) use outcome::MESSAGES as MESSAGES_OF_OUTCOME;
pub(crate) use outcome::sentence;

messages! {
    search_title() = "Search and parallel runs" | "Suche und parallele Läufe";
    search_name() = "hyperparameter search" | "Hyperparametersuche";
    search_none() = "not measured: these results hold no trials of a search" | "nicht gemessen: diese Ergebnisse enthalten keine Versuche einer Suche";
    search_unmeasured() = "not measured" | "nicht gemessen";
    search_absent(runs) = "Hyperparameter search: not measured. All {runs} of these results are planned cells; none is a trial that a search proposed, and none was pruned." | "Hyperparametersuche: nicht gemessen. Alle {runs} dieser Ergebnisse sind geplante Zellen; keiner ist ein Versuch, den eine Suche vorschlug, und keiner wurde vorzeitig verworfen.";
    search_pruned(pruned, runs, wall) = "{pruned} of {runs} were pruned; they took {wall} of wall time in all, which is counted in the cost." | "{pruned} von {runs} wurden vorzeitig verworfen; sie dauerten zusammen {wall}, die in den Kosten mitgezählt sind.";
    search_alone() = "Parallel runs: not measured. Every run had the machine to itself, so that its times mean something; “fieldtrial run --jobs 2” makes runs side by side, and this section then has their makespan and efficiency." | "Parallele Läufe: nicht gemessen. Jeder Lauf hatte die Maschine für sich, damit seine Zeiten aussagekräftig sind; mit „fieldtrial run --jobs 2“ laufen sie nebeneinander, und dieser Abschnitt nennt dann ihre Gesamtdauer und Auslastung.";
    search_no_start() = "Parallel runs: not measured. Runs shared the machine, but their starts are not in the results." | "Parallele Läufe: nicht gemessen. Läufe teilten sich die Maschine, aber ihre Anfänge stehen nicht in den Ergebnissen.";
    search_of_trials() = "The trials of each search, by session: regret runs, ensemble and final training are not among them. Makespan is from the first start to the last end; core time is wall time × the cores that a run kept from others, of which runs side by side have parts while their threads are more than the cores; efficiency is core time ÷ (cores × makespan)." | "Die Versuche jeder Suche, je Sitzung; vollständig wiederholte Versuche, Ensemble und Abschlusstraining zählen nicht dazu. Die Gesamtdauer reicht vom ersten Start bis zum letzten Ende; die Kernzeit ist die Dauer × die Kerne, die ein Lauf anderen vorenthielt, von denen Läufe nebeneinander Teile haben, solange ihre Threads mehr sind als die Kerne; die Auslastung ist Kernzeit ÷ (Kerne × Gesamtdauer).";
    search_time_title() = "Time of the search" | "Dauer der Suche";
    search_makespan_name() = "hyperparameter search, makespan" | "Hyperparametersuche, Gesamtdauer";
    search_once() = "n = 1 on each side" | "n = 1 auf jeder Seite";
    search_nth(count) = "session {count}" | "Sitzung {count}";
    search_whole() = "all" | "alle";
    search_about() = "Runs that shared the machine, by side and session. Makespan is from the first start to the last end; core time is wall time × the cores that a run kept from others, of which runs side by side have parts while their threads are more than the cores; efficiency is core time ÷ (cores × makespan)." | "Läufe, die sich die Maschine teilten, je Seite und Sitzung. Die Gesamtdauer reicht vom ersten Start bis zum letzten Ende; die Kernzeit ist die Dauer × die Kerne, die ein Lauf anderen vorenthielt, von denen Läufe nebeneinander Teile haben, solange ihre Threads mehr sind als die Kerne; die Auslastung ist Kernzeit ÷ (Kerne × Gesamtdauer).";
    search_side() = "side" | "Seite";
    search_session() = "session" | "Sitzung";
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
}

/// The row of the search in a table of figures: measured where both sides are searches.
pub(crate) fn row(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Row {
    let words = scene.words;
    let makespan = |view: &View<'_>| Some(whole(&Search::of(view)?)?.makespan_s);
    let values = [makespan(&scene.before), makespan(&scene.after)];
    // One result along an axis is one search, which has no two sides.
    if scene.comparison.along.is_none() && values.iter().any(Option::is_some) {
        let shown = |value: Option<f64>| {
            value.map_or_else(
                || Entry::text(words.search_unmeasured()),
                |value| Entry::value(value, words.seconds(value)),
            )
        };
        return plain_row(
            scene,
            duo,
            words.search_makespan_name(),
            values,
            shown,
            words.search_once(),
        );
    }
    Row {
        key: duo.pair.after.clone(),
        fields: heads(scene, duo, words.search_name()),
        missing: Some(words.search_none()),
    }
}

/// The section.
pub(crate) fn section(scene: &Scene<'_>) -> Section {
    let words = scene.words;
    let mut section = Section::titled("search", words.search_title());
    let sides = views(scene);
    let is_search = sides.iter().any(|(_, view)| Search::of(view).is_some());
    if is_search {
        outcome::add(scene, &sides, &mut section);
    }
    let runs: Vec<&BlockRow> = sides
        .iter()
        .flat_map(|(_, view)| &view.set.blocks)
        .collect();
    if !is_search {
        section.points.push(pruned(words, &runs));
        if runs.iter().all(|run| run.exclusive) {
            section.points.push(words.search_alone());
            return section;
        }
    }
    let rows: Vec<Row> = sides
        .iter()
        .flat_map(|(name, view)| time_rows(words, name, view))
        .collect();
    if rows.is_empty() {
        section.points.push(words.search_no_start());
        return section;
    }
    let (title, about) = if is_search {
        (words.search_time_title(), words.search_of_trials())
    } else {
        // The table has the heading then.
        section.title = String::new();
        (words.search_title(), words.search_about())
    };
    let naming = ("parallel", title, about);
    let table = super::rows::plain(naming, columns(words), rows);
    section.tables.push(table);
    section
}

/// The results that are looked at, each once: both sides of one result are the same.
fn views<'v, 'a>(scene: &'v Scene<'a>) -> Vec<(String, &'v View<'a>)> {
    if scene.comparison.along.is_some() {
        return vec![("–".to_owned(), &scene.after)];
    }
    vec![
        (scene.words.before(), &scene.before),
        (scene.words.after(), &scene.after),
    ]
}

fn pruned(words: Words, runs: &[&BlockRow]) -> String {
    let pruned: Vec<&&BlockRow> = runs
        .iter()
        .filter(|run| run.status == Status::Pruned)
        .collect();
    let all = words.search_run_count(words.count(runs.len()));
    if pruned.is_empty() {
        return words.search_absent(all);
    }
    let wall: f64 = pruned.iter().filter_map(|run| wall_s(run)).sum();
    words.search_pruned(words.count(pruned.len()), all, words.seconds(wall))
}

/// The trials of a search, else the runs that shared the machine: a row for each session, and one for all of several.
fn time_rows(words: Words, side: &str, view: &View<'_>) -> Vec<Row> {
    let search = Search::of(view);
    let runs: Vec<&BlockRow> = match &search {
        Some(search) => search
            .trials()
            .flat_map(|trial| trial.cell.blocks.clone())
            .collect(),
        None => view
            .set
            .blocks
            .iter()
            .filter(|run| !run.exclusive)
            .collect(),
    };
    let sessions: Vec<Together> = sessions(view, runs.into_iter());
    let named = sessions.iter().enumerate();
    let mut rows: Vec<Row> = named
        .map(|(place, found)| {
            fields(
                words,
                side,
                &words.search_nth(words.count(place + 1)),
                *found,
            )
        })
        .collect();
    let all = sessions.iter().copied().reduce(|one, next| one.and(&next));
    if let Some(all) = all.filter(|_| search.is_some() && sessions.len() > 1) {
        rows.push(fields(words, side, &words.search_whole(), all));
    }
    rows
}

fn columns(words: Words) -> Vec<Column> {
    let counted = Provenance::Measured(words.search_counted());
    let clock = Provenance::Measured(words.search_clock());
    let derived = Provenance::Derived(words.search_derived());
    vec![
        Column::text(&words.search_side()),
        Column::text(&words.search_session()),
        words.column(words.search_runs(), "", &counted),
        words.column(words.search_at_once(), "", &clock),
        words.column(words.search_makespan(), "", &clock),
        words.column(words.search_sum(), "", &clock),
        words.column(words.search_core(), "", &derived),
        words.column(words.search_efficiency(), "", &derived),
    ]
}

fn fields(words: Words, side: &str, session: &str, found: Together) -> Row {
    let seconds = |value: f64| Entry::value(value, words.seconds(value));
    let count = |value: usize| Entry::value(value as f64, words.count(value));
    let core_seconds = |value: f64| words.core_seconds(words.number(value, 3));
    let efficiency = found.efficiency().map(|share| share * 100.0);
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(side),
            Entry::text(session),
            count(found.runs),
            count(found.at_once),
            seconds(found.makespan_s),
            seconds(found.sum_s),
            Entry::shown(found.core_s.map(|(had, _)| had), core_seconds),
            Entry::shown(efficiency, |percent| words.percent(percent / 100.0)),
        ],
        missing: None,
    }
}
