//! How failed trials change what samplers propose: in a space of which a quarter fails, beside the best point or away
//! from it.

use crate::base::statistics::median;
use crate::compare::mann_whitney;
use crate::plan::search::{FailedTrials, Nsga2Section, Point, SamplerSpec, TpeSection};
use crate::search::sampler::testing::{int, log_float, of, searched, space};
use crate::search::{TrialRecord, TrialResult};

const SEEDS: u64 = 20;
const TRIALS: usize = 40;

/// How a trial ends: it fails with a learning rate above 0.1; the best rate is `10^best`.
fn ending(point: &Point, best: f64) -> TrialResult {
    let [rate, depth] = [0, 1].map(|index| point.get(index).expect("a value").as_f64());
    let exponent = rate.log10();
    if exponent > -1.0 {
        return TrialResult::Failed;
    }
    TrialResult::Done(vec![(exponent - best).abs() + 0.02 * (depth - 5.0).powi(2)])
}

/// Numbers of failed trials, and best values, with one entry per seed.
fn results(kind: &SamplerSpec, failed: FailedTrials, best: f64) -> [Vec<f64>; 2] {
    let space = space([log_float(1e-4, 1.0), int(1, 8, 1)]);
    let [mut counts, mut bests] = [Vec::new(), Vec::new()];
    for seed in 0..SEEDS {
        let mut sampler = of(kind.clone(), seed);
        sampler.failed = failed;
        let trials = searched(&sampler, &space, TRIALS, 4, |point| ending(point, best));
        let values = trials.iter().filter_map(TrialRecord::values);
        let values: Vec<f64> = values.map(|values| values[0]).collect();
        counts.push((trials.len() - values.len()) as f64);
        bests.push(values.into_iter().fold(f64::INFINITY, f64::min));
    }
    [counts, bests]
}

#[test]
fn few_trials_fail_where_a_quarter_of_the_space_does_and_the_best_is_no_worse() {
    let tpe = SamplerSpec::Tpe(TpeSection::default());
    let nsga2 = SamplerSpec::Nsga2(Nsga2Section { population: 10 });
    for (kind, best) in [(&tpe, -1.0), (&tpe, -2.0), (&nsga2, -1.0), (&nsga2, -2.0)] {
        let own = results(kind, FailedTrials::Worst, best);
        let ignored = results(kind, FailedTrials::Ignore, best);
        let [failed, value] = own.each_ref().map(|all| median(all).expect("seeds"));
        let [failed_then, value_then] = ignored.each_ref().map(|all| median(all).expect("seeds"));
        let p = mann_whitney(&own[1], &ignored[1]).expect("seeds");
        let told = format!(
            "{kind:?}, best at 1e{best}: {failed} of {TRIALS} failed, best {value:.4}; \
             ignored {failed_then}, {value_then:.4} (p {p:.2})"
        );
        println!("{told}");
        assert!(failed <= 10.0, "{told}");
        assert!(kind == &nsga2 || failed <= failed_then / 2.0, "{told}");
        assert!(value <= value_then || p > 0.05, "{told}");
    }
}
