//! Sentences and the page about the times of all commits: [`history_sentences`], [`render_history`].

mod page;

use std::fmt::Write;

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{CellHistory, History, SESSIONS_FOR_A_CHANGE, Shift};
use crate::results::{Environment, grouped};

use super::language::Words;
pub use page::render_history;

/// Largest number of sentences in an answer, names in a sentence, and lines in a plot.
const MOST: usize = 6;
/// A change or a blip of a cell.
struct Event<'a> {
    cell: &'a CellHistory,
    shift: &'a Shift,
    is_blip: bool,
}

/// All changes and blips of a history, in the order of sessions.
fn events(history: &History) -> Vec<Event<'_>> {
    let mut all = Vec::new();
    for cell in &history.cells {
        for (shifts, is_blip) in [(&cell.changes, false), (&cell.blips, true)] {
            all.extend(shifts.iter().map(|shift| Event {
                cell,
                shift,
                is_blip,
            }));
        }
    }
    all.sort_by_key(|event| event.shift.session);
    all
}

impl Event<'_> {
    fn percent(&self) -> String {
        human((self.shift.ratio() - 1.0).abs() * 100.0, 2)
    }

    fn how(&self) -> &'static str {
        match (self.shift.ratio() > 1.0, self.is_blip) {
            (true, true) => "slower in this session only",
            (true, false) => "slower from here on",
            (false, true) => "faster in this session only",
            (false, false) => "faster from here on",
        }
    }

    fn time(&self, ms: f64) -> String {
        let per = if self.cell.is_whole_run {
            "run"
        } else {
            "sample"
        };
        format!("{} per {per}", duration(ms))
    }
}

/// Findings in a history, in the order of sessions: the index of the session, and a sentence on the cells that became
/// slower or faster from that session on, or only in it.
pub fn history_sentences(history: &History) -> Vec<(usize, String)> {
    let group = |event: &Event<'_>| (event.shift.session, event.how());
    let groups = grouped(events(history), group).into_iter();
    let sentence = |mut alike: Vec<Event<'_>>| {
        let session = alike[0].shift.session;
        let labels: Vec<String> = alike.iter().map(|event| event.cell.label.clone()).collect();
        alike.sort_by(|a, b| a.shift.ratio().total_cmp(&b.shift.ratio()));
        let (first, last) = (&alike[0], &alike[alike.len() - 1]);
        let (shift, how) = (first.shift, first.how());
        let sentence = if alike.len() == 1 {
            let (before, after) = (first.time(shift.before_ms), first.time(shift.after_ms));
            let [percent, p] = [first.percent(), Words::default().p_value(shift.p)];
            format!(
                "{}: {percent} % {how} ({before} → {after}, {p}).",
                labels[0]
            )
        } else {
            let cells = count(alike.len(), "cell");
            let (one, other) = (first.percent(), last.percent());
            let labels = Words::default().listed(&labels, MOST);
            format!("{cells} {one} to {other} % {how}: {labels}.")
        };
        (session, sentence)
    };
    groups.map(sentence).collect()
}

/// Findings in a history as a whole, in a sentence.
pub fn history_summary(history: &History) -> String {
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
    let cells = count(history.cells.len(), "cell");
    let mut text = format!("Of {cells}, {changed} changed lastingly");
    if apart > 0 {
        let _ = write!(text, ", and {apart} had a session apart from the others");
    }
    if short > 0 {
        let _ = write!(
            text,
            "; {short} had fewer than {SESSIONS_FOR_A_CHANGE} sessions"
        );
    }
    text + "."
}

/// Largest number of sessions of any cell.
pub fn most_sessions(history: &History) -> usize {
    let sessions = history.cells.iter().map(|cell| cell.points.len());
    sessions.max().unwrap_or_default()
}

/// Title of a history: `quickstart on AMD EPYC, 2 cores, release build`; for an earlier machine or build, followed by
/// the fields in which it differs from the newest.
pub fn history_title(history: &History) -> String {
    let fields = history.differing.iter();
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let differing = match &*fields {
        [] => String::new(),
        fields => format!(" ({})", fields.join(", ")),
    };
    format!(
        "{} on {}{differing}",
        history.name,
        environment_summary(&history.environment)
    )
}

/// An environment in short: `AMD EPYC, 2 cores, release build`.
pub fn environment_summary(environment: &Environment) -> String {
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

/// A duration, given in milliseconds, in a suitable unit: `58.1 ms`, `1.24 µs`.
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

/// The times of a cell in its first and in its newest session; empty without sessions.
pub fn first_and_newest(cell: &CellHistory) -> [String; 2] {
    let ends = [cell.points.first(), cell.points.last()];
    ends.map(|point| point.map_or_else(String::new, |point| duration(point.ms)))
}

/// The commit of a session, in words: `2026-11-28 1a2b3c4d One pass over the rows`.
pub fn history_commit(history: &History, session: usize) -> String {
    let commit = &history.sessions[session].commit;
    format!("{} {} {}", commit.day, commit.short(), commit.subject)
}
