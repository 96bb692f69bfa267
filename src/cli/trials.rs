//! [`Replay`]: the trials of a search that are there, and those that are not, without running any.

use std::collections::BTreeSet;

use crate::event::{RunEvent, Status};
use crate::execute::{Next, Source};
use crate::plan::Plan;
use crate::plan::search::SearchSpec;
use crate::results::store::{RunConditions, Store};
use crate::search::{Search, SearchOptions, sampler};

/// A trial by study and number.
pub(super) type TrialName = (usize, usize);

/// What a store holds of a search.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Trials that have ended.
    pub(super) ended: Vec<(TrialName, Status)>,
    /// Trials that are still to be run.
    pub(super) missing: Vec<TrialName>,
    /// Keys of what follows the last trial of a study (regret, ensemble) and is not there.
    pub(super) missing_after: Vec<String>,
}

impl Replay {
    /// Searches in what `store` holds alone, and tells `see` of every trial that is there.
    pub(super) fn of<E>(
        plan: &Plan,
        spec: &SearchSpec,
        store: &Store,
        conditions: &RunConditions,
        see: &mut dyn FnMut(&RunEvent<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let options = SearchOptions {
            only_kept: true,
            ..SearchOptions::default()
        };
        let mut search = Search::new(plan, spec, store, conditions, options);
        let mut replay = Self::default();
        while let Some(next) = search.next() {
            let Next::Kept {
                job,
                status,
                info,
                reason,
            } = next
            else {
                continue;
            };
            if info.role.is_trial() {
                replay.ended.push(((info.study, info.number), status));
            }
            see(&RunEvent::Kept {
                job: &job,
                status,
                info: &info,
                reason: &reason,
            })?;
        }
        replay.find_missing(plan, spec, search.missing());
        Ok(replay)
    }

    /// With trials that this machine cannot run as missing, where those that do the work are `given` devices.
    pub(super) fn expecting_devices(mut self, plan: &Plan, spec: &SearchSpec, given: bool) -> Self {
        let all = self.ended.len();
        if given {
            self.ended.retain(|(_, status)| *status != Status::Skipped);
        }
        if self.ended.len() < all {
            self.missing = self.not_there(plan, spec);
        }
        self
    }

    fn find_missing(&mut self, plan: &Plan, spec: &SearchSpec, keys: &[String]) {
        // A limit of time or cost may have ended it wherever it is.
        if keys.is_empty() || spec.max_time_s.is_some() || spec.max_cost.is_some() {
            return;
        }
        self.missing = self.not_there(plan, spec);
        if self.missing.is_empty() {
            self.missing_after = keys.to_vec();
        }
    }

    fn not_there(&self, plan: &Plan, spec: &SearchSpec) -> Vec<TrialName> {
        let there: BTreeSet<TrialName> = self.ended.iter().map(|(name, _)| *name).collect();
        let sampler = sampler::sampler(spec);
        let trials = (0..plan.len()).flat_map(|study| {
            let limit = sampler.limit(&plan.space_of(study)).unwrap_or(usize::MAX);
            (0..spec.trials.min(limit)).map(move |number| (study, number))
        });
        trials.filter(|name| !there.contains(name)).collect()
    }
}
