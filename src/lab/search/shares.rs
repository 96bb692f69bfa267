//! [`TrialShare`]: divides the trials of a search into shards.

use crate::base::text::count;
use crate::plan::search::{PrunerSpec, SamplerSpec, SearchSpec};
use crate::results::Share;

/// The trials of a search that belong to a shard.
///
/// Trials that are independent of each other are dealt one by one, by number first, then by study, so that increasing
/// `trials` does not move earlier trials. If trials depend on earlier ones of their study, whole studies are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialShare {
    share: Share,
    /// Number of studies of the search, if single trials are dealt.
    studies: Option<usize>,
}

/// The error of a search with dependent trials that has fewer studies than shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this search {learns}, so that its studies can be shared among machines and the trials of one study cannot: it has {}, \
     fewer than {shares} shares", count(*studies, "study")
)]
pub struct TooFewStudies {
    learns: &'static str,
    studies: usize,
    shares: usize,
}

impl TrialShare {
    /// The trials of `search`, with `studies` studies, that belong to `share`.
    ///
    /// # Errors
    /// [`TooFewStudies`], if a shard would never have anything to do.
    pub fn of(search: &SearchSpec, studies: usize, share: Share) -> Result<Self, TooFewStudies> {
        let learns = what_learns(search);
        let shares = share.of();
        match learns.filter(|_| studies < shares) {
            Some(learns) => Err(TooFewStudies {
                learns,
                studies,
                shares,
            }),
            None => Ok(Self {
                share,
                studies: learns.is_none().then_some(studies),
            }),
        }
    }

    /// Index (from 1) of the shard, out of `of`, for trial `number` of study `study` in a search with `studies` studies.
    pub fn index(
        search: &SearchSpec,
        studies: usize,
        of: usize,
        (study, number): (usize, usize),
    ) -> usize {
        let studies = what_learns(search).is_none().then_some(studies);
        Share::owner(place(studies, study, number), of)
    }

    /// Whether trial `number` of study `study`, both from 0, belongs to the shard.
    pub fn owns(self, study: usize, number: usize) -> bool {
        self.share.owns(place(self.studies, study, number))
    }
}

/// Number by which a trial is dealt.
fn place(studies: Option<usize>, study: usize, number: usize) -> usize {
    studies.map_or(study, |studies| number * studies + study)
}

/// The part of a search that makes trials depend on earlier ones; `None` if they are independent.
fn what_learns(search: &SearchSpec) -> Option<&'static str> {
    match (&search.sampler, &search.pruner) {
        (SamplerSpec::Tpe(_) | SamplerSpec::Nsga2(_), _) => Some("learns from earlier trials"),
        (_, PrunerSpec::None(_)) => None,
        _ => Some("prunes trials by earlier ones"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::{FailedTrials, MedianSection, NoSettings, Space};

    const RANDOM: SamplerSpec = SamplerSpec::Random(NoSettings {});

    fn search(sampler: SamplerSpec, pruner: PrunerSpec) -> SearchSpec {
        SearchSpec {
            space: Space::default(),
            sampler,
            pruner,
            objectives: Vec::new(),
            trials: 6,
            jobs: 1,
            lag: 4,
            seed: 0,
            max_time_s: None,
            max_cost: None,
            regret: 0,
            ensemble: 0,
            failed: FailedTrials::default(),
            final_set: serde_json::Map::new(),
        }
    }

    fn owned(search: &SearchSpec, studies: usize, share: &str) -> Vec<(usize, usize)> {
        let share = TrialShare::of(search, studies, share.parse().unwrap()).unwrap();
        let all =
            (0..search.trials).flat_map(|number| (0..studies).map(move |study| (study, number)));
        all.filter(|&(study, number)| share.owns(study, number))
            .collect()
    }

    #[test]
    fn independent_trials_are_dealt_one_by_one() {
        let random = search(RANDOM, PrunerSpec::None(NoSettings {}));
        let (first, second) = (owned(&random, 1, "1/2"), owned(&random, 1, "2/2"));
        assert_eq!(first.len(), 3);
        assert_eq!(second.len(), 3);
        assert!(first.iter().all(|trial| !second.contains(trial)));
        assert!(
            second
                .iter()
                .all(|&name| TrialShare::index(&random, 1, 2, name) == 2)
        );
    }

    #[test]
    fn more_trials_leave_the_earlier_ones_where_they_were() {
        let mut random = search(RANDOM, PrunerSpec::None(NoSettings {}));
        let before = owned(&random, 3, "2/4");
        random.trials = 12;
        assert_eq!(owned(&random, 3, "2/4")[..before.len()], before);
    }

    #[test]
    fn a_search_with_dependent_trials_is_dealt_by_study() {
        let median = PrunerSpec::Median(MedianSection::default());
        let pruned = search(RANDOM, median);
        let owned = owned(&pruned, 3, "1/2");
        assert!(
            owned
                .iter()
                .all(|&name| TrialShare::index(&pruned, 3, 2, name) == 1)
        );
        let studies: std::collections::BTreeSet<usize> = owned.iter().map(|t| t.0).collect();
        assert_eq!(owned.len(), studies.len() * 6);
        let error = TrialShare::of(&pruned, 1, "1/2".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this search prunes trials by earlier ones, so that its studies can be shared among machines and the trials \
             of one study cannot: it has 1 study, fewer than 2 shares"
        );
    }
}
