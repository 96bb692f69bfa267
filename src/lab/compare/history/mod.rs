//! [`Histories`]: the times of the committed results of every commit, with lasting changes and blips.

mod gather;
mod judge;
mod series;
#[cfg(test)]
mod simulation;

use crate::diag::Failure;
use crate::plan::CellFilter;
use crate::results::git::{GitError, LoggedCommit, Repository};

use super::Side;
use super::commit::{joined, of_ref};
use super::source::{Experiment, Place};
use gather::Gathered;

pub use series::{
    CellHistory, History, HistoryPoint, MeasuredSession, SESSIONS_FOR_A_CHANGE, Shift,
};

/// The times of experiments over all commits.
#[derive(Debug, Clone, Default)]
pub struct Histories {
    /// One history per experiment and machine class, in order of names; the machine of the newest times first.
    pub all: Vec<History>,
    /// One sentence for each commit whose results could not be read, and for each result without the chosen cells.
    pub unreadable: Vec<String>,
    /// How to get older commits, if the clone is shallow.
    pub advice: Option<&'static str>,
}

impl Histories {
    /// Reads the committed results of every commit; nothing is checked out. `name` is the name or folder of one result (all
    /// results of the newest commit if missing), `since` the commit at which the history begins, and `only` the cells.
    ///
    /// # Errors
    /// No repository, no such result or ref, no result with the chosen cells.
    pub fn read(
        name: Option<&str>,
        since: Option<&str>,
        only: Option<&CellFilter>,
    ) -> Result<Self, Failure> {
        let path = name.map(|name| format!("HEAD:{name}"));
        let source = of_ref(name.unwrap_or("HEAD"), path.as_deref().unwrap_or("HEAD"))?;
        let mut found = Self::default();
        let mut refused = None;
        for experiment in &source.experiments {
            let newest = experiment.read("HEAD").and_then(|newest| {
                let chosen = only.map(|only| only.select(&newest.set.plan.axes));
                chosen.transpose().map(|_| newest)
            });
            match newest {
                Ok(newest) => found.add(experiment, &newest, since, only)?,
                Err(failure) => {
                    let titles = failure.diagnostics.iter();
                    let titles = titles.map(|one| format!("{}: {}", experiment.name, one.title));
                    found.unreadable.extend(titles);
                    refused.get_or_insert(failure);
                }
            }
        }
        match refused {
            Some(failure) if found.all.is_empty() => Err(failure),
            _ => Ok(found),
        }
    }

    fn add(
        &mut self,
        experiment: &Experiment,
        newest: &Side,
        since: Option<&str>,
        only: Option<&CellFilter>,
    ) -> Result<(), Failure> {
        let Place::Commit {
            repository,
            commit,
            folder,
            ..
        } = &experiment.place
        else {
            return Ok(());
        };
        self.advice = repository.shallow_advice();
        let mut gathered = Gathered::default();
        for commit in commits(repository, commit, folder, since)? {
            let added = gathered.add((repository, folder), &commit, only);
            self.unreadable.extend(added.err());
        }
        self.all.extend(gathered.finish(&experiment.name, newest));
        Ok(())
    }
}

/// The commits that changed the times in a folder, from the oldest on. With `since`, the first one is the commit whose
/// times were in the folder at `since`.
fn commits(
    repository: &Repository,
    head: &str,
    folder: &str,
    since: Option<&str>,
) -> Result<Vec<LoggedCommit>, Failure> {
    let failure = |error: GitError| {
        let title = error.to_string();
        match error {
            GitError::UnknownReference { advice, .. } => Failure::without_source(title, advice),
            _ => Failure::without_source(title, None),
        }
    };
    let file = joined(folder, "blocks.csv");
    let Some(since) = since else {
        return repository.log(&[head], &file).map_err(failure);
    };
    let since = repository.commit(since).map_err(failure)?;
    let first = repository.log(&["--max-count=1", &since], &file);
    let others = repository.log(&[&format!("{since}..{head}")], &file);
    Ok([first.map_err(failure)?, others.map_err(failure)?].concat())
}
