//! [`EarlierStates`]: saved training states in a results folder, from which runs of more epochs can resume.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::event::RunId;
use crate::execute::RunReason;
use crate::plan::{PlannedCell, ResumeFiles, STATE_FILE_PREFIX};
use crate::train::lineage_and_epochs;

/// The training states from which runs of a plan may resume.
#[derive(Debug, Default)]
pub(super) struct EarlierStates {
    /// Finished epochs and path of each state, by file name (which contains seed and block) and lineage digest.
    states: BTreeMap<(String, String), Vec<(usize, PathBuf)>>,
}

impl EarlierStates {
    /// The states in `checkpoints/` of the cells' results folder. Empty if cells differ in their number of epochs: then
    /// the experiment measures the cost of epochs, so every run must start from the beginning.
    pub(super) fn of(cells: &[PlannedCell]) -> Self {
        let mut earlier = Self::default();
        let mut epochs = cells.iter().map(|cell| cell.spec.train.epochs);
        let first = epochs.next();
        let folder = cells
            .first()
            .and_then(|cell| cell.spec.checkpoint_folder.as_deref());
        if let Some(all) = folder.and_then(Path::parent)
            && epochs.all(|epochs| Some(epochs) == first)
        {
            for path in files(all).flat_map(|folder| files(&folder)) {
                earlier.add(path);
            }
        }
        earlier
    }

    fn add(&mut self, path: PathBuf) {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if name.starts_with(STATE_FILE_PREFIX)
            && let Some((lineage, epochs)) = lineage_and_epochs(&path)
        {
            let states = self.states.entry((name, lineage)).or_default();
            states.push((epochs, path));
        }
    }

    /// Where the training state of a run is stored, and from which state it resumes: its own, else that of a run of
    /// fewer epochs, unless it must start from the beginning.
    pub(super) fn resume(
        &self,
        cell: &PlannedCell,
        id: RunId,
        why: &RunReason,
    ) -> Option<ResumeFiles> {
        let mut resume = cell.resume(id.seed, id.block)?;
        if begins_anew(why) {
            resume.from = None;
        } else if id.block == 0 && resume.from.is_none() {
            resume.from = self.shorter(cell, &resume);
        }
        Some(resume)
    }

    /// Number of finished epochs of the state from which a run resumes.
    pub(super) fn epochs(&self, cell: &PlannedCell, id: RunId, why: &RunReason) -> Option<usize> {
        let from = self.resume(cell, id, why)?.from?;
        Some(lineage_and_epochs(&from)?.1)
    }

    /// The state with the most epochs from which the run can resume with the same results as without interruption.
    fn shorter(&self, cell: &PlannedCell, resume: &ResumeFiles) -> Option<PathBuf> {
        let name = resume.state.file_name()?.to_string_lossy().into_owned();
        let states = self.states.get(&(name, resume.lineage.clone()))?.iter();
        let fitting = states.filter(|(epochs, _)| {
            *epochs <= cell.spec.train.epochs && cell.spec.can_continue_after(*epochs)
        });
        let longest = fitting.max_by_key(|(epochs, _)| *epochs)?;
        Some(longest.1.clone())
    }
}

/// Whether the run is repeated although its results are known: for its times or its profile, or by request of the user.
fn begins_anew(why: &RunReason) -> bool {
    matches!(
        why,
        RunReason::Fresh | RunReason::Times(_) | RunReason::Profile | RunReason::Checkpoint
    )
}

/// Entries of a folder; none if it does not exist.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}
