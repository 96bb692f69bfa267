//! Checks by simulation that intervals cover the truth and detectable effects are detected, in the scenario of
//! [`simulation`](super::simulation).

use super::simulation::{CALM, QUICK, Scenario, finds_first, rate, stream};
use super::tests::ALONE;
use super::*;
use crate::base::statistics::median;
use crate::compare::statistics::Draws;

/// Fewer random draws than in other simulations, for tests that need only one cell's detectable effect.
const FEW: Effort = Effort {
    resamples: 200,
    draws: Draws { most: 1, enough: 1 },
};
#[test]
fn intervals_cover_the_truth() {
    for (runs, is_paired) in [
        (6, true),
        (6, false),
        (10, true),
        (10, false),
        (20, true),
        (20, false),
    ] {
        let scenario = Scenario {
            cells: 1,
            runs,
            drift: if is_paired { 0.05 } else { 0.0 },
            planted: (1, 0.1),
            ..CALM
        };
        let covered = rate(1000, runs as u64, |rng| {
            let cells = if is_paired {
                scenario.interleaved(rng)
            } else {
                scenario.sessions(rng)
            };
            let cell = &cells[0];
            let ratio = ratio_of_runs(cell.sides(), &cell.resampled(QUICK)).expect("runs");
            ratio.low <= 1.1 && 1.1 <= ratio.high
        });
        assert!(
            (0.93..=0.98).contains(&covered),
            "{runs}, {is_paired}: {covered}"
        );
    }
}

#[test]
fn the_detectable_effect_is_found_about_four_times_in_five() {
    for (runs, cells, drift) in [(6, 8, 0.0), (10, 20, 0.0), (10, 1, 0.0), (14, 20, 0.3)] {
        let scenario = Scenario {
            cells,
            runs,
            drift,
            ..CALM
        };
        let mut rng = stream();
        let judged = (0..40).map(|_| judge_with(&scenario.interleaved(&mut rng), ALONE, FEW));
        let stated = judged.filter_map(|found| found.cells[0].detectable);
        let stated = median(&stated.collect::<Vec<f64>>()).expect("detectable effects");
        let planted = Scenario {
            planted: (1, stated),
            ..scenario
        };
        let found = rate(120, 21, |rng| finds_first(&planted.interleaved(rng)));
        assert!(
            (0.65..=0.95).contains(&found),
            "{runs}, {cells}: {stated}: {found}"
        );
    }
}
