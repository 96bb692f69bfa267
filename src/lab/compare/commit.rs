//! Reads results from a commit with git, without checking it out.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::diag::Failure;
use crate::plan::results_root;
use crate::results::git::{CommitFile, GitError, Repository};
use crate::results::{results_names_in, suggest_name};

use super::source::{Experiment, Place, Source};

/// The error if `given`, an argument of the user, names neither results on disk nor a commit that git can read.
fn failure(given: &str, error: GitError) -> Failure {
    let results = || results_names_in(&results_root(Path::new("manifest.toml")));
    let of_results = || suggest_name(given, &results(), "there are results of");
    match error {
        GitError::UnknownReference { advice, .. } => {
            let title = format!("`{given}` is neither a results folder nor a git ref");
            let mut failure = Failure::without_source(title, advice);
            // If results or git refs have a similar name, only that name is suggested, and not all names.
            let is_near = |help: &String| help.starts_with("did you mean");
            if let (Some(first), Some(found)) = (failure.diagnostics.first_mut(), of_results()) {
                if is_near(&found) {
                    first.help = vec![found];
                } else if !first.help.iter().any(is_near) {
                    first.help.push(found);
                }
            }
            failure
        }
        GitError::NoRepository { .. } => {
            let title = format!(
                "`{given}` is no results folder, and there is no git repository here to look for it"
            );
            Failure::without_source(title, of_results())
        }
        error @ GitError::Failed { .. } => Failure::without_source(error.to_string(), None),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Results of a commit: `main`, `main:reports/ddpm`, `main:ddpm`. Errors name `given`.
pub(super) fn of_ref(given: &str, name: &str) -> Result<Source, Failure> {
    let (reference, path) = match name.split_once(':') {
        Some((reference, path)) => (reference, Some(path.trim_end_matches('/'))),
        None => (name, None),
    };
    let failed = |error| failure(given, error);
    let repository = Repository::of(Path::new(".")).map_err(failed)?;
    let commit = repository.commit(reference).map_err(failed)?;
    let (project, reports) = project(&repository);
    let at = |folder: &str| -> Result<Vec<Experiment>, Failure> {
        let files = repository.files(&commit, folder).map_err(failed)?;
        Ok(experiments(&repository, reference, &commit, folder, &files))
    };
    let candidates = match path.map(|path| path.strip_prefix("./").unwrap_or(path)) {
        None => vec![reports.clone()],
        Some(path) => vec![
            path.to_owned(),
            joined(&project, path),
            joined(&reports, path),
        ],
    };
    for folder in &candidates {
        let found = at(folder)?;
        if !found.is_empty() {
            let is_itself = |one: &Experiment| matches!(&one.place, Place::Commit { folder: own, .. } if own == folder);
            return Ok(Source {
                name: name.to_owned(),
                is_one: found.len() == 1 && is_itself(&found[0]),
                experiments: found,
            });
        }
    }
    let folder = &candidates[0];
    let title = format!("commit `{reference}` has no results in `{folder}`");
    let known: Vec<String> = at(&reports)?.into_iter().map(|one| one.name).collect();
    let help = suggest_name(file_name(folder), &known, "it has results of");
    Err(Failure::without_source(title, help))
}

/// Path of the folder that contains `reports/`, and that of `reports/`, both relative to the root of the repository.
fn project(repository: &Repository) -> (String, String) {
    let reports = results_root(Path::new("manifest.toml"));
    let project = reports.parent().unwrap_or(Path::new("."));
    let resolved = project.canonicalize();
    let project = resolved.as_deref().unwrap_or(project);
    let inside = project.strip_prefix(repository.root());
    let inside = inside.unwrap_or(Path::new("")).to_string_lossy();
    let project = inside.replace('\\', "/");
    let reports = joined(&project, "reports");
    (project, reports)
}

pub(super) fn joined(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// The results folders among the `files` of a commit: `folder` itself, or its direct subfolders.
fn experiments(
    repository: &Repository,
    reference: &str,
    commit: &str,
    folder: &str,
    files: &[CommitFile],
) -> Vec<Experiment> {
    let parent = |file: &CommitFile| {
        let parent = file.path.rsplit_once('/').map(|(parent, _)| parent);
        parent.unwrap_or_default().to_owned()
    };
    let is_below = |place: &String| {
        let rest = place.strip_prefix(folder);
        rest.is_some_and(|rest| !rest.trim_start_matches('/').contains('/'))
    };
    let is_plan = |file: &&CommitFile| file_name(&file.path) == "plan.json";
    let plans = files.iter().filter(is_plan);
    let mut places: Vec<String> = plans.map(parent).filter(is_below).collect();
    if places.iter().any(|place| place == folder) {
        places.retain(|place| place == folder);
    }
    let is_needed = |file: &CommitFile| {
        let name = file_name(&file.path);
        let is_table = Path::new(name).extension() == Some(OsStr::new("csv"));
        name == "plan.json" || name == "env.toml" || is_table
    };
    let experiment = |place: String| {
        let is_own = |file: &&CommitFile| parent(file) == place && is_needed(file);
        let own = files.iter().filter(is_own);
        Experiment {
            name: file_name(&place).to_owned(),
            place: Place::Commit {
                repository: repository.clone(),
                reference: reference.to_owned(),
                commit: commit.to_owned(),
                files: own.cloned().collect(),
                folder: place,
            },
        }
    };
    places.into_iter().map(experiment).collect()
}

/// Copies the files of a results folder from a commit into a temporary folder, without a checkout.
pub(super) fn copied(
    repository: &Repository,
    files: &[CommitFile],
) -> Result<tempfile::TempDir, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::without_source(format!("cannot copy results of a commit: {error}"), None)
    };
    let copy = tempfile::tempdir().map_err(|error| cannot(&error))?;
    for file in files {
        let bytes = repository.bytes(file).map_err(|error| cannot(&error))?;
        let path = copy.path().join(file_name(&file.path));
        fs::write(path, bytes).map_err(|error| cannot(&error))?;
    }
    Ok(copy)
}
