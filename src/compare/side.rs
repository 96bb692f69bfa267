//! Where the sides of a comparison come from: results folders, commits, the working tree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diag::{Failure, did_you_mean, list};
use crate::plan::results_root;
use crate::results::git::{CommitFile, GitError, Repository};
use crate::results::{
    NoiseRow, ResultSet, ResultsError, from_here, names_below, read, read_noise, results_folder,
};

use super::{Origin, Side};

/// Results that one side of a comparison may take: one experiment, or all of a place.
#[derive(Debug)]
pub struct Source {
    /// As the user named it.
    pub name: String,
    /// The experiments, by name.
    pub experiments: Vec<Experiment>,
    /// Whether the user named one experiment, and not a place with any number of them.
    pub is_one: bool,
}

/// An experiment of a [`Source`], not read yet.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name of its folder.
    pub name: String,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Folder(PathBuf),
    Commit {
        repository: Repository,
        reference: String,
        commit: String,
        /// Folder in the commit.
        folder: String,
        files: Vec<CommitFile>,
    },
}

impl Source {
    /// What `given` means: a results folder, a name under `reports/`, a folder of results folders, a git ref
    /// (`main`: all of `reports/`), or a folder of a ref (`main:reports/ddpm`, `main:ddpm`). What exists as results
    /// wins over a ref of the same name; `ref:NAME` means the ref.
    ///
    /// # Errors
    /// Neither results nor a ref, with the nearest names; a ref without results.
    pub fn find(given: &str) -> Result<Self, Failure> {
        if let Some(reference) = given.strip_prefix("ref:") {
            return of_ref(reference).map_err(|error| error.into_failure(given));
        }
        if let Some(source) = of_folder(given) {
            return Ok(source);
        }
        of_ref(given).map_err(|error| error.into_failure(given))
    }

    /// Whether it is of folders, and not of a commit.
    pub fn is_on_disk(&self) -> bool {
        let is_folder = |one: &Experiment| matches!(one.place, Place::Folder(_));
        self.experiments.iter().all(is_folder)
    }

    /// The results of the working tree: all of `reports/`, or those of the experiments that `other` has.
    pub fn working_tree(other: &Self) -> Self {
        let root = results_root(Path::new("manifest.toml"));
        let mut experiments = below(&root);
        if other.is_one {
            experiments.retain(|own| other.experiments.iter().any(|its| its.name == own.name));
        }
        Self {
            name: "working tree".to_owned(),
            experiments,
            is_one: other.is_one,
        }
    }

    /// The experiments that both sources have, and the names of those that only one has. Two single experiments belong
    /// together whatever their names.
    pub fn common(before: &Self, after: &Self) -> Common {
        let mut common = Common::default();
        if let ([one], [other], true, true) = (
            &*before.experiments,
            &*after.experiments,
            before.is_one,
            after.is_one,
        ) {
            common.pairs.push((one.clone(), other.clone()));
            return common;
        }
        for own in &before.experiments {
            match after.experiments.iter().find(|its| its.name == own.name) {
                Some(its) => common.pairs.push((own.clone(), its.clone())),
                None => common.only_before.push(own.name.clone()),
            }
        }
        let is_new = |its: &&Experiment| !before.experiments.iter().any(|own| own.name == its.name);
        let added = after.experiments.iter().filter(is_new);
        common.only_after = added.map(|its| its.name.clone()).collect();
        // Whoever names one experiment asks for nothing else.
        if before.is_one {
            common.only_after.clear();
        }
        if after.is_one {
            common.only_before.clear();
        }
        common
    }
}

/// The experiments of two sources.
#[derive(Debug, Default)]
pub struct Common {
    /// Those that both have.
    pub pairs: Vec<(Experiment, Experiment)>,
    /// Names of those that only the source before has.
    pub only_before: Vec<String>,
    /// Names of those that only the source after has.
    pub only_after: Vec<String>,
}

impl Experiment {
    /// Reads its results as a side of the name `name`.
    ///
    /// # Errors
    /// A missing or damaged file, another format version; git that fails.
    pub fn read(&self, name: &str) -> Result<Side, Failure> {
        match &self.place {
            Place::Folder(path) => {
                let (set, noise) = whole(path).map_err(|error| failure(&error, None))?;
                let origin = Origin::Folder {
                    path: path.to_string_lossy().into_owned(),
                };
                Ok(Side {
                    name: name.to_owned(),
                    origin,
                    set,
                    noise,
                })
            }
            Place::Commit {
                repository,
                reference,
                commit,
                folder,
                files,
            } => {
                let copy = copied(repository, files)?;
                let shown = format!("{reference}:{folder}");
                let (set, noise) = whole(copy.path())
                    .map_err(|error| failure(&error, Some((copy.path(), &shown))))?;
                let origin = Origin::Git {
                    reference: reference.clone(),
                    commit: commit.clone(),
                };
                Ok(Side {
                    name: name.to_owned(),
                    origin,
                    set,
                    noise,
                })
            }
        }
    }
}

/// Everything of a results folder that a side has.
fn whole(folder: &Path) -> Result<(ResultSet, Vec<NoiseRow>), ResultsError> {
    Ok((read(folder)?, read_noise(folder)?))
}

/// A results error with the folder's own name in place of that of its copy.
fn failure(error: &ResultsError, copy: Option<(&Path, &str)>) -> Failure {
    let text = error.to_string();
    let text = copy.map_or(text.clone(), |(path, shown)| {
        text.replace(&*path.to_string_lossy(), shown)
    });
    Failure::plain(text, None)
}

/// The files of a results folder of a commit, in a temporary folder: nothing is checked out.
fn copied(repository: &Repository, files: &[CommitFile]) -> Result<tempfile::TempDir, Failure> {
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

/// Results on disk that `given` names.
fn of_folder(given: &str) -> Option<Source> {
    let path = Path::new(given);
    let named = |experiments: Vec<Experiment>, is_one| Source {
        name: given.to_owned(),
        experiments,
        is_one,
    };
    if let Some(folder) = results_folder(path) {
        return Some(named(vec![experiment(&folder)], true));
    }
    let places = [path.to_owned(), path.join("reports")];
    let all = places.iter().map(|place| below(place));
    let found = all
        .into_iter()
        .find(|experiments| !experiments.is_empty())?;
    Some(named(found, false))
}

fn below(root: &Path) -> Vec<Experiment> {
    let names = names_below(root).into_iter();
    names
        .map(|name| experiment(&from_here(&root.join(name))))
        .collect()
}

fn experiment(folder: &Path) -> Experiment {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = absolute.file_name().unwrap_or_default();
    Experiment {
        name: name.to_string_lossy().into_owned(),
        place: Place::Folder(folder.to_owned()),
    }
}

/// Why a text is no source of a commit.
enum NoSource {
    Git(GitError),
    /// The ref is there, the results are not.
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
    fn into_failure(self, given: &str) -> Failure {
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
                    // The nearest name alone says more than two lists.
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
fn of_ref(given: &str) -> Result<Source, NoSource> {
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

/// The folder that holds `reports/`, and `reports/` itself, from the root of the repository.
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

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The results folders among `files`: `folder` itself, or those directly below it.
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
        name == "plan.json" || name == "env.toml" || name.ends_with(".csv")
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
