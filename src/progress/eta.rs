//! [`Eta`]: how long the remaining runs will take, from those that have ended.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::event::RunId;

/// Collects how long runs of each cell took.
#[derive(Debug, Default)]
pub(super) struct Eta {
    slots: usize,
    left: usize,
    running: HashMap<RunId, (Instant, f64)>,
    ended_s: Vec<f64>,
}

impl Eta {
    pub(super) fn start(&mut self, runs: usize, slots: usize) {
        self.left = runs;
        self.slots = slots.max(1);
    }

    pub(super) fn begin(&mut self, id: RunId) {
        self.left = self.left.saturating_sub(1);
        self.running.insert(id, (Instant::now(), 0.0));
    }

    /// A run that was to come does not have to.
    pub(super) fn skip(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// One more run is to come than was known.
    pub(super) fn add_one(&mut self) {
        self.left += 1;
    }

    /// `share` of the run's steps are done.
    pub(super) fn advance(&mut self, id: RunId, share: f64) {
        if let Some((_, done)) = self.running.get_mut(&id) {
            *done = share;
        }
    }

    pub(super) fn end(&mut self, id: RunId, wall_s: f64) {
        self.running.remove(&id);
        self.ended_s.push(wall_s);
    }

    /// Time left; `None` while nothing is known.
    ///
    /// Mean time of a run × runs not begun ÷ slots, and the longest rest of those that go on. A mean, not a median: the
    /// sum over the remaining runs is asked for, and their order is random.
    pub(super) fn left(&self) -> Option<Duration> {
        let mean = self.mean_s()?;
        let rest = |(began, share): &(Instant, f64)| {
            let so_far = began.elapsed().as_secs_f64();
            let whole = if *share > 0.05 { so_far / share } else { mean };
            (whole - so_far).max(0.0)
        };
        let running = self.running.values().map(rest).fold(0.0, f64::max);
        let seconds = mean * self.left as f64 / self.slots.max(1) as f64 + running;
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn mean_s(&self) -> Option<f64> {
        if !self.ended_s.is_empty() {
            return Some(self.ended_s.iter().sum::<f64>() / self.ended_s.len() as f64);
        }
        let known = self.running.values().filter(|(_, share)| *share > 0.05);
        let wholes: Vec<f64> = known
            .map(|(began, share)| began.elapsed().as_secs_f64() / share)
            .collect();
        (!wholes.is_empty()).then(|| wholes.iter().sum::<f64>() / wholes.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_the_mean_over_the_slots() {
        let id = |cell| RunId {
            cell,
            seed: 0,
            block: 0,
        };
        let mut eta = Eta::default();
        eta.start(9, 2);
        assert_eq!(eta.left(), None);
        for cell in 0..3 {
            eta.begin(id(cell));
            eta.end(id(cell), [10.0, 20.0, 30.0][cell]);
        }
        assert_eq!(eta.left(), Some(Duration::from_mins(1)));
    }
}
