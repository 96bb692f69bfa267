//! [`Replay`]: finished and missing trials of a search, found without running any.

use std::collections::BTreeSet;

use crate::event::{RunEvent, Status};
use crate::execute::{Source, SourceItem};
use crate::plan::Plan;
use crate::plan::search::SearchSpec;
use crate::results::store::{RunConditions, Store};
use crate::search::{Search, SearchOptions};

pub(super) type TrialName = (usize, usize);

/// The trials of a search in a store.
#[derive(Debug, Default)]
pub(super) struct Replay {
    pub(super) ended: Vec<(TrialName, Status)>,
    pub(super) missing: Vec<TrialName>,
    /// Keys of missing runs after the last trial of a study (regret, ensemble).
    pub(super) missing_after: Vec<String>,
}

impl Replay {
    /// Replays the search with the results in `store`, and passes every finished trial to `see`.
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
            let SourceItem::Kept(kept) = next else {
                continue;
            };
            let trial = kept.job.trial.iter().map(|trial| &trial.info);
            let trial = trial.filter(|info| info.role.is_trial());
            replay
                .ended
                .extend(trial.map(|info| ((info.study, info.number), kept.status)));
            see(&RunEvent::Kept(&kept))?;
        }
        replay.find_missing(plan, spec, &search.missing);
        Ok(replay)
    }

    /// If the executing machines have other devices than this one (`given`), counts trials that this machine skips as
    /// missing.
    pub(super) fn expecting_devices(mut self, plan: &Plan, given: bool) -> Self {
        let is_skipped = |(_, status): &(TrialName, Status)| *status == Status::Skipped;
        if given && self.ended.iter().any(is_skipped) {
            self.ended.retain(|trial| !is_skipped(trial));
            self.missing = self.not_there(plan);
        }
        self
    }

    fn find_missing(&mut self, plan: &Plan, spec: &SearchSpec, keys: &[String]) {
        // With a limit of time or cost, the search may have ended at any trial.
        if keys.is_empty() || spec.max_time_s.is_some() || spec.max_cost.is_some() {
            return;
        }
        self.missing = self.not_there(plan);
        if self.missing.is_empty() {
            self.missing_after = keys.to_vec();
        }
    }

    fn not_there(&self, plan: &Plan) -> Vec<TrialName> {
        let there: BTreeSet<TrialName> = self.ended.iter().map(|(name, _)| *name).collect();
        let trials = (0..plan.len())
            .flat_map(|study| (0..plan.trials_of(study)).map(move |number| (study, number)));
        trials.filter(|name| !there.contains(name)).collect()
    }
}
