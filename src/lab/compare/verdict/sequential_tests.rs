//! Error rates and power of verdicts on pairs that stop as soon as their verdict is significant, over simulated
//! sessions: log-normal times, every fiftieth run doubled, a drift of 5 %, the order within each pair by a coin, at
//! most 20 pairs. Seeded: the same on every machine.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::samples::DEFAULT_THRESHOLD;
use super::sequential::{fewest_pairs, has_sequential_verdict, judge};
use super::simulation::{CALM, Scenario, rate};
use super::*;
use crate::compare::floor::CellNoiseFloor;
use crate::compare::statistics::Evidence;
use crate::compare::{UnclearReason, Verdict};

const PAIRS: usize = 20;

/// Pairs of one cell, in which the side after takes `effect` times as long.
fn pairs(scenario: Scenario, effect: f64, rng: &mut ChaCha8Rng) -> [Vec<f64>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for pair in 0..PAIRS {
        let first = usize::from(rng.r#gen::<bool>());
        for (turn, side) in [(0, first), (1, 1 - first)] {
            let place = (2 * pair + turn) as f64 / (2 * PAIRS) as f64;
            let factor = if side == 1 { effect } else { 1.0 };
            sides[side].push(factor * scenario.time(place, rng));
        }
    }
    sides
}

/// The verdict on a cell whose pairs stop as soon as it is significant, and the number of pairs; `cells` cells are
/// compared.
fn ended(sides: &[Vec<f64>; 2], cells: usize) -> (Verdict, usize) {
    let [before, after] = sides;
    let n = length(sides, cells);
    // The verdict depends on the number of the other cells, not on their runs: each gets one pair.
    let cell = |key: usize| {
        let n = if key == 0 { n } else { 1 };
        samples(&key.to_string(), &before[..n], &after[..n])
    };
    let family: Vec<Samples> = (0..cells).map(cell).collect();
    let mut judged = judge(&family, None);
    (judged.cells.remove(0).verdict, n)
}

/// Number of pairs after which a cell's pairs stop.
fn length([before, after]: &[Vec<f64>; 2], cells: usize) -> usize {
    let is_enough =
        |n: &usize| has_sequential_verdict(&before[..*n], &after[..*n], cells, DEFAULT_THRESHOLD);
    (1..PAIRS).find(is_enough).unwrap_or(PAIRS)
}

fn samples(key: &str, before: &[f64], after: &[f64]) -> Samples {
    Samples {
        key: key.to_owned(),
        before: before.to_vec(),
        after: after.to_vec(),
        design: Design::UntilSure,
        floor: CellNoiseFloor::default(),
        drifts: true,
        comparable: Ok(()),
    }
}

fn is_alarm(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// Run times that differ by 3 % within a side, so that the log ratios of pairs have a deviation of 4.2 %.
const USUAL: Scenario = Scenario {
    cv: 0.03,
    drift: 0.05,
    ..CALM
};

#[test]
fn without_an_effect_a_false_alarm_is_rare_whenever_one_looks() {
    for cells in [1, 8] {
        let alarms = rate(1500, 1, |rng| {
            (0..cells).any(|_| is_alarm(&ended(&pairs(USUAL, 1.0, rng), cells).0))
        });
        assert!((0.001..=0.05).contains(&alarms), "{cells} cells: {alarms}");
    }
}

/// A cost is judged on the pairs after which the verdict on the time stopped. Here costs are the times without their
/// effect of 10 %, so that pairs stop when chance looks like an effect on the cost.
#[test]
fn a_cost_without_an_effect_raises_few_alarms_where_the_time_ended_the_pairs() {
    let alarms = rate(1500, 6, |rng| {
        let times = pairs(USUAL, 1.1, rng);
        let n = length(&times, 1);
        let [before, after] = times.map(|side| side[..n].to_vec());
        let costs: Vec<f64> = after.iter().map(|time| time / 1.1).collect();
        is_alarm(&judge(&[samples("a", &before, &costs)], None).cells[0].verdict)
    });
    assert!(alarms <= 0.05, "{alarms}");
}

#[test]
fn values_that_never_differ_are_the_same_after_a_few_pairs() {
    let (verdict, n) = ended(&[vec![5e8; PAIRS], vec![5e8; PAIRS]], 1);
    assert_eq!((verdict, n), (Verdict::Same, 7));
}

#[test]
fn an_effect_of_ten_per_cent_is_found_soon() {
    for (cells, most) in [(1, 10.0), (8, 13.0)] {
        let sum = std::sync::atomic::AtomicUsize::new(0);
        let found = rate(1500, 2, |rng| {
            let (verdict, n) = ended(&pairs(USUAL, 1.1, rng), cells);
            sum.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
            verdict == Verdict::Slower
        });
        let mean = sum.into_inner() as f64 / 1500.0;
        assert!(found >= 0.95, "{cells} cells: {found}");
        assert!(mean <= most, "{cells} cells: {mean} pairs");
    }
}

#[test]
fn no_effect_is_called_the_same_on_a_quiet_machine_and_an_effect_seldom() {
    // Log ratios of pairs with a deviation of 2 %.
    let quiet = Scenario {
        cv: 0.02 / std::f64::consts::SQRT_2,
        outliers: 0.0,
        ..USUAL
    };
    let same = |scenario: Scenario, effect: f64| {
        rate(1500, 3, move |rng| {
            ended(&pairs(scenario, effect, rng), 1).0 == Verdict::Same
        })
    };
    let found = same(quiet, 1.0);
    assert!(found >= 0.9, "{found}");
    for effect in [1.02, 1.03, 1.06] {
        for scenario in [quiet, USUAL] {
            let wrong = same(scenario, effect);
            assert!(wrong <= 0.05, "{effect}: {wrong}");
        }
    }
}

/// "The effect is beyond the threshold" is a stronger claim than "slower". For an effect equal to the threshold it is
/// made in at most 5 % of all cases, as promised.
#[test]
fn beyond_the_threshold_is_claimed_wrongly_as_seldom_as_promised() {
    let claimed = |effect: f64| {
        rate(1500, 4, move |rng| {
            let [before, after] = pairs(USUAL, effect, rng);
            let ratios = before.iter().zip(&after).map(|(old, new)| (new / old).ln());
            let found = Evidence::of(&ratios.collect::<Vec<f64>>(), DEFAULT_THRESHOLD.ln_1p());
            found.beyond.0.max(found.beyond.1) >= 2.0 / ALPHA
        })
    };
    assert!(claimed(1.02) <= 0.05, "{}", claimed(1.02));
    assert!(claimed(1.10) >= 0.95, "{}", claimed(1.10));
}

#[test]
fn the_interval_contains_the_effect_at_every_look() {
    let covered = rate(600, 5, |rng| {
        let [before, after] = pairs(USUAL, 1.1, rng);
        let ratios = before.iter().zip(&after).map(|(old, new)| (new / old).ln());
        let ratios: Vec<f64> = ratios.collect();
        (8..=PAIRS).all(|n| {
            let interval = crate::compare::statistics::anytime_interval(&ratios[..n], ALPHA);
            interval.is_none_or(|(low, high)| low <= 1.1_f64.ln() && 1.1_f64.ln() <= high)
        })
    });
    assert!(covered >= 0.95, "{covered}");
}

#[test]
fn pairs_that_cannot_show_an_effect_yet_are_too_few() {
    let needed = [1, 8].map(fewest_pairs);
    assert_eq!(needed, [6, 9]);
    let few = [vec![1.0; 5], vec![1.3; 5]];
    assert!(!has_sequential_verdict(&few[0], &few[1], 1, 0.02));
    let judged = judge(&[samples("a", &few[0], &few[1])], None);
    assert_eq!(judged.cells[0].verdict, Verdict::TooFewRuns(6));
    assert_eq!(judged.matrix, None);
}

#[test]
fn an_effect_below_the_threshold_is_no_verdict() {
    let before = vec![1.0; PAIRS];
    // Half of the ratios are above the threshold of 2 %, half are below.
    let after = (0..PAIRS).map(|n| [1.010, 1.028][n % 2]).collect();
    let (verdict, n) = ended(&[before, after], 1);
    assert_eq!(
        (verdict, n),
        (Verdict::Unclear(UnclearReason::AtThreshold(0.02)), PAIRS)
    );
}
