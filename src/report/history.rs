//! Pages and sentences about the times of all commits: [`render_history`], [`HistoryEvent`].

use std::path::{Path, PathBuf};

use minijinja::value::{Serde, Value};

use crate::base::statistics::median;
use crate::base::text::{count, kebab_case};
use crate::base::units::human;
use crate::compare::{CellHistory, History, HistoryPoint, SESSIONS_FOR_A_CHANGE, Shift};
use crate::plan::COMPARISON;
use crate::results::{Environment, grouped};

use super::comparison::{ComparisonReport, Labels, Part};
use super::language::Words;
use super::plot::{Point, PointPlot, SERIES, Series};
use super::section::Section;
use super::sections::plots::PlotContext;
use super::table::{Column, Entry, Row, Table};
use super::{Provenance, ReportError, plot, template, tidy};

/// What the pages and plots are called.
pub(super) const HISTORY: &str = "history";
/// Sentences of an answer, and lines into a plot, at most.
const MOST: usize = 6;

/// A change or a blip of a cell.
#[derive(Debug, Clone, Copy)]
pub struct HistoryEvent<'a> {
    /// The cell.
    pub cell: &'a CellHistory,
    /// The change, or the blip.
    pub shift: Shift,
    is_blip: bool,
}

impl<'a> HistoryEvent<'a> {
    /// Everything that was found in a history, in the order of sessions.
    pub fn all(history: &'a History) -> Vec<Self> {
        let of_cell = |cell: &'a CellHistory| {
            let event = move |is_blip| {
                move |shift: &Shift| Self {
                    cell,
                    shift: *shift,
                    is_blip,
                }
            };
            let changes = cell.changes.iter().map(event(false));
            changes.chain(cell.blips.iter().map(event(true)))
        };
        let mut all: Vec<Self> = history.cells.iter().flat_map(of_cell).collect();
        all.sort_by_key(|event| event.shift.session);
        all
    }

    /// What is told in one sentence: session, direction, whether it lasts.
    fn group(&self) -> (usize, bool, bool) {
        let is_slower = self.shift.ratio() > 1.0;
        (self.shift.session, is_slower, self.is_blip)
    }

    /// `15 % slower from here on`.
    fn what(&self) -> String {
        format!("{} % {}", self.percent(), self.how())
    }

    fn percent(&self) -> String {
        human((self.shift.ratio() - 1.0).abs() * 100.0, 2)
    }

    /// `slower from here on`.
    fn how(&self) -> &'static str {
        match (self.shift.ratio() > 1.0, self.is_blip) {
            (true, true) => "slower in this session only",
            (true, false) => "slower from here on",
            (false, true) => "faster in this session only",
            (false, false) => "faster from here on",
        }
    }

    /// `hidden 128: 15 % slower from here on (1.24 µs → 1.43 µs per sample, p < 0.001)`.
    pub fn sentence(&self) -> String {
        let Shift {
            before_ms,
            after_ms,
            p,
            ..
        } = self.shift;
        let (before, after) = (duration(before_ms), duration(after_ms));
        let times = if self.is_blip {
            format!("{after}, around it {before}")
        } else {
            format!("{before} → {after}")
        };
        let (label, what, per) = (&self.cell.label, self.what(), per(self.cell));
        let p = Words::default().p_value(p);
        format!("{label}: {what} ({times} {per}, {p})")
    }
}

/// Events of one session and direction, with their commit; of several cells the range of their sizes.
fn alike_sentence(history: &History, events: &[&HistoryEvent<'_>]) -> String {
    let commit = commit(history, events[0].shift.session);
    if let [one] = events {
        return format!("{commit}, {}.", one.sentence());
    }
    let size = |event: &&HistoryEvent<'_>| (event.shift.ratio() - 1.0).abs();
    let mut sorted = events.to_vec();
    sorted.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let (least, most) = (sorted[0].percent(), sorted[sorted.len() - 1].percent());
    let labels: Vec<String> = events
        .iter()
        .map(|event| event.cell.label.clone())
        .collect();
    format!(
        "{commit}: {} {least} to {most} % {}: {}.",
        count(events.len(), "cell"),
        events[0].how(),
        Words::default().listed(&labels, MOST)
    )
}

/// What was found in a history as a whole, in a sentence or two.
pub fn history_summary(history: &History) -> String {
    let cells = count(history.cells.len(), "cell");
    let most = most_sessions(history);
    if most < SESSIONS_FOR_A_CHANGE {
        let sessions = count(most, "session");
        return format!(
            "{sessions} of a cell: changes can be found from {SESSIONS_FOR_A_CHANGE} on."
        );
    }
    let number = |of: fn(&CellHistory) -> bool| {
        let found = history.cells.iter().filter(|cell| of(cell));
        found.count()
    };
    let changed = number(|cell| !cell.changes.is_empty());
    let apart = number(|cell| !cell.blips.is_empty());
    let short = number(|cell| cell.points.len() < SESSIONS_FOR_A_CHANGE);
    let mut text = format!("Of {cells}, {changed} changed lastingly");
    if apart > 0 {
        text += &format!(", and {apart} had a session apart from the others");
    }
    if short > 0 {
        text +=
            &format!("; {short} had too few sessions to tell ({SESSIONS_FOR_A_CHANGE} are needed)");
    }
    text + "."
}

/// Most sessions of a cell.
pub fn most_sessions(history: &History) -> usize {
    let sessions = history.cells.iter().map(|cell| cell.points.len());
    sessions.max().unwrap_or_default()
}

/// `quickstart on AMD EPYC, 2 cores, release build`.
pub fn history_title(history: &History) -> String {
    format!("{} on {}", history.name, machine(&history.environment))
}

/// `AMD EPYC, 2 cores, release build`.
pub fn machine(environment: &Environment) -> String {
    let field = |name: &str| environment.must_match.get(name).cloned();
    let cpu = field("cpu_model").unwrap_or_else(|| "an unknown processor".to_owned());
    let cores = field("logical_cores").and_then(|text| text.parse().ok());
    let cores = cores.map(|cores: usize| format!(", {}", count(cores, "core")));
    let build = field("build_profile").map(|profile| format!(", {profile} build"));
    format!(
        "{cpu}{}{}",
        cores.unwrap_or_default(),
        build.unwrap_or_default()
    )
}

/// Milliseconds in a suitable unit: `58.1 ms`, `1.24 µs`.
pub fn duration(milliseconds: f64) -> String {
    let (value, unit) = if milliseconds >= 1e3 {
        (milliseconds / 1e3, "s")
    } else if milliseconds >= 0.1 {
        (milliseconds, "ms")
    } else {
        (milliseconds * 1e3, "µs")
    };
    format!("{} {unit}", human(value, 3))
}

fn per(cell: &CellHistory) -> &'static str {
    if cell.is_whole_run {
        "per run"
    } else {
        "per sample"
    }
}

/// `1a2b3c4d (2026-11-28, “One pass over the rows”)`.
fn commit(history: &History, session: usize) -> String {
    let commit = &history.sessions[session].commit;
    let (hash, day, subject) = (short(&commit.hash), &commit.day, &commit.subject);
    format!("{hash} ({day}, “{subject}”)")
}

/// The first letters of a commit.
pub fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// Writes `history.md` and `history.html` with their plots into `folder`, and returns every file that belongs to them. The
/// same histories give the same bytes.
///
/// # Errors
/// [`ReportError`]; files that were there before are then still whole.
pub fn render_history(histories: &[History], folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let report = page(histories);
    let engine = template::engine(None);
    let context = Value::from(Serde(&report));
    let mut files = Vec::new();
    // A page of the same structure: parts with an answer, a figure, a table and details.
    for format in template::FORMATS {
        let text = template::render(&engine, &format!("{COMPARISON}.{format}.j2"), &context)?;
        let text = if format == "md" { tidy(&text) } else { text };
        files.push((folder.join(format!("{HISTORY}.{format}")), text));
    }
    for drawing in report.plots() {
        let path = folder.join("plots").join(format!("{}.svg", drawing.id));
        files.push((path, plot::standalone(&drawing.svg)));
    }
    super::write_all(folder, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn page(histories: &[History]) -> ComparisonReport {
    let words = Words::default();
    let labels = Labels {
        sections: words.section_list(),
        answer: words.answer_title(),
        details: words.details_title(),
        warnings: words.warnings(),
    };
    let name = match histories {
        [one] => history_title(one),
        all => count(all.len(), "history"),
    };
    let parts = histories.iter().enumerate();
    let mut parts: Vec<Part> = parts.map(|(place, history)| part(place, history)).collect();
    if let [one] = &mut *parts {
        one.title = String::new();
    }
    ComparisonReport {
        language: "en".to_owned(),
        title: format!("Times of all commits: {name}"),
        name,
        question: "At which commit did times change?".to_owned(),
        labels,
        parts,
        written_by: format!(
            "Written by Fieldtrial {} from the committed results of every commit.",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

fn part(place: usize, history: &History) -> Part {
    let id = format!("{}-{}", kebab_case(&history.name), place + 1);
    let (first, last) = (history.sessions.first(), history.sessions.last());
    let days = first.zip(last).map(|(first, last)| {
        let (first, last) = (&first.commit.day, &last.commit.day);
        format!(", committed from {first} to {last}")
    });
    let sessions = count(history.sessions.len(), "session");
    let events = HistoryEvent::all(history);
    let alike = grouped(&events, |event| event.group());
    let mut answer = vec![history_summary(history)];
    let told = alike.iter().take(MOST);
    answer.extend(told.map(|alike| alike_sentence(history, alike)));
    if alike.len() > MOST {
        answer.push("The table has all changes and blips.".to_owned());
    }
    Part {
        title: history_title(history),
        intro: vec![format!(
            "{} in {sessions}{}.",
            count(history.cells.len(), "cell"),
            days.unwrap_or_default()
        )],
        warnings: Vec::new(),
        answer,
        figures: figure(&id, history).into_iter().collect(),
        decision: (!events.is_empty()).then(|| changes(&id, history, &events)),
        sections: vec![cells(&id, history), sessions_of(&id, history), method(&id)],
        id,
    }
}

/// Times over sessions, of cells in which something was found, else of the first ones.
fn figure(id: &str, history: &History) -> Option<PlotContext> {
    let is_told = |cell: &&CellHistory| !cell.changes.is_empty() || !cell.blips.is_empty();
    let several = || history.cells.iter().filter(|cell| cell.points.len() > 1);
    let (told, others): (Vec<_>, Vec<_>) = several().partition(is_told);
    let shown = if told.is_empty() { others } else { told };
    let all = if shown.iter().any(is_told) {
        "cells with a change or a blip"
    } else {
        "cells"
    };
    let series = shown.iter().take(SERIES).filter_map(|cell| {
        let times: Vec<f64> = cell.points.iter().map(|point| point.ms).collect();
        let middle = median(&times)?;
        let point = |point: &HistoryPoint| Point {
            x: point.session as f64 + 1.0,
            y: point.ms / middle,
            about: format!("{}: {}", commit(history, point.session), duration(point.ms)),
            ..Point::default()
        };
        Some(Series::of(&cell.label, cell.points.iter().map(point)))
    });
    let series: Vec<Series> = series.collect();
    if series.is_empty() {
        return None;
    }
    let changes = shown.iter().take(SERIES).flat_map(|cell| &cell.changes);
    let mut sessions: Vec<usize> = changes.map(|change| change.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let guide = |session: &usize| {
        let hash = short(&history.sessions[*session].commit.hash);
        (*session as f64 + 1.0, hash.to_owned())
    };
    let caption = format!(
        "Median time of each session divided by the median over the sessions of its cell; {} of {} {all}. Dashed lines: the \
         first session after a change, with its commit.",
        series.len(),
        shown.len()
    );
    let drawing = PointPlot {
        is_joined: true,
        about: format!("Time over sessions, {}", history_title(history)),
        x_label: "session".to_owned(),
        y_label: "time ÷ median of the cell".to_owned(),
        series,
        guides: sessions.iter().take(MOST).map(guide).collect(),
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: format!("{HISTORY}-{id}"),
        title: "Time over sessions".to_owned(),
        caption,
        svg: drawing.draw(),
    })
}

fn changes(id: &str, history: &History, events: &[HistoryEvent<'_>]) -> Section {
    let mean =
        Provenance::Derived("geometric mean over sessions; of a blip itself its median".into());
    let p = Provenance::Derived("two-sided".into());
    let columns = vec![
        Column::text("commit"),
        Column::text("cell"),
        Column::text("what"),
        Column::number("before", "", &mean),
        Column::number("after", "", &mean),
        Column::number("p", "", &p),
    ];
    let row = |event: &HistoryEvent<'_>| {
        let commit = &history.sessions[event.shift.session].commit;
        let time = |ms: f64| Entry::value(ms, format!("{} {}", duration(ms), per(event.cell)));
        let about = format!("{} {}", commit.day, commit.subject);
        let fields = vec![
            Entry::detailed(short(&commit.hash), about),
            Entry::text(&*event.cell.label),
            Entry::text(event.what()),
            time(event.shift.before_ms),
            time(event.shift.after_ms),
            Entry::value(event.shift.p, Words::default().p(event.shift.p)),
        ];
        Row::new("", fields)
    };
    let rows = events.iter().map(row).collect();
    let about =
        "The commit is the first one that has the times of the session; its code may be older.";
    let name = format!("decision-{id}");
    let naming = (&*name, "Changes and blips", about.to_owned());
    Section::judged(Table::of_rows(naming, columns, rows), "", Vec::new())
}

fn cells(id: &str, history: &History) -> Section {
    let session = Provenance::Measured("median over the runs of a session".into());
    let counted = Provenance::Derived("count".into());
    let least = Provenance::Assumed("[compare] threshold, noise.csv, else 2 %".into());
    let columns = vec![
        Column::text("cell"),
        Column::count("sessions", &counted),
        Column::number("first", "", &session),
        Column::number("newest", "", &session),
        Column::number("smallest difference that matters", "", &least),
        Column::count("changes", &counted),
        Column::count("blips", &counted),
    ];
    let row = |cell: &CellHistory| {
        let time =
            |point: Option<&HistoryPoint>| Entry::shown(point.map(|point| point.ms), duration);
        let threshold = cell.threshold.value;
        let fields = vec![
            Entry::text(&*cell.label),
            Entry::count(cell.points.len()),
            time(cell.points.first()),
            time(cell.points.last()),
            Entry::value(threshold, Words::default().percent(threshold)),
            Entry::count(cell.changes.len()),
            Entry::count(cell.blips.len()),
        ];
        Row::new("", fields)
    };
    let rows = history.cells.iter().map(row).collect();
    let name = format!("cells-{id}");
    let naming = (&*name, "Cells", String::new());
    Section::judged(Table::of_rows(naming, columns, rows), "", Vec::new())
}

fn sessions_of(id: &str, history: &History) -> Section {
    let rows = history.sessions.iter().zip(1..).map(|(session, number)| {
        let (id, commit) = (&session.id, &session.commit);
        let id = if id.is_empty() { "not recorded" } else { id };
        let hash = short(&commit.hash).to_owned();
        let (day, subject) = (commit.day.clone(), commit.subject.clone());
        vec![format!("{number}"), id.to_owned(), hash, day, subject]
    });
    let headings = ["", "begun", "first commit with it", "day", "subject"];
    let name = format!("sessions-{id}");
    let naming = (&*name, "Sessions", String::new());
    let table = Table::of_texts(naming, &headings, rows);
    Section::judged(table, "", Vec::new())
}

fn method(id: &str) -> Section {
    let points = [
        "A point is the median over the runs of a cell in one session, of the time per sample, or per run for programs that tell \
         no steps. A commit that measured nothing again adds no point.",
        "Points of other machines, builds, work per sample, precision or threads are other series.",
        "Changes: E-divisive in windows of 50 sessions proposes them, Student’s t-test on logarithms keeps those with p < 0.001 \
         divided by the number of cells, at least 3 sessions on either side, and a difference that matters (Hunter, arXiv \
         2301.03034).",
        "Blips: a session whose deleted residual has p < 0.01 divided by the number of cells, and whose neighbours lie less than \
         half as far away; p is multiplied by the number of sessions.",
        "Sessions of one machine differ by more than runs of one session: `fieldtrial ab --aa` measures by how much.",
    ];
    Section::titled(&format!("method-{id}"), "How changes are found")
        .saying(points.map(str::to_owned).into())
}
