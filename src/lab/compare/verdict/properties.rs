//! Property tests of verdicts, with random run times.

use proptest::prelude::*;

use super::tests::ALONE;
use super::*;
use crate::base::statistics::median;
use crate::compare::Verdict;
use crate::compare::floor::CellNoiseFloor;
use crate::compare::statistics::Draws;

const QUICK: Effort = Effort {
    resamples: 100,
    draws: Draws {
        most: 199,
        enough: 50,
    },
};

fn matrices() -> impl Strategy<Value = Vec<Samples>> {
    let design = prop_oneof![Just(Design::Interleaved), Just(Design::Sessions)];
    let floor = prop_oneof![Just(None), (0.001..0.2_f64).prop_map(Some)];
    let runs = prop_oneof![1_usize..6, 6_usize..14];
    (1_usize..5, runs, design, floor, 0.5..2.0_f64).prop_flat_map(
        |(cells, runs, design, floor, effect)| {
            let times = || prop::collection::vec(1.0..1.3_f64, runs);
            let cell = (times(), times()).prop_map(move |(before, after)| Samples {
                key: String::new(),
                before,
                after: after.into_iter().map(|time| time * effect).collect(),
                design,
                floor: CellNoiseFloor {
                    within: floor,
                    between: floor,
                    sessions: 3,
                },
                drifts: true,
                comparable: Ok(()),
            });
            prop::collection::vec(cell, cells).prop_map(|mut cells| {
                for (index, cell) in cells.iter_mut().enumerate() {
                    cell.key = format!("cell={index}");
                }
                cells
            })
        },
    )
}

fn changed(cells: &[Samples], change: impl Fn(&mut Samples)) -> Verdicts {
    let mut cells = cells.to_vec();
    cells.iter_mut().for_each(change);
    judge_with(&cells, ALONE, QUICK)
}

fn ends(verdicts: &Verdicts) -> Vec<[f64; 3]> {
    let cells = verdicts.cells.iter().filter_map(|cell| cell.ratio);
    let matrix = verdicts.matrix.as_ref().map(|matrix| matrix.ratio);
    cells
        .chain(matrix)
        .map(|ratio| [ratio.value, ratio.low, ratio.high])
        .collect()
}

fn words(verdicts: &Verdicts) -> Vec<Verdict> {
    let cells = verdicts.cells.iter().map(|cell| cell.verdict.clone());
    cells
        .chain(verdicts.matrix.iter().map(|matrix| matrix.verdict.clone()))
        .collect()
}

fn numbers(verdicts: &Verdicts) -> Vec<f64> {
    let cells = verdicts
        .cells
        .iter()
        .flat_map(|cell| [cell.p, cell.p_holm, cell.detectable]);
    let matrix = verdicts
        .matrix
        .iter()
        .flat_map(|m| [Some(m.p), Some(m.p_holm), m.detectable]);
    cells.chain(matrix).flatten().collect()
}

fn are_close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0))
}

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanging_the_sides_inverts_ratios_and_directions(cells in matrices()) {
        let here = judge_with(&cells, ALONE, QUICK);
        let there = changed(&cells, |cell| std::mem::swap(&mut cell.before, &mut cell.after));
        let inverted: Vec<f64> = ends(&there).into_iter().flat_map(|[v, l, h]| [1.0 / v, 1.0 / h, 1.0 / l]).collect();
        prop_assert!(are_close(&ends(&here).concat(), &inverted), "{:?} {inverted:?}", ends(&here));
        let p = |verdicts: &Verdicts| -> Vec<f64> {
            verdicts.cells.iter().filter_map(|cell| cell.p_holm).collect()
        };
        prop_assert!(are_close(&p(&here), &p(&there)));
        // The detectable effect, which decides about "same", is drawn anew for the other direction.
        let effects = |verdicts: Vec<Verdict>| -> Vec<Option<Verdict>> {
            let is_effect = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
            verdicts.into_iter().map(|verdict| Some(verdict).filter(is_effect)).collect()
        };
        let expected: Vec<Verdict> = words(&there).into_iter().map(turned).collect();
        prop_assert_eq!(effects(words(&here)), effects(expected));
    }

    #[test]
    fn another_unit_changes_nothing(cells in matrices(), unit in prop_oneof![Just(0.001), Just(7.3), Just(1000.0)]) {
        let here = judge_with(&cells, ALONE, QUICK);
        let there = changed(&cells, |cell| {
            let sides = cell.before.iter_mut().chain(&mut cell.after);
            sides.for_each(|time| *time *= unit);
        });
        prop_assert!(are_close(&ends(&here).concat(), &ends(&there).concat()));
        prop_assert!(are_close(&numbers(&here), &numbers(&there)));
        prop_assert_eq!(words(&here), words(&there));
    }

    #[test]
    fn the_order_of_pairs_changes_nothing(cells in matrices(), by in 1_usize..5) {
        let here = judge_with(&cells, ALONE, QUICK);
        let there = changed(&cells, |cell| {
            let by = by % cell.before.len();
            cell.before.rotate_left(by);
            cell.after.rotate_left(by);
        });
        prop_assert!(are_close(&ends(&here).concat(), &ends(&there).concat()));
        prop_assert!(are_close(&numbers(&here), &numbers(&there)));
        prop_assert_eq!(words(&here), words(&there));
    }

    #[test]
    fn no_word_of_an_effect_stands_without_a_test_an_interval_and_a_size(cells in matrices()) {
        let found = judge_with(&cells, ALONE, QUICK);
        for (cell, judgement) in cells.iter().zip(&found.cells) {
            if matches!(judgement.verdict, Verdict::Faster | Verdict::Slower) {
                let ratio = judgement.ratio.expect("an effect has a ratio");
                prop_assert!(judgement.p_holm.is_some_and(|p| p <= 0.05));
                prop_assert!(ratio.low > 1.0 || ratio.high < 1.0);
                let size = (median(&cell.after).expect("runs") / median(&cell.before).expect("runs")).ln().abs();
                prop_assert!(size > judgement.threshold.value.ln_1p());
                prop_assert!(cell.design == Design::Interleaved || cell.floor.between.is_some());
            }
            if judgement.verdict == Verdict::Same {
                prop_assert!(judgement.detectable.is_some() && judgement.p.is_some());
            }
        }
        if let Some(matrix) = found.matrix.filter(|m| matches!(m.verdict, Verdict::Faster | Verdict::Slower)) {
            prop_assert!(matrix.p_holm <= 0.05);
        }
    }
}
