//! Divides the trials of a search into shares.

use crate::base::text::count;
use crate::plan::search::{SamplerSpec, SearchSpec};
use crate::results::Share;

/// Index (from 1) of the share, out of `of`, for trial `number` of study `study` (both from 0) in a search with
/// `studies` studies.
///
/// Trials that are independent of each other are assigned one by one, by number first, then by study, so that
/// increasing `trials` does not move earlier trials. If trials depend on earlier ones of their study, whole studies are
/// assigned.
pub fn share_of_trial(
    search: &SearchSpec,
    studies: usize,
    of: usize,
    (study, number): (usize, usize),
) -> usize {
    let place = if search.depends_on_results() {
        study
    } else {
        number * studies + study
    };
    Share::share_of_item(place, of)
}

/// Refuses to divide a search with dependent trials that has fewer studies than shares: a share would never have
/// anything to do.
///
/// # Errors
/// A sentence for the user.
pub fn check_shares(search: &SearchSpec, studies: usize, shares: usize) -> Result<(), String> {
    if !search.depends_on_results() || studies >= shares {
        return Ok(());
    }
    let learns = match search.sampler {
        SamplerSpec::Tpe(_) | SamplerSpec::Nsga2(_) => "learns from earlier trials",
        _ => "prunes trials by earlier ones",
    };
    Err(format!(
        "this search {learns}, so machines can share whole studies but not the trials of one study, and it has \
         {}, fewer than {shares} shares",
        count(studies, "study")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::{FailedTrials, MedianSection, NoSettings, PrunerSpec, Space};

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
        let share: Share = share.parse().unwrap();
        check_shares(search, studies, share.share_count()).unwrap();
        let all =
            (0..search.trials).flat_map(|number| (0..studies).map(move |study| (study, number)));
        all.filter(|&(study, number)| {
            share_of_trial(search, studies, share.share_count(), (study, number)) == share.index()
        })
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
                .all(|&name| share_of_trial(&random, 1, 2, name) == 2)
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
                .all(|&name| share_of_trial(&pruned, 3, 2, name) == 1)
        );
        let studies: std::collections::BTreeSet<usize> = owned.iter().map(|t| t.0).collect();
        assert_eq!(owned.len(), studies.len() * 6);
        assert_eq!(
            check_shares(&pruned, 1, 2).unwrap_err(),
            "this search prunes trials by earlier ones, so machines can share whole studies but not the trials of one \
             study, and it has 1 study, fewer than 2 shares"
        );
    }
}
