//! Runs after the regular trials of a study: regret runs (pruned trials run again to the end) and the ensemble of the best.

use std::path::PathBuf;
use std::sync::Arc;

use rand::seq::SliceRandom;

use crate::base::hash::Digest;
use crate::base::{Purpose, Seed};
use crate::event::Member;
use crate::plan::search::{SearchSpec, TrialInfo, TrialRole};
use crate::plan::{CellSpec, Plan, PlannedCell};

use super::study::{Finale, Ranked, Study};

/// Row of a trial within its search: study by study; trials by number, then regret runs, then the ensemble.
pub(super) fn row(trials: usize, info: &TrialInfo) -> usize {
    let rows = 2 * trials + 1;
    let within = match info.role {
        TrialRole::Trial => info.number,
        TrialRole::Regret => trials + info.number,
        TrialRole::Ensemble => 2 * trials,
    };
    info.study * rows + within
}

/// The runs after a study's trials, in reverse order. The pruned trials are selected at random with the search's seed.
pub(super) fn finale(spec: &SearchSpec, study: &Study, is_spent: bool) -> Vec<Finale> {
    let mut pruned = study.pruned.clone();
    pruned.sort_by_key(|(number, _)| *number);
    let mut dice = Seed(spec.seed).stream_at(Purpose::Search, &[study.index as u64, u64::MAX]);
    pruned.shuffle(&mut dice);
    pruned.truncate(if is_spent { 0 } else { spec.regret });
    pruned.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let best = study.best(spec.ensemble);
    let ensemble = (best.len() > 1).then_some(Finale::Ensemble);
    let members = best.iter().filter(|_| ensemble.is_some());
    let members = members.map(|best| Finale::Member(best.number, best.point.clone()));
    let regret = pruned
        .into_iter()
        .map(|(number, point)| Finale::Regret(number, point));
    ensemble
        .iter()
        .cloned()
        .chain(members)
        .chain(regret)
        .collect()
}

/// The cell of the ensemble of `best`, and its members; `None` if they save no weights.
///
/// The cell is the best trial's, for data and evaluation; its hyperparameter axes are left empty.
pub(super) fn ensemble(
    plan: &Plan,
    study: usize,
    best: &[Ranked],
) -> Option<(PlannedCell, Vec<Member>)> {
    let mut cell = plan.trial(study, "ensemble", &best.first()?.point);
    let mut digest = Digest::new().with("ensemble").with(&cell.cell_hash);
    let mut members = Vec::new();
    for ranked in best {
        let member = plan.trial(study, &ranked.number.to_string(), &ranked.point);
        digest = digest.with(&member.cell_hash);
        members.push(Member {
            weights: member.spec.weights_file(seed(&member.spec))?,
            cell: Arc::new(member.spec),
        });
    }
    cell.cell_hash = digest.short();
    cell.hash_parts
        .push(("members", cell.cell_hash.as_str().into()));
    let trial = plan.axes.iter().position(|axis| axis.name == "trial")?;
    for text in cell.axes.iter_mut().skip(trial + 1) {
        *text = "".into();
    }
    let pairs = plan.axes.iter().zip(&cell.axes);
    let pairs = pairs.filter(|(_, text)| !text.is_empty());
    let pairs: Vec<String> = pairs
        .map(|(axis, text)| format!("{}={text}", axis.name))
        .collect();
    cell.spec.key = pairs.join(",");
    cell.spec.checkpoint_folder = None;
    Some((cell, members))
}

/// The seed of a trial's single run.
pub(super) fn seed(trial: &CellSpec) -> u64 {
    trial.measure.seeds.first().copied().unwrap_or(0)
}

/// Weights that trials saved for an ensemble; only those of the best are kept.
#[derive(Debug)]
pub(super) struct Weights {
    wanted: usize,
    /// `(study, trial, folder)` of the saved weights.
    kept: Vec<(usize, usize, PathBuf)>,
}

impl Weights {
    pub(super) fn new(wanted: usize) -> Self {
        Self {
            wanted,
            kept: Vec::new(),
        }
    }

    /// Trial `number` of `study` has ended: removes the weights that can no longer be part of the ensemble.
    pub(super) fn note(&mut self, study: &Study, number: usize, cell: &PlannedCell) {
        let Some(folder) = &cell.spec.checkpoint_folder else {
            return;
        };
        if self.wanted == 0 {
            return;
        }
        self.kept.push((study.index, number, folder.clone()));
        let best = study.best(self.wanted);
        let is_best = |number: usize| best.iter().any(|ranked| ranked.number == number);
        let (stays, goes): (Vec<_>, Vec<_>) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|(index, number, _)| *index != study.index || is_best(*number));
        self.kept = stays;
        for (_, _, folder) in goes {
            // Two trials at one point share their weights.
            if !self.kept.iter().any(|(_, _, other)| *other == folder) {
                // Failure is ignored: the file only takes space.
                let _ = std::fs::remove_dir_all(&folder);
            }
        }
    }
}
