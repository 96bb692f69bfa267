//! [`Study`]: the trials of one cell of the matrix, which of them have ended, and what they gave.

use std::collections::BTreeMap;

use crate::plan::search::{Point, PrunedInfo, Space, TrialInfo, TrialRole};

use super::{Ending, Record};

/// The trials of one cell of the matrix.
#[derive(Debug)]
pub(super) struct Study {
    /// Row of its cell in the matrix.
    pub(super) index: usize,
    pub(super) space: Space,
    /// Trials that there can be.
    pub(super) limit: usize,
    /// Number of the next trial.
    next: usize,
    /// Trials that have ended, up to the first that has not.
    ended: Vec<Record>,
    /// Trials that have ended after one that has not.
    early: BTreeMap<usize, Record>,
    /// Done trials with the value of the first objective (smaller is better) and the digest of their cell.
    best: Vec<Ranked>,
    /// Pruned trials with their points.
    pub(super) pruned: Vec<(usize, Point)>,
    /// What follows the last trial, first to come last; `None` until it is known.
    pub(super) finale: Option<Vec<Finale>>,
    /// Trials under way.
    pub(super) running: usize,
}

/// A done trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) number: usize,
    pub(super) loss: f64,
    pub(super) point: Point,
}

/// What comes after the last trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Finale {
    /// A pruned trial, to its end.
    Regret(usize, Point),
    /// One of the best, once more where its weights are gone.
    Member(usize, Point),
    /// The mean of the best.
    Ensemble,
}

impl Study {
    pub(super) fn new(index: usize, space: Space, limit: usize) -> Self {
        Self {
            index,
            space,
            limit,
            next: 0,
            ended: Vec::new(),
            early: BTreeMap::new(),
            best: Vec::new(),
            pruned: Vec::new(),
            finale: None,
            running: 0,
        }
    }

    /// Number of the next trial, where there is one.
    pub(super) fn next(&self) -> Option<usize> {
        (self.next < self.limit).then_some(self.next)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// No further trial.
    pub(super) fn close(&mut self) {
        self.limit = self.next;
    }

    /// Whether all its trials have ended.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.limit && self.running == 0
    }

    /// Whether the trials have ended that a decision about trial `number` is made from.
    pub(super) fn is_ready(&self, number: usize, lag: usize) -> bool {
        self.ended.len() >= number.saturating_sub(lag)
    }

    /// The trials that a decision about trial `number` is made from.
    pub(super) fn past(&self, number: usize, lag: usize) -> &[Record] {
        let known = number.saturating_sub(lag).min(self.ended.len());
        &self.ended[..known]
    }

    /// A trial has ended; one that ended before and ran again says nothing new.
    pub(super) fn tell(&mut self, record: Record) {
        if record.number < self.ended.len() || self.early.contains_key(&record.number) {
            return;
        }
        match &record.ending {
            Ending::Done(values) => self.rank(&record, values.first().copied()),
            Ending::Pruned => self.pruned.push((record.number, record.point.clone())),
            Ending::Failed => {}
        }
        self.early.insert(record.number, record);
        while let Some(record) = self.early.remove(&self.ended.len()) {
            self.ended.push(record);
        }
    }

    fn rank(&mut self, record: &Record, loss: Option<f64>) {
        let Some(loss) = loss else { return };
        let ranked = Ranked {
            number: record.number,
            loss,
            point: record.point.clone(),
        };
        let order = |other: &Ranked| {
            other
                .loss
                .total_cmp(&loss)
                .then(other.number.cmp(&ranked.number))
        };
        let place = self.best.partition_point(|other| order(other).is_lt());
        self.best.insert(place, ranked);
    }

    /// The best done trials, best first.
    pub(super) fn best(&self, count: usize) -> &[Ranked] {
        &self.best[..count.min(self.best.len())]
    }
}

/// What results keep of a trial that has not ended.
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

/// One line for the row of a pruned trial.
///
/// `limit` says what the threshold is: "the median of".
pub(super) fn reason(pruned: &PrunedInfo, limit: &str) -> String {
    let PrunedInfo {
        step,
        metric,
        value,
        threshold,
        trials,
    } = pruned;
    let numbers: Vec<String> = trials.iter().map(ToString::to_string).collect();
    let (first, last) = (trials.first(), trials.last());
    let which = match (first, last) {
        (Some(first), Some(last)) if trials.len() > 8 => {
            format!("{} trials, {first} to {last}", trials.len())
        }
        _ if trials.len() == 1 => format!("trial {}", numbers.join(" ")),
        _ => format!("trials {}", numbers.join(" ")),
    };
    format!(
        "step {step}: best {metric} {} is worse than {}, {limit} {which}",
        crate::base::units::human(*value, 6),
        crate::base::units::human(*threshold, 6),
    )
}
