//! Hyperparameter search and runs side by side: what these results can say of them.

use std::collections::BTreeMap;

use crate::report::comparison::context::Section;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::sections::cost::wall_s;
use crate::report::table::{Column, Entry, Row};
use crate::report::view::View;
use crate::results::{BlockRow, Status};

use super::rows::heads;

messages! {
    search_title() = "Search and parallel runs" | "Suche und parallele Läufe";
    search_name() = "hyperparameter search" | "Hyperparametersuche";
    search_none() = "not measured: these results hold no trials of a search" | "nicht gemessen: diese Ergebnisse enthalten keine Versuche einer Suche";
    search_unmeasured() = "not measured" | "nicht gemessen";
    search_why() = "these results hold no trials of a search" | "diese Ergebnisse enthalten keine Versuche einer Suche";
    search_absent(runs) = "Hyperparameter search: not measured. All {runs} of these results are planned cells; none is a trial that a search proposed, and none was pruned." | "Hyperparametersuche: nicht gemessen. Alle {runs} dieser Ergebnisse sind geplante Zellen; keiner ist ein Versuch, den eine Suche vorschlug, und keiner wurde vorzeitig verworfen.";
    search_pruned(pruned, runs, wall) = "{pruned} of {runs} were pruned; they took {wall} of wall time in all, which is counted in the cost." | "{pruned} von {runs} wurden vorzeitig verworfen; sie dauerten zusammen {wall}, die in den Kosten mitgezählt sind.";
    search_alone() = "Parallel runs: not measured. Every run had the machine to itself, so that its times mean something; “fieldtrial run --jobs 2” makes runs side by side, and this section then has their makespan and efficiency." | "Parallele Läufe: nicht gemessen. Jeder Lauf hatte die Maschine für sich, damit seine Zeiten aussagekräftig sind; mit „fieldtrial run --jobs 2“ laufen sie nebeneinander, und dieser Abschnitt nennt dann ihre Gesamtdauer und Auslastung.";
    search_no_start() = "Parallel runs: not measured. Runs shared the machine, but their starts are not in the results." | "Parallele Läufe: nicht gemessen. Läufe teilten sich die Maschine, aber ihre Anfänge stehen nicht in den Ergebnissen.";
    search_about() = "Runs that shared the machine, by side and session. Makespan is from the first start to the last end; the lower bound is the longer of the longest run and the sum of all ÷ the most at once; efficiency is that bound ÷ makespan." | "Läufe, die sich die Maschine teilten, je Seite und Sitzung. Die Gesamtdauer reicht vom ersten Start bis zum letzten Ende; die untere Schranke ist das Größere aus längstem Lauf und Summe aller ÷ größte Zahl gleichzeitiger; die Auslastung ist diese Schranke ÷ Gesamtdauer.";
    search_side() = "side" | "Seite";
    search_session() = "session" | "Sitzung";
    search_runs() = "runs" | "Läufe";
    search_at_once() = "at once, most" | "gleichzeitig, höchstens";
    search_makespan() = "makespan" | "Gesamtdauer";
    search_sum() = "sum of the runs" | "Summe der Läufe";
    search_bound() = "lower bound" | "untere Schranke";
    search_efficiency() = "efficiency" | "Auslastung";
    search_counted() = "rows of blocks.csv" | "Zeilen von blocks.csv";
    search_clock() = "start and wall time of each run" | "Start und Dauer jedes Laufs";
    search_derived() = "by the formula above" | "nach der Formel oben";
    search_run_count(count) = "{count} runs" | "{count} Läufe";
}

/// Runs of one session that shared the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shared {
    runs: usize,
    at_once: usize,
    makespan_s: f64,
    sum_s: f64,
    bound_s: f64,
}

/// The row of the search in a table of figures.
pub(crate) fn row(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Row {
    Row {
        key: duo.pair.after.clone(),
        fields: heads(scene, duo, scene.words.search_name()),
        missing: Some(scene.words.search_none()),
    }
}

/// The section.
pub(crate) fn section(scene: &Scene<'_>) -> Section {
    let words = scene.words;
    let mut section = Section::titled("search", words.search_title());
    let sides = views(scene);
    let runs: Vec<&BlockRow> = sides
        .iter()
        .flat_map(|(_, view)| &view.set.blocks)
        .collect();
    section.points.push(pruned(words, &runs));
    if runs.iter().all(|run| run.exclusive) {
        section.points.push(words.search_alone());
        return section;
    }
    let rows: Vec<Row> = sides
        .iter()
        .flat_map(|(name, view)| {
            let sessions = shared(view);
            let rows = sessions.into_iter();
            rows.map(|(session, found)| fields(words, name, &session, found))
                .collect::<Vec<Row>>()
        })
        .collect();
    if rows.is_empty() {
        section.points.push(words.search_no_start());
    } else {
        let naming = ("parallel", words.search_title(), words.search_about());
        section
            .tables
            .push(super::rows::plain(naming, columns(words), rows));
        section.title = String::new();
    }
    section
}

/// The results that are looked at, each once: both sides of one result are the same.
fn views<'v, 'a>(scene: &'v Scene<'a>) -> Vec<(String, &'v View<'a>)> {
    if scene.comparison.along.is_some() {
        return vec!["–".to_owned()]
            .into_iter()
            .map(|name| (name, &scene.after))
            .collect();
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

/// Runs that shared the machine, by session; runs without a start are left out.
fn shared(view: &View<'_>) -> Vec<(String, Shared)> {
    let mut sessions: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for run in view.set.blocks.iter().filter(|run| !run.exclusive) {
        if let (Some(session), Some(start), Some(wall)) = (&run.session, run.start_s, wall_s(run)) {
            sessions
                .entry(session)
                .or_default()
                .push((start, start + wall));
        }
    }
    let all = sessions.into_iter();
    all.map(|(session, spans)| (session.to_owned(), Shared::of(&spans)))
        .collect()
}

impl Shared {
    /// From starts and ends of at least one run.
    fn of(spans: &[(f64, f64)]) -> Self {
        let first = spans
            .iter()
            .map(|span| span.0)
            .fold(f64::INFINITY, f64::min);
        let last = spans
            .iter()
            .map(|span| span.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let longest = spans
            .iter()
            .map(|(start, end)| end - start)
            .fold(0.0, f64::max);
        let sum_s: f64 = spans.iter().map(|(start, end)| end - start).sum();
        let running = |at: f64| {
            spans
                .iter()
                .filter(move |(start, end)| *start <= at && at < *end)
        };
        let at_once = spans
            .iter()
            .map(|(start, _)| running(*start).count())
            .max()
            .unwrap_or(1);
        Self {
            runs: spans.len(),
            at_once: at_once.max(1),
            makespan_s: last - first,
            sum_s,
            bound_s: longest.max(sum_s / at_once.max(1) as f64),
        }
    }
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
        words.column(words.search_bound(), "", &derived),
        words.column(words.search_efficiency(), "", &derived),
    ]
}

fn fields(words: Words, side: &str, session: &str, found: Shared) -> Row {
    let seconds = |value: f64| Entry::value(value, words.seconds(value));
    let count = |value: usize| Entry::value(value as f64, words.count(value));
    let efficiency = found.bound_s / found.makespan_s;
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(side),
            Entry::text(session),
            count(found.runs),
            count(found.at_once),
            seconds(found.makespan_s),
            seconds(found.sum_s),
            seconds(found.bound_s),
            Entry::value(efficiency * 100.0, words.percent(efficiency)),
        ],
        missing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_runs_two_at_once() {
        let found = Shared::of(&[(0.0, 4.0), (0.0, 2.0), (2.0, 5.0), (4.0, 6.0)]);
        assert_eq!(
            found,
            Shared {
                runs: 4,
                at_once: 2,
                makespan_s: 6.0,
                sum_s: 11.0,
                bound_s: 5.5,
            }
        );
    }

    #[test]
    fn one_long_run_bounds_the_makespan() {
        let found = Shared::of(&[(0.0, 10.0), (0.0, 1.0), (1.0, 2.0)]);
        assert_eq!(
            (found.at_once, found.bound_s, found.makespan_s),
            (2, 10.0, 10.0)
        );
    }
}
