//! [`Study`]: the trials of one matrix cell, with the results of finished ones.

use std::collections::BTreeMap;

use crate::base::units::human;
use crate::plan::search::{Point, PrunedInfo, Space, TrialInfo, TrialRole};

use super::sampler::ProposedPoints;
use super::{TrialRecord, TrialResult};

#[derive(Debug)]
pub(super) struct Study {
    /// Row index of the study's cell in the matrix.
    pub(super) index: usize,
    pub(super) space: Space,
    pub(super) limit: usize,
    /// Points of the trials so far.
    pub(super) proposed: ProposedPoints,
    next: usize,
    /// Finished trials, up to the first unfinished one.
    ended: Vec<TrialRecord>,
    /// Finished trials after the first unfinished one.
    early: BTreeMap<usize, TrialRecord>,
    /// Done trials with the value of the first objective (smaller is better), best first.
    best: Vec<Ranked>,
    /// Pruned trials with their points.
    pub(super) pruned: Vec<(usize, Point)>,
    /// Runs after the last trial, in reverse order; `None` until they are determined.
    pub(super) follow_ups: Option<Vec<FollowUpRun>>,
    pub(super) running: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) number: usize,
    pub(super) loss: f64,
    pub(super) point: Point,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FollowUpRun {
    /// A regret run: a pruned trial, repeated without pruning.
    Regret(usize, Point),
    /// One of the best trials, run again because its weights are missing.
    Member(usize, Point),
    /// The ensemble of the best trials.
    Ensemble,
}

impl Study {
    pub(super) fn new(index: usize, space: Space, limit: usize) -> Self {
        Self {
            index,
            space,
            limit,
            proposed: ProposedPoints::default(),
            next: 0,
            ended: Vec::new(),
            early: BTreeMap::new(),
            best: Vec::new(),
            pruned: Vec::new(),
            follow_ups: None,
            running: 0,
        }
    }

    /// Number of the next trial, if there is one.
    pub(super) fn next(&self) -> Option<usize> {
        (self.next < self.limit).then_some(self.next)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Ends the study: no further trial is started.
    pub(super) fn close(&mut self) {
        self.limit = self.next;
    }

    /// Whether all trials have ended.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.limit && self.running == 0
    }

    /// Whether all trials that a decision about trial `number` depends on have ended.
    pub(super) fn is_ready(&self, number: usize, lag: usize) -> bool {
        self.ended.len() >= number.saturating_sub(lag)
    }

    /// The trials that a decision about trial `number` depends on.
    pub(super) fn past(&self, number: usize, lag: usize) -> &[TrialRecord] {
        let known = number.saturating_sub(lag).min(self.ended.len());
        &self.ended[..known]
    }

    /// Records a finished trial; a repeated run of a recorded trial is ignored.
    pub(super) fn tell(&mut self, record: TrialRecord) {
        if record.number < self.ended.len() || self.early.contains_key(&record.number) {
            return;
        }
        match &record.ending {
            TrialResult::Done(values) => self.rank(&record, values.first().copied()),
            TrialResult::Pruned => self.pruned.push((record.number, record.point.clone())),
            TrialResult::Failed => {}
        }
        self.early.insert(record.number, record);
        while let Some(record) = self.early.remove(&self.ended.len()) {
            self.ended.push(record);
        }
    }

    fn rank(&mut self, record: &TrialRecord, loss: Option<f64>) {
        let Some(loss) = loss else { return };
        let number = record.number;
        let order = |other: &Ranked| other.loss.total_cmp(&loss).then(other.number.cmp(&number));
        let place = self.best.partition_point(|other| order(other).is_lt());
        let point = record.point.clone();
        let ranked = Ranked {
            number,
            loss,
            point,
        };
        self.best.insert(place, ranked);
    }

    /// The best done trials, best first.
    pub(super) fn best(&self, count: usize) -> &[Ranked] {
        &self.best[..count.min(self.best.len())]
    }
}

/// The stored description of a trial that has not ended.
pub(super) fn info(study: usize, number: usize, role: TrialRole, point: Point) -> TrialInfo {
    TrialInfo {
        study,
        number,
        role,
        point,
        values: Vec::new(),
        pruned: None,
    }
}

/// The one-line reason of a pruned trial.
///
/// `limit` describes the threshold, for example "the median of".
pub(super) fn reason(pruned: &PrunedInfo, limit: &str) -> String {
    let trials = &pruned.trials;
    let numbers: Vec<String> = trials.iter().map(ToString::to_string).collect();
    let which = match trials.as_slice() {
        [first, .., last] if trials.len() > 8 => {
            format!("{} trials, {first} to {last}", trials.len())
        }
        [one] => format!("trial {one}"),
        _ => format!("trials {}", numbers.join(" ")),
    };
    let (value, threshold) = (human(pruned.value, 6), human(pruned.threshold, 6));
    let (step, metric) = (pruned.step, &pruned.metric);
    format!("step {step}: best {metric} {value} is worse than {threshold}, {limit} {which}")
}
