//! Reads results from a commit with git, without checking it out.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::diag::{Failure, did_you_mean, list};
use crate::plan::results_root;
use crate::results::git::{CommitFile, GitError, Repository};
use crate::results::names_below;

use super::side::{Experiment, Place, Source};

/// Why a text does not name results in a commit.
pub(super) enum NoSource {
    /// Git cannot read the commit.
    Git(GitError),
    /// The ref exists, but has no such results.
    NoResults {
        reference: String,
        folder: String,
        known: Vec<String>,
    },
}

impl From<GitError> for NoSource {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl NoSource {
    pub(super) fn into_failure(self, given: &str) -> Failure {
        match self {
            Self::Git(GitError::UnknownReference { advice, .. }) => {
                let title = format!("`{given}` is neither a results folder nor a git ref");
                let results = names_below(&results_root(Path::new("manifest.toml")));
                let mut failure = Failure::plain(title, advice);
                let names = || results.iter().map(String::as_str);
                let near = did_you_mean(given, names());
                let all = || {
                    (!results.is_empty()).then(|| format!("there are results of {}", list(names())))
                };
                let is_near = |help: &String| help.starts_with("did you mean");
                if let Some(first) = failure.diagnostics.first_mut() {
                    // The most similar name alone is more helpful than two lists.
                    match near {
                        Some(near) => first.help = vec![near],
                        None if first.help.iter().any(is_near) => {}
                        None => first.help.extend(all()),
                    }
                }
                failure
            }
            Self::Git(GitError::NoRepository { folder }) => {
                let title = format!(
                    "`{given}` is no results folder, and there is no git repository here to look for it"
                );
                let results = names_below(&results_root(Path::new("manifest.toml")));
                let names = || results.iter().map(String::as_str);
                let all = || {
                    (!results.is_empty()).then(|| format!("there are results of {}", list(names())))
                };
                let _ = folder;
                Failure::plain(title, did_you_mean(given, names()).or_else(all))
            }
            Self::Git(error) => Failure::plain(error.to_string(), None),
            Self::NoResults {
                reference,
                folder,
                known,
            } => {
                let title = format!("commit `{reference}` has no results in `{folder}`");
                let name = folder.rsplit('/').next().unwrap_or_default();
                let names = || known.iter().map(String::as_str);
                let all =
                    || (!known.is_empty()).then(|| format!("it has results of {}", list(names())));
                Failure::plain(title, did_you_mean(name, names()).or_else(all))
            }
        }
    }
}

/// Results of a commit: `main`, `main:reports/ddpm`, `main:ddpm`.
pub(super) fn of_ref(given: &str) -> Result<Source, NoSource> {
    let (reference, path) = match given.split_once(':') {
        Some((reference, path)) => (reference, Some(path.trim_end_matches('/'))),
        None => (given, None),
    };
    let repository = Repository::of(Path::new("."))?;
    let commit = repository.commit(reference)?;
    let (project, reports) = project(&repository);
    let at = |folder: &str| -> Result<Vec<Experiment>, GitError> {
        let files = repository.files(&commit, folder)?;
        Ok(experiments(&repository, reference, &commit, folder, &files))
    };
    let candidates: Vec<String> = match path {
        None => vec![reports.clone()],
        Some(path) => {
            let plain = path.strip_prefix("./").unwrap_or(path);
            vec![
                plain.to_owned(),
                joined(&project, plain),
                joined(&reports, plain),
            ]
        }
    };
    for folder in &candidates {
        let found = at(folder)?;
        if !found.is_empty() {
            let is_itself = |one: &Experiment| matches!(&one.place, Place::Commit { folder: own, .. } if own == folder);
            return Ok(Source {
                name: given.to_owned(),
                is_one: found.len() == 1 && is_itself(&found[0]),
                experiments: found,
            });
        }
    }
    let known = at(&reports)?.into_iter().map(|one| one.name).collect();
    Err(NoSource::NoResults {
        reference: reference.to_owned(),
        folder: candidates.into_iter().next().unwrap_or_default(),
        known,
    })
}

/// The folder that contains `reports/`, and `reports/` itself, relative to the root of the repository.
fn project(repository: &Repository) -> (String, String) {
    let reports = results_root(Path::new("manifest.toml"));
    let project = reports.parent().unwrap_or(Path::new("."));
    let project = project
        .canonicalize()
        .unwrap_or_else(|_| project.to_owned());
    let inside = project
        .strip_prefix(repository.root())
        .unwrap_or(Path::new(""));
    let project = inside.to_string_lossy().replace('\\', "/");
    let reports = joined(&project, "reports");
    (project, reports)
}

pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The results folders among `files`: `folder` itself, or its direct subfolders.
fn experiments(
    repository: &Repository,
    reference: &str,
    commit: &str,
    folder: &str,
    files: &[CommitFile],
) -> Vec<Experiment> {
    let parent = |file: &CommitFile| {
        file.path
            .rsplit_once('/')
            .map_or(String::new(), |(p, _)| p.to_owned())
    };
    let is_plan = |file: &&CommitFile| file.path.rsplit('/').next() == Some("plan.json");
    let is_below = |place: &String| {
        let rest = place
            .strip_prefix(folder)
            .map(|rest| rest.trim_start_matches('/'));
        place == folder || rest.is_some_and(|rest| !rest.contains('/'))
    };
    let mut places: Vec<String> = files
        .iter()
        .filter(is_plan)
        .map(parent)
        .filter(is_below)
        .collect();
    if places.iter().any(|place| place == folder) {
        places.retain(|place| place == folder);
    }
    let needed = |file: &CommitFile| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let is_table = Path::new(name).extension() == Some(OsStr::new("csv"));
        name == "plan.json" || name == "env.toml" || is_table
    };
    let all = places.into_iter().map(|place| {
        let own = files
            .iter()
            .filter(|file| parent(file) == place && needed(file));
        Experiment {
            name: place.rsplit('/').next().unwrap_or_default().to_owned(),
            place: Place::Commit {
                repository: repository.clone(),
                reference: reference.to_owned(),
                commit: commit.to_owned(),
                files: own.cloned().collect(),
                folder: place.clone(),
            },
        }
    });
    all.collect()
}

/// Copies the files of a results folder from a commit into a temporary folder, without a checkout.
pub(super) fn copied(
    repository: &Repository,
    files: &[CommitFile],
) -> Result<tempfile::TempDir, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::plain(format!("cannot copy results of a commit: {error}"), None)
    };
    let copy = tempfile::tempdir().map_err(|error| cannot(&error))?;
    for file in files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let bytes = repository.bytes(file).map_err(|error| cannot(&error))?;
        fs::write(copy.path().join(name), bytes).map_err(|error| cannot(&error))?;
    }
    Ok(copy)
}
