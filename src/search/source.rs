//! [`Search`]: the source of a search's runs.
//!
//! Trial by trial: what the sampler proposes is looked up among the runs that are known, and run where it is not there. A
//! resumed search therefore asks for everything again, and finds what it had. Decisions about trial `i` of a study wait for
//! its trials up to `i − lag − 1` and see no others, so that they do not depend on how many trials run at one time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::event::{EpochRow, Job, Member, Pruned, RunId, RunOutcome, Status, Trial, Verdict};
use crate::execute::{Next, Source};
use crate::plan::search::{Point, SearchSpec, TrialInfo, TrialRole};
use crate::plan::{CellSpec, Feasibility, Plan, PlannedCell};
use crate::results::store::{Here, RunKeys, Store};

use super::finale::{self, Weights};
use super::memory::{Known, Memory};
use super::pruner::{Pruner, pruner};
use super::sampler::{Sampler, sampler};
use super::study::{Finale, Study, info};
use super::values::Reader;
use super::{Ending, Record};

/// How to search.
#[derive(Default)]
pub struct SearchOptions {
    /// Runs of earlier invocations count for nothing.
    pub fresh: bool,
    /// What failed runs again.
    pub retry: bool,
    /// Nothing runs: a study ends where a trial is not there.
    pub only_kept: bool,
    /// Whether a trial, by study and number, is this invocation's; all without it. A search that learns is divided by
    /// studies: it is asked for their first trials then.
    pub owns: Option<Box<dyn Fn(usize, usize) -> bool>>,
}

/// The source of a search's runs.
pub struct Search<'a> {
    plan: &'a Plan,
    spec: &'a SearchSpec,
    here: &'a Here,
    options: SearchOptions,
    sampler: Box<dyn Sampler>,
    pruner: Option<Box<dyn Pruner>>,
    reader: Reader,
    memory: Memory,
    studies: Vec<Study>,
    running: HashMap<RunId, Running>,
    weights: Weights,
    opened: Instant,
    earlier_s: f64,
    /// Keys of trials that are not there, where nothing is to run.
    missing: Vec<String>,
    spent: Option<String>,
}

/// A trial under way.
struct Running {
    study: usize,
    number: usize,
    spec: Arc<CellSpec>,
    keys: RunKeys,
    curve: Vec<(usize, f64)>,
}

/// What is known of a proposed trial.
struct Proposal {
    study: usize,
    cell: PlannedCell,
    info: TrialInfo,
    keys: RunKeys,
    members: Vec<Member>,
}

impl<'a> Search<'a> {
    /// The search of `plan`, which has one, from what `store` holds.
    pub fn new(
        plan: &'a Plan,
        spec: &'a SearchSpec,
        store: &Store,
        here: &'a Here,
        options: SearchOptions,
    ) -> Self {
        let sampler = sampler(spec);
        let memory = if options.fresh {
            Memory::default()
        } else {
            Memory::of(store, options.retry, here.cores)
        };
        let is_own = |study: usize| {
            let owns = options.owns.as_ref().filter(|_| spec.learns());
            owns.is_none_or(|owns| owns(study, 0))
        };
        let studies = (0..plan.len())
            .filter(|study| is_own(*study))
            .map(|index| {
                let space = plan.space_of(index);
                let limit = sampler.limit(&space).unwrap_or(usize::MAX);
                Study::new(index, space, spec.trials.min(limit))
            })
            .collect();
        Self {
            pruner: pruner(spec),
            reader: Reader::new(spec, plan.report.target.first()),
            earlier_s: memory.earlier_s(),
            opened: Instant::now(),
            running: HashMap::new(),
            weights: Weights::new(spec.ensemble),
            missing: Vec::new(),
            spent: None,
            plan,
            spec,
            here,
            options,
            sampler,
            memory,
            studies,
        }
    }

    /// Keys of trials that are not there, where nothing was to run; the first of each study where later ones depend on it.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Why no further trial began, where a limit of the search was reached.
    pub fn spent(&self) -> Option<&str> {
        self.spent.as_deref()
    }

    fn lag(&self) -> usize {
        if self.spec.learns() {
            self.spec.lag
        } else {
            usize::MAX
        }
    }

    /// The study with the fewest trials begun that can begin another one.
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
    fn look_at_the_clock(&mut self) {
        if self.spent.is_some() || self.options.only_kept {
            return;
        }
        let seconds = self.earlier_s + self.opened.elapsed().as_secs_f64();
        let cost = self.memory.cost(&self.plan.cost);
        let late = self.spec.max_time_s.filter(|limit| seconds >= *limit);
        let dear = self.spec.max_cost.filter(|limit| cost >= *limit);
        self.spent = late
            .map(|limit| format!("`search.max-time` of {limit} s is over"))
            .or_else(|| {
                let currency = &self.plan.cost.currency;
                dear.map(|limit| format!("`search.max-cost` of {limit} {currency} is spent"))
            });
        if self.spent.is_some() {
            self.studies.iter_mut().for_each(Study::close);
        }
    }

    /// The next trial of a study; `None` where its space is exhausted, or the trial is another share's.
    fn propose(&mut self, position: usize) -> Option<Proposal> {
        let lag = self.lag();
        let study = &mut self.studies[position];
        let number = study.next()?;
        let owns = self.options.owns.as_ref().filter(|_| !self.spec.learns());
        if owns.is_some_and(|owns| !owns(study.index, number)) {
            study.advance();
            return None;
        }
        let past = study.past(number, lag);
        let point = self
            .sampler
            .propose(&study.space, study.index, past, number);
        let Some(point) = point else {
            study.close();
            return None;
        };
        study.advance();
        let info = info(study.index, number, TrialRole::Trial, point);
        Some(self.proposal(position, &number.to_string(), info))
    }

    fn proposal(&self, study: usize, label: &str, info: TrialInfo) -> Proposal {
        let cell = self.plan.trial(info.study, label, &info.point);
        self.proposal_of(study, cell, info, Vec::new())
    }

    fn proposal_of(
        &self,
        study: usize,
        cell: PlannedCell,
        info: TrialInfo,
        members: Vec<Member>,
    ) -> Proposal {
        let seed = cell.spec.measure.seeds.first().copied().unwrap_or(0);
        let keys = self.here.keys(&cell, seed, 0);
        Proposal {
            study,
            cell,
            info,
            keys,
            members,
        }
    }

    /// Finds the trial among what is known, or has it run.
    fn settle(&mut self, proposal: Proposal) -> Option<Next> {
        let reason = match &proposal.cell.feasibility {
            Feasibility::Runs => None,
            Feasibility::Infeasible(reason) => Some((Status::Infeasible, reason.clone())),
            Feasibility::Skipped(reason) => Some((Status::Skipped, reason.clone())),
        };
        let limits = proposal.cell.spec.limits.as_ref();
        let found = self.memory.find(&proposal.keys, limits);
        let settled = self.settled(&proposal, &found);
        // What another machine has run is there, also where this one could not.
        if settled.is_none()
            && let Some((status, reason)) = reason
        {
            let looks_on = self.options.only_kept && !self.spec.learns();
            if status == Status::Skipped && !looks_on {
                // The others would say the same.
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

    /// A trial is not there, and nothing is to run: those that need it are not looked for.
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

    /// What a known run says of the trial: the pruner is asked again, which may have seen other trials then.
    fn settled(&self, proposal: &Proposal, found: &[&Known]) -> Option<Settled> {
        for known in found {
            let curve = self.reader.curve(&proposal.cell.spec, &known.epochs);
            let verdict = self.replay(proposal, &curve, &known.epochs);
            match (&verdict, known.keys.until) {
                (None, None) => return Some(self.whole(known, curve)),
                (Some((pruned, _)), _) => {
                    let until = Some(pruned.info.step + 1);
                    let prefix = found.iter().find(|other| other.keys.until == until);
                    return prefix.map(|prefix| self.ended_early(prefix, verdict.clone()));
                }
                // A longer run was ended where this trial would go on.
                (None, Some(_)) => {}
            }
        }
        None
    }

    fn whole(&self, known: &Known, curve: Vec<(usize, f64)>) -> Settled {
        let values = self.reader.values(known.facts.as_ref(), known);
        Settled {
            status: known.status,
            reason: known.reason.clone(),
            ending: self.reader.ending(known.status, &values, &known.epochs),
            values,
            pruned: None,
            curve,
        }
    }

    fn ended_early(&self, known: &Known, verdict: Option<(Pruned, Vec<(usize, f64)>)>) -> Settled {
        let (pruned, curve) = verdict.unzip();
        Settled {
            status: Status::Pruned,
            reason: pruned
                .as_ref()
                .map(|p| p.reason.clone())
                .unwrap_or_default(),
            ending: Ending::Pruned,
            values: self.reader.values(known.facts.as_ref(), known),
            pruned,
            curve: curve.unwrap_or_default(),
        }
    }

    /// Where the pruner would have ended a trial with this curve, with the curve up to there.
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

    fn judge(
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

    /// The trial runs.
    fn begin(&mut self, proposal: Proposal) -> Next {
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

    /// Takes note of a trial that has ended.
    fn tell(&mut self, proposal: &Proposal, ending: Ending, curve: Vec<(usize, f64)>) {
        self.note(
            proposal.study,
            &proposal.info,
            &proposal.cell,
            ending,
            curve,
        );
    }

    fn note(
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

    /// What follows the trials of a study that is over.
    fn after_the_trials(&mut self) -> Option<Next> {
        for position in 0..self.studies.len() {
            if !self.studies[position].is_over() && self.studies[position].finale.is_none() {
                continue;
            }
            let study = &self.studies[position];
            let mut finale = match &study.finale {
                Some(finale) => finale.clone(),
                None if self.options.owns.is_some() && !self.spec.learns() => Vec::new(),
                None => finale::finale(self.spec, study, self.spent.is_some()),
            };
            let next = finale.pop();
            self.studies[position].finale = Some(finale);
            let proposal = match next {
                None => continue,
                Some(Finale::Regret(number, point)) => {
                    let study = self.studies[position].index;
                    let info = info(study, number, TrialRole::Regret, point);
                    self.proposal(position, &format!("{number}-full"), info)
                }
                Some(Finale::Ensemble) => {
                    let study = &self.studies[position];
                    let best = study.best(self.spec.ensemble);
                    let Some((cell, members)) = finale::ensemble(self.plan, study.index, best)
                    else {
                        continue;
                    };
                    let info = info(study.index, 0, TrialRole::Ensemble, Point::default());
                    self.proposal_of(position, cell, info, members)
                }
            };
            if let Some(next) = self.settle(proposal) {
                return Some(next);
            }
        }
        None
    }
}

/// What a trial gave, from runs that are known.
struct Settled {
    status: Status,
    reason: String,
    ending: Ending,
    values: Vec<Option<f64>>,
    pruned: Option<Pruned>,
    curve: Vec<(usize, f64)>,
}

impl Source for Search<'_> {
    fn remaining(&self) -> usize {
        let trials = self.studies.iter().map(|study| {
            let next = study.next().unwrap_or(study.limit);
            study.limit - next
        });
        trials.sum()
    }

    fn next(&mut self) -> Option<Next> {
        loop {
            self.look_at_the_clock();
            let Some(position) = self.ready() else {
                return self.after_the_trials();
            };
            let proposal = self.propose(position);
            if let Some(next) = proposal.and_then(|proposal| self.settle(proposal)) {
                return Some(next);
            }
        }
    }

    fn verdict(&mut self, id: RunId, epoch: &EpochRow) -> Verdict {
        let Some(mut running) = self.running.remove(&id) else {
            return Verdict::GoOn;
        };
        let value = self.reader.reported(&running.spec, epoch);
        running
            .curve
            .extend(value.map(|value| (epoch.epoch, value)));
        let pruned = value.and_then(|_| {
            let metric = self.reader.metric(&running.spec, epoch);
            self.judge(running.study, running.number, &running.curve, &metric)
        });
        self.running.insert(id, running);
        match pruned {
            Some(pruned) => Verdict::Prune(pruned),
            None => Verdict::GoOn,
        }
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
            Some(_) => Ending::Pruned,
            None => self
                .reader
                .ending(outcome.status, &trial.info.values, &outcome.epochs),
        };
        let curve = self.reader.curve(&trial.cell.spec, &outcome.epochs);
        self.note(running.study, &trial.info, &trial.cell, ending, curve);
        let until = trial.info.pruned.as_ref().map(|pruned| pruned.step + 1);
        let keys = RunKeys {
            until,
            ..running.keys
        };
        let limits = trial.cell.spec.limits.as_ref().clone();
        self.memory.add(keys, limits, outcome);
    }
}
