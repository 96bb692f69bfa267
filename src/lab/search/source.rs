//! [`Search`]: the source of a search's runs.
//!
//! Each proposed trial is looked up among the known runs, and executed if it is not found. A resumed search therefore
//! proposes everything again, and finds its earlier trials. Decisions about trial `i` of a study wait for its trials up
//! to `i − lag − 1` and use only the points of later ones, so that they do not depend on the number of concurrent
//! trials.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::event::{EpochRow, Job, Member, Pruned, RunId, RunOutcome, Trial};
use crate::execute::{Source, SourceItem};
use crate::plan::search::{Point, SearchSpec, TrialInfo, TrialRole};
use crate::plan::{Plan, PlannedCell};
use crate::results::Share;
use crate::results::store::{RunConditions, RunKeys, Store};

use super::TrialResult;
use super::follow_ups::{self, Weights};
use super::memory::KnownRuns;
use super::sampler::Sampler;
use super::shares::share_of_trial;
use super::study::{FollowUpRun, Study, info};
use super::values::ObjectiveReader;

/// Options of a search.
#[derive(Default)]
pub struct SearchOptions {
    /// Whether to ignore runs of earlier invocations.
    pub fresh: bool,
    /// Whether to run failed trials again.
    pub retry: bool,
    /// Whether to run nothing and only use stored runs; if sampler or pruner learns from earlier trials, a study then
    /// ends at the first trial without a stored run.
    pub only_kept: bool,
    /// The share of the trials that this invocation runs; without it, all of them.
    pub share: Option<Share>,
}

/// Whether this invocation runs a trial, given as `(study, number)`.
fn is_own(plan: &Plan, spec: &SearchSpec, share: Option<Share>, trial: (usize, usize)) -> bool {
    share.is_none_or(|share| {
        share_of_trial(spec, plan.len(), share.share_count(), trial) == share.index()
    })
}

/// Proposes the runs of a search, one after another, and receives their results.
pub struct Search<'a> {
    pub(super) plan: &'a Plan,
    pub(super) spec: &'a SearchSpec,
    pub(super) conditions: &'a RunConditions,
    pub(super) options: SearchOptions,
    pub(super) sampler: Sampler,
    pub(super) reader: Arc<ObjectiveReader>,
    pub(super) memory: KnownRuns,
    pub(super) studies: Vec<Study>,
    pub(super) running: HashMap<RunId, Proposal>,
    pub(super) weights: Weights,
    pub(super) opened: Instant,
    pub(super) earlier_s: f64,
    /// Keys of trials without a stored run, if no run is allowed; if the sampler or the pruner learns from earlier
    /// trials, only the first of each study.
    pub missing: Vec<String>,
    /// Why no further trial started, if a limit of the search was reached.
    pub spent: Option<String>,
}

impl<'a> Search<'a> {
    /// The search `spec` of `plan`, starting with the runs in `store`.
    pub fn new(
        plan: &'a Plan,
        spec: &'a SearchSpec,
        store: &Store,
        conditions: &'a RunConditions,
        options: SearchOptions,
    ) -> Self {
        let sampler = Sampler::of(spec);
        let reader = Arc::new(ObjectiveReader::new(spec, plan.report.target.first()));
        let mut memory = KnownRuns::new(Arc::clone(&reader), conditions.cores);
        if !options.fresh {
            memory.add_store(store, options.retry);
        }
        let is_own = |study: usize| {
            !spec.depends_on_results() || is_own(plan, spec, options.share, (study, 0))
        };
        let study = |index: usize| Study::new(index, plan.space_of(index), plan.trials_of(index));
        let studies = (0..plan.len()).filter(|study| is_own(*study)).map(study);
        Self {
            studies: studies.collect(),
            reader,
            earlier_s: memory.earlier_s(),
            opened: Instant::now(),
            running: HashMap::new(),
            weights: Weights::default(),
            missing: Vec::new(),
            spent: None,
            plan,
            spec,
            conditions,
            options,
            sampler,
            memory,
        }
    }

    pub(super) fn lag(&self) -> usize {
        if self.spec.depends_on_results() {
            self.spec.lag
        } else {
            usize::MAX
        }
    }

    /// Index in `studies` of the study with the fewest started trials among those that can start another one.
    fn ready(&self) -> Option<usize> {
        let ready = |study: &Study| {
            let number = study.next()?;
            study.is_ready(number, self.lag()).then_some(number)
        };
        let studies = self.studies.iter().enumerate();
        let ready = studies.filter_map(|(position, study)| Some((ready(study)?, position)));
        ready.min().map(|(_, position)| position)
    }

    /// Closes all studies once a limit of the search is reached.
    fn check_limits(&mut self) {
        if self.spent.is_some() || self.options.only_kept {
            return;
        }
        let seconds = self.earlier_s + self.opened.elapsed().as_secs_f64();
        let cost = self.memory.cost(&self.plan.cost);
        let exceeded_time = self.spec.max_time_s.filter(|limit| seconds >= *limit);
        let exceeded_cost = self.spec.max_cost.filter(|limit| cost >= *limit);
        let currency = &self.plan.cost.currency;
        let time = exceeded_time.map(|limit| format!("`search.max-time` of {limit} s is over"));
        let cost =
            exceeded_cost.map(|limit| format!("`search.max-cost` of {limit} {currency} is spent"));
        self.spent = time.or(cost);
        if self.spent.is_some() {
            self.studies.iter_mut().for_each(Study::close);
        }
    }

    /// The next trial of a study; `None` if its space is exhausted, or if the trial belongs to another share.
    fn propose(&mut self, position: usize) -> Option<Proposal> {
        let lag = self.lag();
        let study = &mut self.studies[position];
        let number = study.next()?;
        let is_own = is_own(
            self.plan,
            self.spec,
            self.options.share,
            (study.index, number),
        );
        if !is_own && self.spec.sampler.is_grid() {
            study.advance();
            return None;
        }
        let (past, before) = (study.past(number, lag), &study.proposed);
        let sampler = &self.sampler;
        let Some(point) = sampler.propose(&study.space, study.index, past, before, number) else {
            study.close();
            return None;
        };
        study.proposed.add(&point);
        study.advance();
        is_own.then(|| self.proposal(position, TrialRole::Trial, number, point))
    }

    /// The proposal of a trial (or a regret run) of the study at `position`.
    fn proposal(&self, position: usize, role: TrialRole, number: usize, point: Point) -> Proposal {
        let study = self.studies[position].index;
        let label = match role {
            TrialRole::Regret => format!("{number}-full"),
            _ => number.to_string(),
        };
        let cell = self.plan.trial(study, &label, &point);
        let info = info(study, number, role, point);
        self.proposal_of(position, cell, info, Vec::new())
    }

    /// The ensemble of the best trials of the study at `position`; `None` if they save no weights.
    fn ensemble(&self, position: usize) -> Option<Proposal> {
        let study = &self.studies[position];
        let best = study.best(self.spec.ensemble);
        let (cell, members) = follow_ups::ensemble(self.plan, study.index, best)?;
        let info = info(study.index, 0, TrialRole::Ensemble, Point::default());
        Some(self.proposal_of(position, cell, info, members))
    }

    fn proposal_of(
        &self,
        study: usize,
        cell: PlannedCell,
        info: TrialInfo,
        members: Vec<Member>,
    ) -> Proposal {
        let keys = self.conditions.keys(&cell, follow_ups::seed(&cell.spec), 0);
        let trial = Trial {
            awaits_verdicts: self.spec.pruner.prunes() && info.role.is_trial(),
            cell,
            info,
            members,
        };
        Proposal {
            study,
            trial,
            keys,
            curve: Vec::new(),
        }
    }

    /// The runs after the trials of a study, in reverse order. Ensemble members are included only if their weights are
    /// missing.
    fn follow_up_runs(&self, study: &Study) -> Vec<FollowUpRun> {
        let mut all = follow_ups::follow_up_runs(self.spec, study, self.spent.is_some());
        all.retain(|one| match one {
            FollowUpRun::Member(number, point) if !self.options.only_kept => {
                let trial = self.plan.trial(study.index, &number.to_string(), point);
                trial.spec.lacks_checkpoint(follow_ups::seed(&trial.spec))
            }
            FollowUpRun::Member(..) => false,
            FollowUpRun::Regret(..) | FollowUpRun::Ensemble => true,
        });
        all
    }

    /// The next follow-up run (regret run, member or ensemble) of the study at `position`, once its trials have ended.
    fn after_the_trials(&mut self, position: usize) -> Option<SourceItem> {
        let study = &self.studies[position];
        let mut left = match &study.follow_ups {
            Some(follow_ups) => follow_ups.clone(),
            None if !study.is_over() => return None,
            None if self.options.share.is_some() && !self.spec.depends_on_results() => Vec::new(),
            None => self.follow_up_runs(study),
        };
        let waits = left.last() == Some(&FollowUpRun::Ensemble) && study.running > 0;
        let next = if waits { None } else { left.pop() };
        self.studies[position].follow_ups = Some(left);
        let proposal = match next? {
            FollowUpRun::Member(number, point) => {
                let proposal = self.proposal(position, TrialRole::Trial, number, point);
                return Some(self.begin(proposal));
            }
            FollowUpRun::Regret(number, point) => {
                self.proposal(position, TrialRole::Regret, number, point)
            }
            FollowUpRun::Ensemble => self.ensemble(position)?,
        };
        self.reuse_or_run(proposal)
    }
}

impl Source for Search<'_> {
    fn remaining(&self) -> usize {
        let left = |study: &Study| study.limit - study.next().unwrap_or(study.limit);
        self.studies.iter().map(left).sum()
    }

    fn next(&mut self) -> Option<SourceItem> {
        loop {
            self.check_limits();
            let Some(position) = self.ready() else {
                let mut studies = 0..self.studies.len();
                return studies.find_map(|position| self.after_the_trials(position));
            };
            let proposal = self.propose(position);
            if let Some(next) = proposal.and_then(|proposal| self.reuse_or_run(proposal)) {
                return Some(next);
            }
        }
    }

    fn verdict(&mut self, id: RunId, epoch: &EpochRow) -> Option<Pruned> {
        let mut running = self.running.remove(&id)?;
        let Trial { info, cell, .. } = &running.trial;
        let value = self.reader.reported(&cell.spec, epoch);
        let point = value.map(|value| (epoch.epoch, value));
        running.curve.extend(point);
        let pruned = value.and_then(|_| {
            let metric = self.reader.metric(&cell.spec, epoch);
            self.judge(running.study, info.number, &running.curve, &metric)
        });
        self.running.insert(id, running);
        pruned
    }

    fn ended(&mut self, job: &mut Job, outcome: &RunOutcome) {
        let Some(running) = self.running.remove(&job.id) else {
            return;
        };
        self.studies[running.study].running -= 1;
        let Some(trial) = job.trial.as_mut().filter(|_| outcome.is_finished()) else {
            return;
        };
        let trial = Arc::make_mut(trial);
        trial.info.values = self.reader.values_of(outcome);
        trial.info.pruned = outcome.pruned.as_ref().map(|pruned| pruned.info.clone());
        let ending = match &outcome.pruned {
            Some(_) => TrialResult::Pruned,
            None => self.reader.ending(outcome.status, &trial.info.values),
        };
        let curve = self.reader.curve(&trial.cell.spec, &outcome.epochs);
        self.note(running.study, trial, ending, curve);
        let until = trial.info.pruned.as_ref().map(|pruned| pruned.step + 1);
        let keys = RunKeys {
            until,
            ..running.keys
        };
        let limits = trial.cell.spec.limits.as_ref().clone();
        self.memory.add(keys, limits, outcome);
    }
}

pub(super) struct Proposal {
    /// Index of the trial's study.
    pub(super) study: usize,
    pub(super) trial: Trial,
    pub(super) keys: RunKeys,
    /// `(epoch, value)` that the run has reported to the pruner so far.
    pub(super) curve: Vec<(usize, f64)>,
}
