//! Sources of the sides of a comparison: results folders, commits, the working tree.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diag::Failure;
use crate::plan::{experiment_folder, is_results_name, results_root};
use crate::results::{
    NoiseRow, PairSessions, ResultSet, ResultsError, read, read_noise, relative_to_current_dir,
    results_folder, results_names_in,
};

use super::commit::{copied, joined, of_ref};
use super::source::{Experiment, Place, Source};
use super::{Origin, Side};

impl Source {
    /// Resolves `given`: a results folder, a name under `reports/`, a folder of results folders, a git ref (`main`: all of
    /// `reports/`), or a folder in a ref (`main:reports/ddpm`, `main:ddpm`). Existing results take precedence over a ref of
    /// the same name; `ref:NAME` means the ref.
    ///
    /// # Errors
    /// Neither results nor a ref, with the most similar names; a ref without results.
    pub fn find(given: &str) -> Result<Self, Failure> {
        let reference = given.strip_prefix("ref:");
        match of_folder(given).filter(|_| reference.is_none()) {
            Some(source) => Ok(source),
            None => of_ref(given, reference.unwrap_or(given)),
        }
    }

    /// Whether the experiments are folders on disk, rather than in a commit.
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
    pub fn common(before: &Self, after: &Self) -> MatchedExperiments {
        let mut common = MatchedExperiments::default();
        let both = (&*before.experiments, &*after.experiments);
        if let ([one], [other], true, true) = (both.0, both.1, before.is_one, after.is_one) {
            common.pairs.push((one.clone(), other.clone()));
            return common;
        }
        let is_of = |source: &[Experiment], name: &str| source.iter().any(|one| one.name == name);
        for own in both.0 {
            let its = both.1.iter().find(|its| its.name == own.name);
            common
                .pairs
                .extend(its.map(|its| (own.clone(), its.clone())));
        }
        let only = |source: &[Experiment], other: &[Experiment]| {
            let names = source.iter().map(|one| one.name.clone());
            names.filter(|name| !is_of(other, name)).collect()
        };
        // If one side is a single experiment, unmatched experiments of the other side are not reported.
        if !after.is_one {
            common.only_before = only(both.0, both.1);
        }
        if !before.is_one {
            common.only_after = only(both.1, both.0);
        }
        common
    }
}

/// The experiments of two sources.
#[derive(Debug, Default)]
pub struct MatchedExperiments {
    /// Experiments of both sources.
    pub pairs: Vec<(Experiment, Experiment)>,
    /// Names that exist only in the source before.
    pub only_before: Vec<String>,
    /// Names that exist only in the source after.
    pub only_after: Vec<String>,
}

impl Experiment {
    /// Reads the experiment's results as a side named `name`.
    ///
    /// # Errors
    /// A missing or damaged file, another format version, or a failure of git.
    pub fn read(&self, name: &str) -> Result<Side, Failure> {
        let mut until_sure = BTreeSet::new();
        let (origin, (set, noise), searches) = match &self.place {
            Place::Folder(path) => {
                until_sure = PairSessions::of(&path.join("..")).sessions_stopped_early();
                let origin = Origin::Folder {
                    path: path.to_string_lossy().into_owned(),
                };
                let found = whole(path);
                let found =
                    found.map_err(|error| Failure::without_source(error.to_string(), None))?;
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let searches = searches_beside(experiment_folder(&absolute), &found.0);
                (origin, found, searches)
            }
            Place::Commit {
                repository,
                reference,
                commit,
                folder,
                files,
            } => {
                let origin = Origin::Git {
                    reference: reference.clone(),
                    commit: commit.clone(),
                };
                let copy = copied(repository, files)?;
                let path = copy.path().to_string_lossy();
                let shown = format!("{reference}:{folder}");
                let failure = |error: ResultsError| {
                    Failure::without_source(error.to_string().replace(&*path, &shown), None)
                };
                let found = whole(copy.path()).map_err(failure)?;
                let searches = searches_in_commit(reference, folder, &found.0);
                (origin, found, searches)
            }
        };
        Ok(Side {
            name: name.to_owned(),
            origin,
            set,
            noise,
            searches,
            until_sure,
        })
    }
}

/// The results beside `folder` of the searches that the manifest of `set` names; those without results are left out.
pub fn searches_beside(folder: &Path, set: &ResultSet) -> Vec<ResultSet> {
    let beside = |name: String| read(&folder.join("..").join(name)).ok();
    named_searches(set).filter_map(beside).collect()
}

/// The results of the searches that the manifest of `set` names, from a commit in which `folder` has the results of
/// `set`.
fn searches_in_commit(reference: &str, folder: &str, set: &ResultSet) -> Vec<ResultSet> {
    let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    let of_name = |name: String| {
        let given = format!("{reference}:{}", joined(parent, &name));
        let source = of_ref(&given, &given).ok()?;
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

/// The names in `[report] searches`, without those that lead out of the folder of results.
fn named_searches(set: &ResultSet) -> impl Iterator<Item = String> {
    let names: Vec<String> = set.plan.report_setting("searches");
    names.into_iter().filter(|name| is_results_name(name))
}

/// Reads all results and the A/A rows (`noise.csv`) of a results folder.
fn whole(folder: &Path) -> Result<(ResultSet, Vec<NoiseRow>), ResultsError> {
    // The two sides of `ab` share the `noise.csv` in the folder of their experiment.
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Ok((read(folder)?, read_noise(experiment_folder(&absolute))?))
}

/// The results on disk that `given` names; `None` if there are none.
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
    let all = [below(path), below(&path.join("reports"))];
    let mut found = all.into_iter().filter(|found| !found.is_empty());
    Some(named(found.next()?, false))
}

fn below(root: &Path) -> Vec<Experiment> {
    let named = |name| experiment(&relative_to_current_dir(&root.join::<String>(name)));
    results_names_in(root).into_iter().map(named).collect()
}

fn experiment(folder: &Path) -> Experiment {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = absolute.file_name().unwrap_or_default();
    Experiment {
        name: name.to_string_lossy().into_owned(),
        place: Place::Folder(folder.to_owned()),
    }
}
