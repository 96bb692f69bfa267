//! The page of `fieldtrial history`: an answer, a plot and tables for each result over the commits, rendered with the
//! template of comparisons.

use std::path::{Path, PathBuf};

use minijinja::value::{Serde, Value};

use crate::base::statistics::median;
use crate::base::text::{count, kebab_case};
use crate::compare::{CellHistory, History, HistoryPoint, Shift};
use crate::plan::COMPARISON_TEMPLATE;
use crate::report::comparison::{ComparisonReport, Labels, Part};
use crate::report::language::Words;
use crate::report::plot::{MAX_SERIES, Point, PointPlot, Series};
use crate::report::section::Section;
use crate::report::sections::plots::PlotContext;
use crate::report::table::Table;
use crate::report::write::{self, HISTORY};
use crate::report::{ReportError, template};

use super::{
    MOST, duration, events, first_and_newest, history_commit, history_sentences, history_summary,
    history_title,
};

/// Largest number of sessions for which each has a tick of its own.
const TICKS: usize = 12;

/// Writes `history.md` and `history.html` with their plots into `folder`, and returns every file of them. The same
/// histories give the same bytes.
///
/// # Errors
/// [`ReportError`]; then existing files are unchanged.
pub fn render_history(histories: &[History], folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let report = page(histories);
    let engine = template::engine(None);
    let context = Value::from(Serde(&report));
    let mut files = Vec::new();
    for format in template::FORMATS {
        let text = write::page(None, &engine, (COMPARISON_TEMPLATE, format), &context)?;
        files.push((folder.join(format!("{HISTORY}.{format}")), text));
    }
    files.extend(write::plot_files(folder, report.plots()));
    write::write_all(folder, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn page(histories: &[History]) -> ComparisonReport {
    let parts = histories.iter().zip(1..);
    let mut parts: Vec<Part> = parts
        .map(|(history, number)| part(number, history))
        .collect();
    if let Some(last) = parts.last_mut() {
        last.sections.push(method());
    }
    let mut name = count(histories.len(), "history");
    if let [one] = &mut *parts {
        name = std::mem::take(&mut one.title);
    }
    ComparisonReport {
        language: "en".to_owned(),
        title: format!("Times of all commits: {name}"),
        name,
        question: "At which commit did times change?".to_owned(),
        labels: Labels::of(Words::default()),
        parts,
        written_by: format!(
            "Written by Fieldtrial {} from the committed results of every commit.",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

fn part(number: usize, history: &History) -> Part {
    let id = format!("{}-{number}", kebab_case(&history.name));
    let cells = count(history.cells.len(), "cell");
    let sessions = count(history.sessions.len(), "session");
    let sentences = history_sentences(history).into_iter();
    let sentences = sentences.map(|(at, text)| format!("{}: {text}", history_commit(history, at)));
    let sections = [
        changes(&id, history),
        cells_of(&id, history),
        sessions_of(&id, history),
    ];
    Part {
        title: history_title(history),
        intro: vec![format!("{cells} in {sessions}.")],
        warnings: Vec::new(),
        answer: [history_summary(history)]
            .into_iter()
            .chain(sentences.take(MOST))
            .collect(),
        figures: figure(&id, history).into_iter().collect(),
        decision: None,
        sections: sections
            .into_iter()
            .filter(|section| !section.is_empty())
            .collect(),
        id,
    }
}

/// Plot of times over sessions, for cells with changes or blips, else for the first cells.
fn figure(id: &str, history: &History) -> Option<PlotContext> {
    let is_told = |cell: &&CellHistory| !cell.changes.is_empty() || !cell.blips.is_empty();
    let several = history.cells.iter().filter(|cell| cell.points.len() > 1);
    let (told, others): (Vec<_>, Vec<_>) = several.partition(is_told);
    let (shown, which) = if told.is_empty() {
        (others, "cells")
    } else {
        (told, "cells with a change or a blip")
    };
    let series = shown.iter().take(MAX_SERIES).filter_map(|cell| {
        let times: Vec<f64> = cell.points.iter().map(|point| point.ms).collect();
        let middle = median(&times)?;
        let point = |point: &HistoryPoint| Point {
            x: point.session as f64 + 1.0,
            y: point.ms / middle,
            about: format!(
                "{}: {}",
                history_commit(history, point.session),
                duration(point.ms)
            ),
            ..Point::default()
        };
        Some(Series::of(&cell.label, cell.points.iter().map(point)))
    });
    let series: Vec<Series> = series.collect();
    if series.is_empty() {
        return None;
    }
    let changes = shown.iter().take(MAX_SERIES).flat_map(|cell| &cell.changes);
    let mut sessions: Vec<usize> = changes.map(|change| change.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let guide = |session: &usize| {
        let commit = &history.sessions[*session].commit;
        (*session as f64 + 1.0, commit.short().to_owned())
    };
    let drawing = PointPlot {
        is_joined: true,
        about: format!("Time over sessions, {}", history_title(history)),
        x_label: "session".to_owned(),
        x_settings: history.sessions.len() <= TICKS,
        y_label: "time ÷ median of the cell".to_owned(),
        guides: sessions.iter().take(MOST).map(guide).collect(),
        series,
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: format!("{HISTORY}-{id}"),
        title: "Time over sessions".to_owned(),
        caption: format!(
            "Median time of each session divided by the median over the sessions of its cell; {} of {} {which}. Dashed: the first \
             session after a change, with its commit.",
            drawing.series.len(),
            shown.len()
        ),
        svg: drawing.draw(),
    })
}

/// A section that consists of one table of texts.
fn section(
    (id, title, about): (String, &str, &str),
    headings: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> Section {
    let table = Table::of_texts((&id, title, about.to_owned()), headings, rows);
    Section::of_table_and_rule(table, "", Vec::new())
}

fn changes(id: &str, history: &History) -> Section {
    let about = "Times are geometric means over the sessions on either side, of a blip itself its median (derived); p-values are \
        two-sided. The commit is the first one that has the times of the session; its code may be older.";
    let events = events(history);
    let rows = events.iter().map(|event| {
        let Shift {
            session,
            before_ms,
            after_ms,
            p,
        } = *event.shift;
        vec![
            history_commit(history, session),
            event.cell.label.clone(),
            format!("{} % {}", event.percent(), event.how()),
            event.time(before_ms),
            event.time(after_ms),
            Words::default().p(p),
        ]
    });
    let headings = ["commit", "cell", "what", "before", "after", "p"];
    section(
        (format!("changes-{id}"), "Changes and blips", about),
        &headings,
        rows,
    )
}

fn cells_of(id: &str, history: &History) -> Section {
    let about = "Times are medians over the runs of a session (measured). A difference matters beyond [compare] threshold of the manifest, \
        noise.csv, else 2 %.";
    let rows = history.cells.iter().map(|cell| {
        let [first, newest] = first_and_newest(cell);
        vec![
            cell.label.clone(),
            cell.points.len().to_string(),
            first,
            newest,
            Words::default().percent(cell.threshold.value),
            cell.changes.len().to_string(),
            cell.blips.len().to_string(),
        ]
    });
    let headings = [
        "cell",
        "sessions",
        "first",
        "newest",
        "matters beyond",
        "changes",
        "blips",
    ];
    section((format!("cells-{id}"), "Cells", about), &headings, rows)
}

fn sessions_of(id: &str, history: &History) -> Section {
    let sessions = history.sessions.iter().enumerate();
    let rows = sessions.map(|(place, session)| {
        let number = (place + 1).to_string();
        vec![number, session.id.clone(), history_commit(history, place)]
    });
    let headings = ["", "session", "first commit with its times"];
    section((format!("sessions-{id}"), "Sessions", ""), &headings, rows)
}

fn method() -> Section {
    let points = [
        "A point is the median over the runs of a cell in one session, of the time per sample, or per run for programs that tell \
         no steps. A commit that measured nothing again adds no point.",
        "Points of other machines, builds, work per sample, precision or threads are other series.",
        "Changes: E-divisive in windows of 50 sessions proposes them, Student’s t-test on logarithms keeps those with p < 0.001 \
         divided by the number of cells, at least 3 sessions on either side, and a difference that matters (Hunter, arXiv \
         2301.03034).",
        "Blips: sessions whose deleted residual has p < 0.01 divided by the number of cells, and whose neighbours lie less than \
         half as far away; p is multiplied by the number of sessions.",
        "Sessions of one machine differ by more than runs of one session: “fieldtrial ab --aa” measures by how much.",
    ];
    Section::titled("method", "How changes are found")
        .with_sentences(points.map(str::to_owned).into())
}
