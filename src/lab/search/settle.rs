//! Decides whether a proposed trial is reused from known runs or executed.

use std::sync::Arc;

use crate::event::{EpochRow, Job, KeptTrial, Pruned, RunId, Status, Trial};
use crate::execute::SourceItem;
use crate::plan::Feasibility;
use crate::plan::search::PrunedInfo;

use super::memory::KnownRun;
use super::source::{Proposal, Search};
use super::{TrialRecord, TrialResult, follow_ups, pruner};

/// Number of best trials whose weights are kept, unless `train.save-to` keeps those of all.
const KEPT: usize = 5;

/// The result of a trial, from known runs.
struct Settled {
    status: Status,
    reason: String,
    ending: TrialResult,
    values: Vec<Option<f64>>,
    pruned: Option<PrunedInfo>,
    curve: Vec<(usize, f64)>,
}

impl Search<'_> {
    /// Returns the proposed trial as kept if its result is known, otherwise as a run to execute; `None` if no run is
    /// allowed.
    pub(super) fn reuse_or_run(&mut self, mut proposal: Proposal) -> Option<SourceItem> {
        let cell = &proposal.trial.cell;
        let why_not = match &cell.feasibility {
            Feasibility::Runs => None,
            Feasibility::Infeasible(reason) => Some((Status::Infeasible, reason.clone())),
            Feasibility::Skipped(reason) => Some((Status::Skipped, reason.clone())),
        };
        let found = self.memory.find(&proposal.keys, &cell.spec.limits);
        let settled = self.settled(&proposal, &found);
        let settled =
            settled.filter(|known| why_not.is_some() || !self.runs_again(&proposal, known.status));
        match (settled, why_not) {
            // A known result is used even if this machine cannot run the trial.
            (Some(settled), _) => {
                proposal.trial.info.values = settled.values;
                proposal.trial.info.pruned = settled.pruned;
                self.note(
                    proposal.study,
                    &proposal.trial,
                    settled.ending,
                    settled.curve,
                );
                Some(self.kept(&proposal, settled.status, settled.reason))
            }
            (None, Some((status, reason))) => {
                let looks_on = self.options.only_kept && !self.spec.depends_on_results();
                if status == Status::Skipped && !looks_on {
                    // The study's other trials would be skipped for the same reason.
                    self.studies[proposal.study].close();
                }
                self.note(
                    proposal.study,
                    &proposal.trial,
                    TrialResult::Failed,
                    Vec::new(),
                );
                Some(self.kept(&proposal, status, reason))
            }
            (None, None) if self.options.only_kept => {
                self.leave_out(&proposal);
                None
            }
            (None, None) => Some(self.begin(proposal)),
        }
    }

    /// Whether a finished trial runs again because its checkpoint is missing. With an ensemble, only the members'
    /// weights are kept, and checked when the ensemble is made.
    fn runs_again(&self, proposal: &Proposal, status: Status) -> bool {
        let has_saved = matches!(status, Status::Done | Status::Diverged);
        let may_run = !self.options.only_kept && self.spec.ensemble == 0;
        may_run
            && has_saved
            && proposal
                .trial
                .cell
                .spec
                .lacks_checkpoint(proposal.keys.seed)
    }

    /// Records a trial without a stored run when no run is allowed; later trials that depend on its result are not
    /// looked up.
    fn leave_out(&mut self, proposal: &Proposal) {
        self.missing.push(proposal.trial.cell.spec.key.clone());
        if proposal.trial.info.role.is_trial() {
            let study = &mut self.studies[proposal.study];
            study.follow_ups = Some(Vec::new());
            if self.spec.depends_on_results() {
                study.close();
            }
        }
    }

    /// The trial's result from known runs. The pruner is replayed, since it may have seen other trials when the run was
    /// made.
    fn settled(&self, proposal: &Proposal, found: &[&KnownRun]) -> Option<Settled> {
        for known in found {
            let curve = self.reader.curve(&proposal.trial.cell.spec, &known.epochs);
            match (
                self.replay(proposal, &curve, &known.epochs),
                known.keys.until,
            ) {
                (None, None) => {
                    return Some(Settled {
                        status: known.status,
                        reason: known.reason.clone(),
                        ending: self.reader.ending(known.status, &known.values),
                        values: known.values.clone(),
                        pruned: None,
                        curve,
                    });
                }
                (Some((pruned, curve)), _) => {
                    let until = Some(pruned.info.step + 1);
                    let prefix = found.iter().find(|other| other.keys.until == until)?;
                    return Some(Settled {
                        status: Status::Pruned,
                        reason: pruned.reason,
                        ending: TrialResult::Pruned,
                        values: prefix.values.clone(),
                        pruned: Some(pruned.info),
                        curve,
                    });
                }
                // A run that ended early, but which the pruner would let continue in this search, cannot be used.
                (None, Some(_)) => {}
            }
        }
        None
    }

    /// The pruner's decision for a trial with this curve, and the curve up to that point.
    fn replay(
        &self,
        proposal: &Proposal,
        curve: &[(usize, f64)],
        epochs: &[EpochRow],
    ) -> Option<(Pruned, Vec<(usize, f64)>)> {
        let Trial { info, cell, .. } = &proposal.trial;
        if !info.role.is_trial() {
            return None;
        }
        (1..=curve.len()).find_map(|length| {
            let part = &curve[..length];
            let (step, _) = part.last()?;
            let row = epochs.iter().find(|row| row.epoch == *step)?;
            let metric = self.reader.metric(&cell.spec, row);
            let pruned = self.judge(proposal.study, info.number, part, &metric)?;
            Some((pruned, part.to_vec()))
        })
    }

    pub(super) fn judge(
        &self,
        study: usize,
        number: usize,
        curve: &[(usize, f64)],
        metric: &str,
    ) -> Option<Pruned> {
        let past = self.studies[study].past(number, self.lag());
        let verdict = pruner::prune_decision(self.spec, past, curve)?;
        Some(self.reader.pruned(verdict, metric))
    }

    pub(super) fn begin(&mut self, proposal: Proposal) -> SourceItem {
        let job = self.job(&proposal);
        self.studies[proposal.study].running += 1;
        self.running.insert(job.id, proposal);
        SourceItem::Run(job)
    }

    fn job(&self, proposal: &Proposal) -> Job {
        let trial = &proposal.trial;
        // A trial that can be pruned never resumes from a saved state: its earlier epochs would be judged again,
        // against different trials.
        let goes_on = trial.members.is_empty() && !trial.awaits_verdicts;
        let resume = trial.cell.resume(proposal.keys.seed, 0);
        Job {
            id: RunId {
                cell: follow_ups::row(self.spec.trials, &trial.info),
                seed: proposal.keys.seed,
                block: 0,
            },
            spec: Arc::new(trial.cell.spec.clone()),
            estimated_s: None,
            resume: resume.filter(|_| goes_on),
            trial: Some(Arc::new(trial.clone())),
        }
    }

    fn kept(&self, proposal: &Proposal, status: Status, reason: String) -> SourceItem {
        SourceItem::Kept(KeptTrial {
            job: self.job(proposal),
            status,
            reason,
        })
    }

    /// Records a trial that has ended.
    pub(super) fn note(
        &mut self,
        position: usize,
        trial: &Trial,
        ending: TrialResult,
        curve: Vec<(usize, f64)>,
    ) {
        let info = &trial.info;
        if !info.role.is_trial() {
            return;
        }
        let study = &mut self.studies[position];
        study.tell(TrialRecord {
            number: info.number,
            point: info.point.clone(),
            ending,
            curve,
        });
        let spec = &trial.cell.spec;
        let wanted = match (self.spec.ensemble, &spec.train.save_to) {
            (0, None) => KEPT,
            (members, _) => members,
        };
        self.weights.note(wanted, study, info.number, &trial.cell);
    }
}
