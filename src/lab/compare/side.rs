//! Sources of the sides of a comparison: results folders, commits, the working tree.

use std::path::{Component, Path, PathBuf};

use crate::diag::Failure;
use crate::plan::{experiment_folder, results_root};
use crate::results::git::{CommitFile, Repository};
use crate::results::{
    NoiseRow, ResultSet, ResultsError, from_here, names_below, read, read_noise, results_folder,
};

use super::commit::{copied, joined, of_ref};
use super::{Origin, Side};

/// Results that a side of a comparison can be taken from: one experiment, or several at one location.
#[derive(Debug)]
pub struct Source {
    /// As given by the user.
    pub name: String,
    /// The experiments, by name.
    pub experiments: Vec<Experiment>,
    /// Whether the user named a single experiment.
    pub is_one: bool,
}

/// An experiment of a [`Source`], not read yet.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name of its folder.
    pub name: String,
    pub(super) place: Place,
}

/// Location of an experiment's files.
#[derive(Debug, Clone)]
pub(super) enum Place {
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
    /// Resolves `given`: a results folder, a name under `reports/`, a folder of results folders, a git ref (`main`: all of
    /// `reports/`), or a folder in a ref (`main:reports/ddpm`, `main:ddpm`). Existing results take precedence over a ref of
    /// the same name; `ref:NAME` means the ref.
    ///
    /// # Errors
    /// Neither results nor a ref, with the most similar names; a ref without results.
    pub fn find(given: &str) -> Result<Self, Failure> {
        if let Some(reference) = given.strip_prefix("ref:") {
            return of_ref(reference).map_err(|error| error.into_failure(given));
        }
        if let Some(source) = of_folder(given) {
            return Ok(source);
        }
        of_ref(given).map_err(|error| error.into_failure(given))
    }

    /// Whether its experiments are folders on disk, not in a commit.
    pub fn is_on_disk(&self) -> bool {
        let is_folder = |one: &Experiment| matches!(one.place, Place::Folder(_));
        self.experiments.iter().all(is_folder)
    }

    /// The results of the working tree: all of `reports/`, or, if `other` is a single experiment, that one.
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

    /// The experiments that both sources have, and the names of those that only one has. Two single experiments are paired
    /// even if their names differ.
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
        // With a single experiment on the side before, others are not reported as new.
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
    /// Experiments of both sources.
    pub pairs: Vec<(Experiment, Experiment)>,
    /// Names that exist only in the source before.
    pub only_before: Vec<String>,
    /// Names that exist only in the source after.
    pub only_after: Vec<String>,
}

impl Experiment {
    /// Reads its results as a side named `name`.
    ///
    /// # Errors
    /// A missing or damaged file, another format version, or a failure of git.
    pub fn read(&self, name: &str) -> Result<Side, Failure> {
        match &self.place {
            Place::Folder(path) => {
                let (set, noise) = whole(path).map_err(|error| failure(&error, None))?;
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let searches = searches_beside(experiment_folder(&absolute), &set);
                let origin = Origin::Folder {
                    path: path.to_string_lossy().into_owned(),
                };
                Ok(Side {
                    name: name.to_owned(),
                    origin,
                    set,
                    noise,
                    searches,
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
                let searches = searches_in_commit(reference, folder, &set);
                let origin = Origin::Git {
                    reference: reference.clone(),
                    commit: commit.clone(),
                };
                Ok(Side {
                    name: name.to_owned(),
                    origin,
                    set,
                    noise,
                    searches,
                })
            }
        }
    }
}

/// The results beside `folder` of the searches that the manifest of `set` names; those without results are left out.
pub fn searches_beside(folder: &Path, set: &ResultSet) -> Vec<ResultSet> {
    let beside = |name: &str| read(&folder.join("..").join(name)).ok();
    named_searches(set).filter_map(beside).collect()
}

/// The same in a commit, in which `folder` has the results of `set`.
fn searches_in_commit(reference: &str, folder: &str, set: &ResultSet) -> Vec<ResultSet> {
    let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    let of_name = |name: &str| {
        let source = of_ref(&format!("{reference}:{}", joined(parent, name))).ok()?;
        let Place::Commit {
            repository, files, ..
        } = &source.experiments.first()?.place
        else {
            return None;
        };
        read(copied(repository, files).ok()?.path()).ok()
    };
    named_searches(set).filter_map(of_name).collect()
}

/// `[report] searches`, without names that lead out of the folder of results.
fn named_searches(set: &ResultSet) -> impl Iterator<Item = &str> {
    let listed = set.plan.report.get("searches");
    let listed = listed.and_then(|names| names.as_array());
    let names = listed
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str());
    names.filter(|name| {
        let mut parts = Path::new(name).components();
        matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        )
    })
}

/// All data of a side from a results folder.
fn whole(folder: &Path) -> Result<(ResultSet, Vec<NoiseRow>), ResultsError> {
    // The two sides of `ab` share the `noise.csv` in the folder of their experiment.
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Ok((read(folder)?, read_noise(experiment_folder(&absolute))?))
}

/// A results error in which the path of the temporary copy is replaced by the displayed name.
fn failure(error: &ResultsError, copy: Option<(&Path, &str)>) -> Failure {
    let text = error.to_string();
    let text = copy.map_or(text.clone(), |(path, shown)| {
        text.replace(&*path.to_string_lossy(), shown)
    });
    Failure::plain(text, None)
}

/// The results on disk that `given` names.
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
