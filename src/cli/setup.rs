//! [`Setup`]: the parts shared by `run` and a side of `ab`: store, launcher, recorder, options.

use std::ffi::OsStr;
use std::path::Path;

use crate::base::shell;
use crate::diag::Failure;
use crate::execute::WorkerProgram;
use crate::plan::{Plan, PlannedCell};
use crate::record::{RecordError, Recorder, first_cell_not_in_store};
use crate::results::git::git;
use crate::results::store::{RunConditions, Store};
use crate::results::{
    self, Environment, ResultSet, ResultsError, Session, relative_to_current_dir,
};

use super::Problem;
use super::problem::mistake;
use super::run_plan::folder_or_here;

/// Largest size in bytes of weights that a run stores without `train.save-to`.
const WEIGHTS: u64 = 64_000_000;
/// Largest total size in bytes of the weights that all runs of a manifest store without `train.save-to`.
const ALL_WEIGHTS: u64 = 256_000_000;

/// A plan with the machine and build that it runs on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cells: &'a [PlannedCell],
    pub(super) conditions: &'a RunConditions,
    pub(super) environment: &'a Environment,
}

impl<'a> Setup<'a> {
    /// The setup for a plan with `cells`; for a search `cells` is empty, since trials are proposed later.
    pub(super) fn of(
        plan: &'a Plan,
        cells: &'a [PlannedCell],
        conditions: &'a RunConditions,
        environment: &'a Environment,
    ) -> Self {
        Self {
            plan,
            cells: if plan.search.is_some() { &[] } else { cells },
            conditions,
            environment,
        }
    }

    pub(super) fn launcher(&self, store: &Store) -> Result<WorkerProgram, Problem> {
        let mut launcher = WorkerProgram::running_executable(memory_bytes(self.environment))?;
        launcher.results = Some(std::path::absolute(&self.plan.results_folder)?);
        launcher.assess_into = Some(std::path::absolute(store.temporary_folder())?);
        launcher.keep_weights_below = self.keep_weights_below();
        Ok(launcher)
    }

    /// Size in bytes below which a run stores its weights without `train.save-to`; for a search [`WEIGHTS`], since only
    /// few trials store them.
    fn keep_weights_below(&self) -> u64 {
        let runs = self.cells.iter().map(|cell| cell.spec.measure.seeds.len());
        (ALL_WEIGHTS / runs.sum::<usize>().max(1) as u64).min(WEIGHTS)
    }

    pub(super) fn recorder(
        &self,
        store: Store,
        previous: Option<ResultSet>,
        session: Session,
    ) -> Recorder<'a> {
        Recorder::new(
            &self.plan.results_folder,
            store,
            self.cells,
            self.conditions,
            results::plan_header(self.plan),
            self.environment.clone(),
            previous,
            session,
        )
    }

    /// The results files that exist. Damaged ones are ignored with a warning if `store` has their content, from which
    /// they are written again.
    pub(super) fn read_previous(&self, store: &Store) -> Result<Option<ResultSet>, Problem> {
        let folder = self.plan.results_folder.as_path();
        if !folder.join("plan.json").exists() {
            return Ok(None);
        }
        match results::read(folder) {
            Ok(results) => Ok(Some(results)),
            // The store has the results; a missing file is written again.
            Err(ResultsError::Missing { .. }) => Ok(None),
            Err(ResultsError::Damaged {
                path,
                place,
                reason,
            }) => {
                let path = relative_to_current_dir(&path);
                let what = format!("`{}`, {place}: {reason}", path.display());
                if let Some(why) = self.why_only_copy(store) {
                    return Err(
                        Failure::without_source(what, Some(restored_by(&path, &why))).into(),
                    );
                }
                eprintln!("warning: {what}; the store has all of its rows, and writes it again");
                Ok(None)
            }
            Err(error) => Err(mistake(error)),
        }
    }

    /// Why the results files are the only copy of some results (as in a fresh clone without a store); `None` if `store`
    /// has all of them.
    fn why_only_copy(&self, store: &Store) -> Option<String> {
        let Some(plan) = results::last_plan(&self.plan.results_folder) else {
            return Some("there is no plan.json that says which rows it had".to_owned());
        };
        let lacking = first_cell_not_in_store(&plan, self.cells, store, self.conditions)?;
        Some(format!("the store does not have every run of `{lacking}`"))
    }
}

/// Opens the store of the results folder.
pub(super) fn open(plan: &Plan) -> Result<Store, Problem> {
    let store = Store::open(&plan.results_folder).map_err(mistake)?;
    warn_of_damage(&store);
    Ok(store)
}

pub(super) fn warn_of_damage(store: &Store) {
    // A shard must not modify the store, which it shares with others.
    let aside = if store.is_shard() {
        ""
    } else {
        "is set aside in `.store/damaged/` and "
    };
    for path in store.damaged() {
        let path = relative_to_current_dir(path);
        eprintln!(
            "warning: `{}` is damaged: it {aside}counts as missing",
            path.display()
        );
    }
}

/// How to restore a damaged results file.
fn restored_by(path: &Path, why: &str) -> String {
    let (folder, name) = (path.parent(), path.file_name().unwrap_or_default());
    let is_changed = [
        OsStr::new("ls-files"),
        OsStr::new("--modified"),
        OsStr::new("--"),
        name,
    ];
    let changed = git(folder_or_here(folder), is_changed);
    if changed.is_ok_and(|names| !names.is_empty()) {
        let path = path.to_string_lossy();
        let checkout = shell::joined(["git", "checkout", "--", &*path]);
        return format!("`{checkout}` brings the committed file back; {why}");
    }
    format!("{why}: restore the file, or remove it and lose its rows")
}

/// The machine's memory in bytes: a run near it that SIGKILL ended counts as out of memory.
fn memory_bytes(environment: &Environment) -> Option<u64> {
    let gib: u64 = environment.must_match.get("memory_gib")?.parse().ok()?;
    Some(gib << 30)
}

pub(super) fn record_problem(error: RecordError) -> Problem {
    match error {
        RecordError::Disagreement(error) => match &error.other_cause {
            None => Problem::Bug(error.to_string()),
            help => Failure::without_source(error.to_string(), help.clone()).into(),
        },
        error @ RecordError::Results(_) => {
            let help = "finished runs are kept; run the same command again to continue";
            Failure::without_source(error.to_string(), Some(help.into())).into()
        }
    }
}
