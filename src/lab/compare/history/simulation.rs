//! How often changes and blips are found in simulated repositories of 60 sessions with 4 % noise between sessions, over
//! 200 seeds.

use rand_distr::{Distribution, Normal};

use crate::base::{Purpose, Seed};
use crate::compare::{Threshold, ThresholdSource};

use super::judge::judge;
use super::{CellHistory, HistoryPoint};

const SEEDS: u64 = 200;
const SESSIONS: usize = 60;
const NOISE: f64 = 0.04;
/// Sessions in which a change or a blip is planted: early, in the middle, late.
const PLACES: [usize; 5] = [12, 21, 30, 39, 48];

/// Simulated times of cells that have noise, but no change.
fn repository(seed: u64, cells: usize) -> Vec<CellHistory> {
    let mut rng = Seed(seed).stream(Purpose::Bootstrap);
    let noise = Normal::new(0.0, NOISE).expect("a distribution");
    let cell = |cell: usize| {
        let points = (0..SESSIONS).map(|session| HistoryPoint {
            session,
            ms: (1.0 + cell as f64) * f64::exp(noise.sample(&mut rng)),
        });
        CellHistory {
            label: format!("cell {cell}"),
            is_current: true,
            is_whole_run: false,
            points: points.collect(),
            threshold: Threshold {
                value: 0.02,
                source: ThresholdSource::Default,
            },
            changes: Vec::new(),
            blips: Vec::new(),
        }
    };
    (0..cells).map(cell).collect()
}

/// Number of the [`SEEDS`] repositories in which `is_so` holds after `change` was applied to the first cell at one of
/// the [`PLACES`].
fn count(
    cells: usize,
    change: impl Fn(&mut [HistoryPoint], usize),
    is_so: impl Fn(&[CellHistory], usize) -> bool,
) -> usize {
    let is_so = |seed: &u64| {
        let at = PLACES[*seed as usize % PLACES.len()];
        let mut all = repository(*seed, cells);
        change(&mut all[0].points, at);
        judge(&mut all);
        is_so(&all, at)
    };
    (0..SEEDS).filter(is_so).count()
}

/// Number of repositories in which a lasting change of the first cell's times by `factor` is found within two sessions
/// of the true one.
fn found(cells: usize, factor: f64) -> usize {
    let change = |points: &mut [HistoryPoint], at: usize| {
        points[at..].iter_mut().for_each(|point| point.ms *= factor);
    };
    count(cells, change, |all, at| {
        let near = |session: usize| session.abs_diff(at) <= 2;
        all[0].changes.iter().any(|change| near(change.session))
    })
}

#[test]
fn lasting_changes_of_a_cell_are_found() {
    for cells in [1, 8] {
        let (large, small) = (found(cells, 1.15), found(cells, 1.08));
        println!("{cells} cells: 15 % in {large}, 8 % in {small} of {SEEDS}");
        assert!(large >= 190, "15 %, {cells} cells: {large} of {SEEDS}");
        assert!(small >= 150, "8 %, {cells} cells: {small} of {SEEDS}");
    }
}

#[test]
fn one_session_apart_is_a_blip_and_no_change() {
    for cells in [1, 8] {
        let blip = |points: &mut [HistoryPoint], at: usize| points[at].ms *= 1.3;
        let told = count(cells, blip, |all, at| {
            let is_it = all[0].blips.iter().any(|blip| blip.session == at);
            is_it && all[0].changes.is_empty()
        });
        println!("{cells} cells: {told} of {SEEDS}");
        assert!(told >= 180, "{cells} cells: {told} of {SEEDS}");
    }
}

#[test]
fn noise_alone_is_seldom_called_a_change_or_a_blip() {
    for cells in [1, 8] {
        let is_called = |all: &[CellHistory], _: usize| {
            all.iter()
                .any(|cell| !cell.changes.is_empty() || !cell.blips.is_empty())
        };
        let called = count(cells, |_, _| {}, is_called);
        println!("{cells} cells: {called} of {SEEDS}");
        assert!(called <= 10, "{cells} cells: {called} of {SEEDS}");
    }
}
