//! Decides whether a proposed trial is reused from known runs or executed.

use std::sync::Arc;

use crate::event::{EpochRow, Job, Member, Pruned, RunId, Status, Trial};
use crate::execute::Next;
use crate::plan::search::TrialInfo;
use crate::plan::{Feasibility, PlannedCell};
use crate::results::store::RunKeys;

use super::finale;
use super::memory::Known;
use super::source::{Running, Search};
use super::{Ending, Record};

pub(super) struct Proposal {
    pub(super) study: usize,
    pub(super) cell: PlannedCell,
    pub(super) info: TrialInfo,
    pub(super) keys: RunKeys,
    pub(super) members: Vec<Member>,
}

/// The result of a trial, from known runs.
struct Settled {
    status: Status,
    reason: String,
    ending: Ending,
    values: Vec<Option<f64>>,
    pruned: Option<Pruned>,
    curve: Vec<(usize, f64)>,
}

impl Search<'_> {
    /// Returns the trial as kept if its result is known, otherwise as a run.
    pub(super) fn settle(&mut self, proposal: Proposal) -> Option<Next> {
        let reason = match &proposal.cell.feasibility {
            Feasibility::Runs => None,
            Feasibility::Infeasible(reason) => Some((Status::Infeasible, reason.clone())),
            Feasibility::Skipped(reason) => Some((Status::Skipped, reason.clone())),
        };
        let limits = proposal.cell.spec.limits.as_ref();
        let found = self.memory.find(&proposal.keys, limits);
        let settled = self.settled(&proposal, &found);
        let settled =
            settled.filter(|settled| reason.is_some() || !self.runs_again(&proposal, settled));
        // Results from another machine count even if this machine cannot run the trial.
        if settled.is_none()
            && let Some((status, reason)) = reason
        {
            let looks_on = self.options.only_kept && !self.spec.learns();
            if status == Status::Skipped && !looks_on {
                // The study's other trials would be skipped for the same reason.
                self.studies[proposal.study].close();
            }
            self.tell(&proposal, Ending::Failed, Vec::new());
            return Some(self.kept(proposal, status, reason));
        }
        match settled {
            Some(settled) => {
                let mut proposal = proposal;
                proposal.info.values = settled.values;
                proposal.info.pruned = settled.pruned.clone().map(|pruned| pruned.info);
                self.tell(&proposal, settled.ending, settled.curve);
                Some(self.kept(proposal, settled.status, settled.reason))
            }
            None if self.options.only_kept => {
                self.leave_out(&proposal);
                None
            }
            None => Some(self.begin(proposal)),
        }
    }

    /// Whether a finished trial runs again because its checkpoint is missing. With an ensemble only the members' weights are
    /// kept, and those are checked when the ensemble is made.
    fn runs_again(&self, proposal: &Proposal, settled: &Settled) -> bool {
        let has_saved = matches!(settled.status, Status::Done | Status::Diverged);
        let spec = &proposal.cell.spec;
        let may_run = !self.options.only_kept && self.spec.ensemble == 0;
        may_run && has_saved && spec.lacks_checkpoint(proposal.keys.seed)
    }

    /// Records a trial without result when nothing may run; trials that depend on it are not looked up.
    fn leave_out(&mut self, proposal: &Proposal) {
        self.missing.push(proposal.cell.spec.key.clone());
        if proposal.info.role.is_trial() {
            let study = &mut self.studies[proposal.study];
            study.finale = Some(Vec::new());
            if self.spec.learns() {
                study.close();
            }
        }
    }

    /// The trial's result from known runs. The pruner is replayed, since it may have seen other trials when the run was
    /// made.
    fn settled(&self, proposal: &Proposal, found: &[&Known]) -> Option<Settled> {
        for known in found {
            let curve = self.reader.curve(&proposal.cell.spec, &known.epochs);
            let verdict = self.replay(proposal, &curve, &known.epochs);
            match (&verdict, known.keys.until) {
                (None, None) => return Some(self.whole(known, curve)),
                (Some((pruned, _)), _) => {
                    let until = Some(pruned.info.step + 1);
                    let prefix = found.iter().find(|other| other.keys.until == until);
                    return prefix.map(|prefix| Self::ended_early(prefix, verdict.clone()));
                }
                // A run that ended early, but which the pruner would let continue in this search: not usable.
                (None, Some(_)) => {}
            }
        }
        None
    }

    fn whole(&self, known: &Known, curve: Vec<(usize, f64)>) -> Settled {
        let values = known.values.clone();
        Settled {
            status: known.status,
            reason: known.reason.clone(),
            ending: self.reader.ending(known.status, &values),
            values,
            pruned: None,
            curve,
        }
    }

    fn ended_early(known: &Known, verdict: Option<(Pruned, Vec<(usize, f64)>)>) -> Settled {
        let (pruned, curve) = verdict.unzip();
        Settled {
            status: Status::Pruned,
            reason: pruned
                .as_ref()
                .map(|p| p.reason.clone())
                .unwrap_or_default(),
            ending: Ending::Pruned,
            values: known.values.clone(),
            pruned,
            curve: curve.unwrap_or_default(),
        }
    }

    /// The pruner's decision for a trial with this curve, and the curve up to that point.
    fn replay(
        &self,
        proposal: &Proposal,
        curve: &[(usize, f64)],
        epochs: &[EpochRow],
    ) -> Option<(Pruned, Vec<(usize, f64)>)> {
        if !proposal.info.role.is_trial() {
            return None;
        }
        (1..=curve.len()).find_map(|length| {
            let part = &curve[..length];
            let (step, _) = part.last()?;
            let row = epochs.iter().find(|row| row.epoch == *step)?;
            let metric = self.reader.metric(&proposal.cell.spec, row);
            let pruned = self.judge(proposal.study, proposal.info.number, part, &metric)?;
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
        let verdict = self.pruner.as_ref()?.judge(past, curve)?;
        Some(self.reader.pruned(verdict, metric))
    }

    pub(super) fn begin(&mut self, proposal: Proposal) -> Next {
        let job = self.job(&proposal);
        self.studies[proposal.study].running += 1;
        let running = Running {
            study: proposal.study,
            number: proposal.info.number,
            spec: Arc::clone(&job.spec),
            keys: proposal.keys,
            curve: Vec::new(),
        };
        self.running.insert(job.id, running);
        Next::Run(job)
    }

    fn job(&self, proposal: &Proposal) -> Job {
        let info = &proposal.info;
        let is_pruned = self.pruner.is_some() && info.role.is_trial();
        Job {
            id: RunId {
                cell: finale::row(self.spec.trials, info),
                seed: proposal.keys.seed,
                block: 0,
            },
            spec: Arc::new(proposal.cell.spec.clone()),
            estimated_s: None,
            trial: Some(Arc::new(Trial {
                cell: proposal.cell.clone(),
                info: info.clone(),
                awaits_verdicts: is_pruned,
                members: proposal.members.clone(),
            })),
        }
    }

    fn kept(&self, proposal: Proposal, status: Status, reason: String) -> Next {
        Next::Kept {
            job: self.job(&proposal),
            status,
            info: proposal.info,
            reason,
        }
    }

    /// Records a trial that has ended.
    fn tell(&mut self, proposal: &Proposal, ending: Ending, curve: Vec<(usize, f64)>) {
        self.note(
            proposal.study,
            &proposal.info,
            &proposal.cell,
            ending,
            curve,
        );
    }

    pub(super) fn note(
        &mut self,
        position: usize,
        info: &TrialInfo,
        cell: &PlannedCell,
        ending: Ending,
        curve: Vec<(usize, f64)>,
    ) {
        if !info.role.is_trial() {
            return;
        }
        let study = &mut self.studies[position];
        study.tell(Record {
            number: info.number,
            point: info.point.clone(),
            ending,
            curve,
        });
        self.weights.note(study, info.number, cell);
    }
}
