//! `fieldtrial history`: times of the committed results of every commit, and where they changed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::base::text::{count, wrapped};
use crate::compare::{CellHistory, Histories, History, SESSIONS_FOR_A_CHANGE};
use crate::plan::CellFilter;
use crate::report::{
    ReportError, first_and_newest, history_commit, history_sentences, history_summary,
    history_title, most_sessions, render_history,
};
use crate::results::grouped;

use super::output::{Stdout, print_failure};
use super::table::table;
use super::{Outcome, exit_code};
use crate::diag::Failure;

/// Longest line in characters.
const LINE: usize = 80;
/// Largest number of cells in a table.
const CELLS: usize = 20;

/// Show at which commits times changed, from the committed results of every commit
///
/// Reads `reports/NAME/blocks.csv` of every commit with git: each session is one point of a cell, on one machine and build.
/// Lasting changes and sessions apart from the others (blips) are told with their commit. Nothing is run and nothing is checked
/// out; results that are not committed do not count.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial history
  fieldtrial history quickstart --since main --only models.mlp.hidden=128
  fieldtrial history quickstart --out history

A change needs three sessions on either side of it: `fieldtrial compare` and `fieldtrial ab` answer for the newest commit.

Exit codes:
  0 success    2 a mistake in the input    4 no committed results with times")]
pub(super) struct HistoryArguments {
    /// Results, by their name under `reports/` or their folder; without it, all of the newest commit
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Begin with the results that this commit has
    #[arg(long, value_name = "REF")]
    since: Option<String>,
    /// Choose cells: AXIS=VALUE|VALUE,AXIS=VALUE
    #[arg(long, value_name = "CELLS")]
    only: Option<String>,
    /// Write `history.md` and `history.html` with plots there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn history(arguments: &HistoryArguments) -> Outcome {
    let only = arguments
        .only
        .as_deref()
        .map(CellFilter::parse)
        .transpose()?;
    let (name, since) = (arguments.name.as_deref(), arguments.since.as_deref());
    let found = Histories::read(name, since, only.as_ref())?;
    for why in &found.unreadable {
        eprintln!("note: left out: {why}");
    }
    if let Some(advice) = found.advice {
        eprintln!("note: {advice}");
    }
    if found.all.is_empty() {
        let title = "no commit has results with times".to_owned();
        print_failure(&Failure::without_source(title, None));
        return Ok(exit_code::NOTHING_TO_COMPARE);
    }
    let is_one = arguments.name.is_some();
    let is_short = |one: &&History| !is_one && most_sessions(one) < SESSIONS_FOR_A_CHANGE;
    let (few, told): (Vec<&History>, Vec<&History>) = found.all.iter().partition(is_short);
    let mut pages: Vec<String> = told.iter().map(|one| told_of(one)).collect();
    pages.extend(few_sessions(&few));
    if let Some(folder) = &arguments.out {
        let files = render_history(&found.all, folder).map_err(ReportError::into_failure)?;
        let written = files
            .iter()
            .find(|file| file.extension().is_some_and(|end| end == "html"));
        pages.extend(written.map(|page| format!("{}\n", page.display())));
    }
    Stdout::new().write_all(pages.join("\n").as_bytes())?;
    Ok(exit_code::GOOD)
}

/// The printed text of a history: title, changes by session, summary, table of cells.
fn told_of(history: &History) -> String {
    let sessions = count(history.sessions.len(), "session");
    let mut text = wrapped(&format!("{}: {sessions}", history_title(history)), LINE, 2) + "\n";
    for sentences in grouped(history_sentences(history), |(session, _)| *session) {
        let commit = format!("  {}", history_commit(history, sentences[0].0));
        let _ = writeln!(text, "\n{}", wrapped(&commit, LINE, 4));
        for (_, sentence) in sentences {
            let _ = writeln!(text, "{}", wrapped(&format!("    {sentence}"), LINE, 6));
        }
    }
    let summary = wrapped(&history_summary(history), LINE, 0);
    let _ = write!(text, "\n{summary}\n\n{}", cells(history));
    text
}

fn cells(history: &History) -> String {
    let row = |cell: &CellHistory| {
        let [first, newest] = first_and_newest(cell);
        let shown = |number: usize| match number {
            0 => "–".to_owned(),
            number => number.to_string(),
        };
        let [changes, blips] = [cell.changes.len(), cell.blips.len()].map(shown);
        let sessions = cell.points.len().to_string();
        [cell.label.clone(), sessions, first, newest, changes, blips]
    };
    let (current, earlier): (Vec<_>, Vec<_>) =
        history.cells.iter().partition(|cell| cell.is_current);
    let header = ["cell", "sessions", "first", "newest", "changes", "blips"];
    let mut text = table(
        header,
        current.iter().take(CELLS).map(|cell| row(cell)),
        1..=5,
    );
    let others = [
        (current.len().saturating_sub(CELLS), "more"),
        (earlier.len(), "of earlier work, conditions or axes"),
    ];
    let others = others.iter().filter(|(number, _)| *number > 0);
    let others: Vec<String> = others
        .map(|(number, which)| format!("{number} {which}"))
        .collect();
    if !others.is_empty() {
        let line = format!(
            "… {}: the page of `--out FOLDER` has all",
            others.join(", ")
        );
        let _ = writeln!(text, "{}", wrapped(&line, LINE, 2));
    }
    text
}

/// One sentence that lists all results with too few sessions to find a change; `None` without any.
fn few_sessions(few: &[&History]) -> Option<String> {
    let by_name = grouped(few.iter(), |one| &*one.name).into_iter();
    let told = by_name.map(|all| {
        let sessions: Vec<String> = all
            .iter()
            .map(|one| most_sessions(one).to_string())
            .collect();
        format!("{} {}", all[0].name, sessions.join("+"))
    });
    let told: Vec<String> = told.collect();
    let text = format!(
        "Too few sessions of a cell to find changes, {SESSIONS_FOR_A_CHANGE} are needed (a sum: on several machines or builds): \
         {}.",
        told.join(", ")
    );
    (!told.is_empty()).then(|| wrapped(&text, LINE, 2) + "\n")
}
