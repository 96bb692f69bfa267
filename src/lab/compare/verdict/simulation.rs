//! Error rates and power of verdicts over simulated comparisons.
//!
//! Run times are log-normal, and every fiftieth is doubled; a session drifts linearly; sessions differ by an offset shared
//! by all cells and one per cell. Seeded: the rates below are equal on every machine.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::tests::ALONE;
use super::*;
use crate::base::statistics::median;
use crate::base::{Purpose, Seed};
use crate::compare::floor::CellNoiseFloor;
use crate::compare::statistics::Draws;
use crate::compare::{CellNoiseFloors, Test, Verdict};
use crate::results::NoiseRow;

/// Fewer draws than a real comparison: enough for rates, and for p-values that survive 21 tests.
pub(super) const QUICK: Effort = Effort {
    resamples: 1000,
    draws: Draws {
        most: 1_999,
        enough: 20,
    },
};
/// Fraction of runs that take twice the time.
const OUTLIERS: f64 = 0.02;

/// A machine and an experiment on it.
#[derive(Clone, Copy)]
pub(super) struct Scenario {
    pub cells: usize,
    /// Runs per side.
    pub runs: usize,
    /// Coefficient of variation between runs.
    pub cv: f64,
    pub outliers: f64,
    /// Relative growth of run times over a session.
    pub drift: f64,
    /// Standard deviation of the logarithm of a session's offset: shared by all cells, and per cell.
    pub offset: (f64, f64),
    /// Number of cells that are made slower, and by how much.
    pub planted: (usize, f64),
}

pub(super) const CALM: Scenario = Scenario {
    cells: 20,
    runs: 10,
    cv: 0.05,
    outliers: OUTLIERS,
    drift: 0.0,
    offset: (0.0, 0.0),
    planted: (0, 0.0),
};

impl Scenario {
    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        StandardNormal.sample(rng)
    }

    /// Time of a run at position `place` (0 to 1) of its session.
    pub(super) fn time(&self, place: f64, rng: &mut ChaCha8Rng) -> f64 {
        let sigma = (self.cv * self.cv).ln_1p().sqrt();
        let factor = if rng.r#gen::<f64>() < self.outliers {
            2.0
        } else {
            1.0
        };
        factor * (1.0 + self.drift * place) * (sigma * Self::normal(rng)).exp()
    }

    fn effect(&self, cell: usize) -> f64 {
        if cell < self.planted.0 {
            1.0 + self.planted.1
        } else {
            1.0
        }
    }

    /// Simulates one session, whose runs of both sides alternate in ABBA order.
    pub(super) fn interleaved(&self, rng: &mut ChaCha8Rng) -> Vec<Samples> {
        let places = (2 * self.runs - 1) as f64;
        let cell = |cell: usize| {
            let mut sides = [Vec::new(), Vec::new()];
            for turn in 0..2 * self.runs {
                let side = usize::from(turn % 4 == 1 || turn % 4 == 2);
                sides[side].push(self.time(turn as f64 / places, rng));
            }
            let [before, mut after] = sides;
            for time in &mut after {
                *time *= self.effect(cell);
            }
            samples(cell, before, after, Design::Interleaved)
        };
        (0..self.cells).map(cell).collect()
    }

    fn offsets(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let shared = self.offset.0 * Self::normal(rng);
        let own = |_| (shared + self.offset.1 * Self::normal(rng)).exp();
        (0..self.cells).map(own).collect()
    }

    pub(super) fn sessions(&self, rng: &mut ChaCha8Rng) -> Vec<Samples> {
        let (first, second) = (self.offsets(rng), self.offsets(rng));
        let side = |factor: f64, rng: &mut ChaCha8Rng| -> Vec<f64> {
            let place = |run: usize| run as f64 / self.runs as f64;
            (0..self.runs)
                .map(|run| factor * self.time(place(run), rng))
                .collect()
        };
        let cell = |cell: usize| {
            let before = side(first[cell], rng);
            let after = side(second[cell] * self.effect(cell), rng);
            samples(cell, before, after, Design::Sessions)
        };
        (0..self.cells).map(cell).collect()
    }

    /// Rows of `noise.csv` from `sessions` simulated A/A sessions.
    fn noise(&self, sessions: usize, rng: &mut ChaCha8Rng) -> Vec<NoiseRow> {
        let mut rows = Vec::new();
        for session in 0..sessions {
            let offsets = self.offsets(rng);
            for (cell, offset) in offsets.into_iter().enumerate() {
                let times = (0..2 * self.runs).map(|_| offset * self.time(0.5, rng));
                rows.push(NoiseRow {
                    session: format!("session {session}"),
                    key: key(cell),
                    pairs: self.runs,
                    median_ms_per_sample: median(&times.collect::<Vec<f64>>()).expect("runs"),
                    ratio: 1.0,
                    ratio_low: 0.98,
                    ratio_high: 1.02,
                    ..NoiseRow::default()
                });
            }
        }
        rows
    }
}

fn key(cell: usize) -> String {
    format!("cell={cell}")
}

fn samples(cell: usize, before: Vec<f64>, after: Vec<f64>, design: Design) -> Samples {
    Samples {
        key: key(cell),
        before,
        after,
        design,
        floor: CellNoiseFloor::default(),
        drifts: true,
        comparable: Ok(()),
    }
}

/// Sets the cells' floors from `sessions` simulated A/A sessions.
fn with_floor(scenario: &Scenario, sessions: usize, rng: &mut ChaCha8Rng, cells: &mut [Samples]) {
    let floors = CellNoiseFloors::new(&scenario.noise(sessions, rng), "");
    for cell in cells {
        cell.floor = floors.of(&cell.key, "?");
    }
}

/// Fraction of `count` trials that succeed; each has its own random stream.
pub(super) fn rate(count: u64, seed: u64, trial: impl Fn(&mut ChaCha8Rng) -> bool + Sync) -> f64 {
    let succeeds = |index: &u64| {
        let mut rng = Seed(seed).stream_at(Purpose::Noise, &[*index]);
        trial(&mut rng)
    };
    (0..count).into_par_iter().filter(succeeds).count() as f64 / count as f64
}

fn is_effect(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// Whether any verdict is faster or slower. To save time, intervals are drawn only if sizes and tests allow that.
/// That changes no verdict: `properties.rs` checks that each effect has a size above its threshold and a significant
/// test.
fn alarms(cells: &[Samples]) -> bool {
    let size = |cell: &Samples| {
        let ratio = median(&cell.after).zip(median(&cell.before));
        ratio.map_or(0.0, |(after, before)| (after / before).ln())
    };
    let limit = |cell: &Samples| threshold(cell.design(), None, cell.floor).value.ln_1p();
    let is_large = cells.iter().any(|cell| size(cell).abs() > limit(cell));
    // The threshold of all cells together is at most the mean of the cells' thresholds.
    if !is_large || !test(cells, 1, QUICK).adjusted.iter().any(|&p| p <= ALPHA) {
        return false;
    }
    let verdicts = judge_with(cells, ALONE, QUICK);
    let mut of_cells = verdicts.cells.iter().map(|cell| &cell.verdict);
    of_cells.any(is_effect)
        || verdicts
            .matrix
            .is_some_and(|matrix| is_effect(&matrix.verdict))
}

/// Whether the verdict on the first cell is "slower". Few patterns are drawn for the matrix: its p-value is then never small
/// enough to relax Holm's correction of the cells.
pub(super) fn finds_first(cells: &[Samples]) -> bool {
    let draws = Draws {
        most: 199,
        enough: 10,
    };
    let tested = test(cells, 1, Effort { draws, ..QUICK });
    let p_holm = tested.cells[0].and_then(|_| tested.adjusted.first().copied());
    let family = Family::new(cells, &tested, ALONE);
    let drawn = cells[0].resampled(QUICK);
    family
        .judge_cell(&cells[0], &drawn, tested.cells[0], p_holm)
        .verdict
        == Verdict::Slower
}

#[test]
fn in_one_session_that_drifts_no_more_than_one_of_twenty_comparisons_raises_an_alarm() {
    let scenario = Scenario {
        drift: 0.05,
        ..CALM
    };
    let found = rate(1000, 1, |rng| alarms(&scenario.interleaved(rng)));
    assert!(found <= 0.05, "{found}");
}

/// Rounds the runs of `cells` to multiples of 0.03, so that many are equal, as memory peaks of runs often are.
fn in_steps(mut cells: Vec<Samples>) -> Vec<Samples> {
    for cell in &mut cells {
        for value in cell.before.iter_mut().chain(&mut cell.after) {
            *value = (*value / 0.03).round() * 0.03;
        }
        cell.drifts = false;
    }
    cells
}

#[test]
fn runs_of_few_different_values_raise_no_more_alarms_in_one_session_or_two() {
    for (cells, runs, trials) in [(20, 10, 300), (1, 4, 1000), (1, 6, 1000)] {
        let scenario = Scenario {
            cells,
            runs,
            cv: 0.03,
            ..CALM
        };
        let paired = rate(trials, 13, |rng| {
            alarms(&in_steps(scenario.interleaved(rng)))
        });
        let apart = rate(trials, 14, |rng| alarms(&in_steps(scenario.sessions(rng))));
        assert!(
            paired <= 0.05 && apart <= 0.05,
            "{cells} cells: {paired}, {apart}"
        );
    }
}

#[test]
fn two_sessions_raise_an_alarm_in_no_more_than_one_of_twenty_above_a_stored_floor() {
    let scenario = Scenario {
        offset: (0.03, 0.01),
        ..CALM
    };
    let found = rate(1000, 4, |rng| {
        let mut cells = scenario.sessions(rng);
        with_floor(&scenario, 5, rng, &mut cells);
        alarms(&cells)
    });
    assert!(found <= 0.05, "{found}");
}

#[test]
fn a_tenth_slower_is_found_in_nine_of_ten_sessions_of_pairs() {
    let scenario = Scenario {
        cv: 0.03,
        drift: 0.05,
        planted: (1, 0.1),
        ..CALM
    };
    let found = rate(400, 6, |rng| finds_first(&scenario.interleaved(rng)));
    assert!(found >= 0.9, "{found}");
}

#[test]
fn a_tenth_slower_is_found_in_nine_of_ten_pairs_of_sessions_above_a_floor_of_three_percent() {
    let scenario = Scenario {
        cv: 0.03,
        planted: (1, 0.1),
        ..CALM
    };
    let found = rate(400, 7, |rng| {
        let mut cells = scenario.sessions(rng);
        for cell in &mut cells {
            cell.floor.between = Some(0.03);
        }
        finds_first(&cells)
    });
    assert!(found >= 0.9, "{found}");
}

#[test]
fn pairs_carry_through_a_session_that_drifts_by_a_third() {
    let scenario = Scenario {
        cv: 0.03,
        drift: 0.3,
        runs: 14,
        planted: (1, 0.1),
        ..CALM
    };
    let tested = choice::test_cells(&scenario.interleaved(&mut stream()), 1);
    assert!(
        tested
            .iter()
            .flatten()
            .all(|test| test.test == Test::SignFlip)
    );
    let found = rate(100, 8, |rng| finds_first(&scenario.interleaved(rng)));
    assert!(found >= 0.6, "{found}");
    let quiet = Scenario {
        planted: (0, 0.0),
        cv: 0.05,
        ..scenario
    };
    let alarm = rate(200, 9, |rng| alarms(&quiet.interleaved(rng)));
    assert!(alarm <= 0.05, "{alarm}");
}

pub(super) fn stream() -> ChaCha8Rng {
    Seed(20).stream(Purpose::Noise)
}

#[test]
fn three_repeats_of_eight_cells_show_a_tenth_over_the_matrix() {
    let scenario = Scenario {
        cells: 8,
        runs: 3,
        cv: 0.03,
        drift: 0.05,
        planted: (8, 0.1),
        ..CALM
    };
    let is_shown = |cells: &[Samples]| {
        let matrix = judge_with(cells, ALONE, QUICK).matrix;
        matrix.is_some_and(|matrix| is_effect(&matrix.verdict))
    };
    let paired = rate(200, 11, |rng| is_shown(&scenario.interleaved(rng)));
    assert!(paired >= 0.9, "{paired}");
    let apart = rate(200, 12, |rng| {
        let mut cells = scenario.sessions(rng);
        for cell in &mut cells {
            cell.floor.between = Some(0.03);
        }
        is_shown(&cells)
    });
    assert!(apart >= 0.9, "{apart}");
    let quiet = Scenario {
        planted: (0, 0.0),
        cv: 0.05,
        ..scenario
    };
    let alarm = rate(300, 11, |rng| is_shown(&quiet.interleaved(rng)));
    assert!(alarm <= 0.05, "{alarm}");
}
