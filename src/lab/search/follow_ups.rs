//! Runs after the regular trials of a study: regret runs (pruned trials run again to the end) and the ensemble of the
//! best.

use std::path::PathBuf;
use std::sync::Arc;

use rand::seq::SliceRandom;

use crate::base::hash::Digest;
use crate::base::{Purpose, Seed};
use crate::event::Member;
use crate::plan::search::{SearchSpec, TrialInfo, TrialRole};
use crate::plan::{CellSpec, Plan, PlannedCell};

use super::study::{FollowUpRun, Ranked, Study};

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

/// The runs after a study's trials, in reverse order. The pruned trials to repeat are drawn at random with the search's
/// seed; none if a limit of the search is reached (`is_spent`).
pub(super) fn follow_up_runs(spec: &SearchSpec, study: &Study, is_spent: bool) -> Vec<FollowUpRun> {
    let mut pruned = study.pruned.clone();
    pruned.sort_by_key(|(number, _)| *number);
    let mut dice = Seed(spec.seed).stream_at(Purpose::Search, &[study.index as u64, u64::MAX]);
    pruned.shuffle(&mut dice);
    pruned.truncate(if is_spent { 0 } else { spec.regret });
    pruned.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let best = study.best(spec.ensemble);
    let mut all = Vec::new();
    if best.len() > 1 {
        let members = best
            .iter()
            .map(|best| FollowUpRun::Member(best.number, best.point.clone()));
        all.push(FollowUpRun::Ensemble);
        all.extend(members);
    }
    let regret = pruned.into_iter();
    all.extend(regret.map(|(number, point)| FollowUpRun::Regret(number, point)));
    all
}

/// The cell of the ensemble of the trials `best`, and its members; `None` if the trials save no weights.
///
/// The cell has the best trial's settings for data and evaluation; its hyperparameter axes are left empty.
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
    cell.spec.key = plan.key(&cell.axes);
    cell.spec.checkpoint_folder = None;
    Some((cell, members))
}

/// The seed of a trial's single run.
pub(super) fn seed(trial: &CellSpec) -> u64 {
    trial.measure.seeds.first().copied().unwrap_or(0)
}

/// Weights that trials saved for an ensemble; only those of the best are kept.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// `(study, trial, folder)` of the saved weights.
    kept: Vec<(usize, usize, PathBuf)>,
}

impl Weights {
    /// Records that trial `number` of `study` has ended, and removes weights that can no longer be part of the
    /// ensemble.
    ///
    /// `wanted` is the number of members of an ensemble.
    pub(super) fn note(&mut self, wanted: usize, study: &Study, number: usize, cell: &PlannedCell) {
        let folder = cell.spec.checkpoint_folder.as_ref();
        let Some(folder) = folder.filter(|_| wanted > 0) else {
            return;
        };
        self.kept.push((study.index, number, folder.clone()));
        let best = study.best(wanted);
        let goes = |(index, number, _): &mut (usize, usize, PathBuf)| {
            *index == study.index && best.iter().all(|ranked| ranked.number != *number)
        };
        let gone: Vec<_> = self.kept.extract_if(.., goes).collect();
        for (_, _, folder) in gone {
            // Equal configurations in two studies share one folder of weights.
            if !self.kept.iter().any(|(_, _, other)| *other == folder) {
                // Failure is ignored: the file only takes space.
                let _ = std::fs::remove_dir_all(&folder);
            }
        }
    }
}
