//! [`CellNoiseFloors`]: bounds on the differences that noise alone causes on a machine, estimated from A/A runs (a
//! build against itself).

use std::collections::{BTreeMap, BTreeSet};

use crate::base::statistics::{mean, median};
use crate::results::{NoiseRow, by_key};

use super::statistics::student_quantile;

/// Smallest number of sessions from which the difference between sessions is estimated.
pub const MIN_FLOOR_SESSIONS: usize = 3;
/// Probability that the difference of two sessions that all cells share exceeds its bound.
const SHARED_ALPHA: f64 = 0.04;
/// Probability that the difference of two sessions in a single cell exceeds its bound, for any cell.
const OWN_ALPHA: f64 = 0.01;

/// Noise floor of a cell, as relative differences (0.02 is 2 %).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CellNoiseFloor {
    /// Relative difference that noise causes within one session; `None` if it was not measured.
    pub within: Option<f64>,
    /// Relative difference that noise causes between two sessions; `None` with fewer than three sessions.
    pub between: Option<f64>,
    /// Number of A/A sessions of the cell.
    pub sessions: usize,
}

/// The noise floors of one machine's cells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellNoiseFloors {
    by_hash: BTreeMap<String, CellNoiseFloor>,
    by_key: BTreeMap<String, CellNoiseFloor>,
}

impl CellNoiseFloors {
    /// Computes the floors from the rows of the machine `env_id`.
    ///
    /// *Within*: how far the interval of a cell's A/A ratio reached from 1, median over its sessions.
    ///
    /// *Between*: a bound on how far the medians of two further sessions differ; all cells of a matrix stay below it with
    /// probability 95 %. The logarithm of a cell's median is modelled as `cell + session + rest`. The session part `g` is
    /// shared by all cells and is bounded once; the rest is bounded for each of the C cells (Bonferroni): `√2 (t(1 − 0.04/2;
    /// S − 1) s_g + t(1 − 0.01/(2 C); f) s_rest)`, with `s_rest` pooled over cells, or the cell's own if that is larger.
    /// Differences between the sessions' commits count as noise, which makes the bound wider.
    pub fn new(rows: &[NoiseRow], env_id: &str) -> Self {
        let own = rows.iter().filter(|row| row.env_id == env_id);
        let cells = by_key(own, |row| &row.key);
        let mut floors = Self::default();
        let between = Sessions::new(&cells).map(|sessions| sessions.bounds());
        for (key, rows) in cells {
            let sessions: BTreeSet<&str> = rows.iter().map(|row| &*row.session).collect();
            let reached: Vec<f64> = rows.iter().map(|row| reach(row)).collect();
            let floor = CellNoiseFloor {
                within: median(&reached),
                between: between.as_ref().and_then(|all| all.get(key).copied()),
                sessions: sessions.len(),
            };
            floors.by_key.insert(key.to_owned(), floor);
            if let Some(row) = rows.iter().max_by_key(|row| &row.session) {
                floors.by_hash.insert(row.cell_hash.clone(), floor);
            }
        }
        floors
    }

    /// The floor of a cell: that of the same cell hash, else of the same key.
    pub fn of(&self, key: &str, cell_hash: &str) -> CellNoiseFloor {
        let found = self.by_hash.get(cell_hash).or_else(|| self.by_key.get(key));
        found.copied().unwrap_or_default()
    }
}

/// How far the interval of a row's ratio extends from 1.
fn reach(row: &NoiseRow) -> f64 {
    let distances = [row.ratio_low, row.ratio_high, row.ratio].map(|end| end.ln().abs());
    distances.into_iter().fold(0.0, f64::max).exp_m1()
}

/// Logarithms of medians by cell and session, for cells measured in enough sessions.
struct Sessions<'a> {
    /// Residuals after subtracting the cell's mean and the session's shift, by cell.
    rest: BTreeMap<&'a str, Vec<f64>>,
    /// Shift of each session from the cells' means, as a logarithm.
    shared: Vec<f64>,
}

impl<'a> Sessions<'a> {
    /// Splits the logarithms into session shifts and residuals; `None` if no cell was measured in enough sessions.
    fn new(cells: &BTreeMap<&'a str, Vec<&'a NoiseRow>>) -> Option<Self> {
        let mut centred: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (key, rows) in cells {
            let logs = |row: &&'a NoiseRow| (&*row.session, row.median_ms_per_sample.ln());
            // A session counts once per cell; the last of its rows is used.
            let logs: BTreeMap<&str, f64> = rows.iter().map(logs).collect();
            let centre = mean(&logs.values().copied().collect::<Vec<f64>>())?;
            if logs.len() >= MIN_FLOOR_SESSIONS {
                let around = logs.into_iter().map(|(name, log)| (name, log - centre));
                centred.insert(key, around.collect());
            }
        }
        let mut by_session: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (session, log) in centred.values().flatten() {
            by_session.entry(session).or_default().push(*log);
        }
        let shift = |(session, logs): (_, Vec<f64>)| (session, mean(&logs).unwrap_or_default());
        let shifts: BTreeMap<&str, f64> = by_session.into_iter().map(shift).collect();
        let rest = |logs: BTreeMap<&str, f64>| -> Vec<f64> {
            let rest = logs.into_iter().map(|(session, log)| log - shifts[session]);
            rest.collect()
        };
        let rest = centred.into_iter().map(|(key, logs)| (key, rest(logs)));
        let rest: BTreeMap<&str, Vec<f64>> = rest.collect();
        (!rest.is_empty()).then(|| Self {
            rest,
            shared: shifts.into_values().collect(),
        })
    }

    fn bounds(&self) -> BTreeMap<&'a str, f64> {
        let (sessions, cells) = (self.shared.len(), self.rest.len());
        let squares = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let shared = (squares(&self.shared) / (sessions - 1) as f64).sqrt()
            * student_quantile(1.0 - SHARED_ALPHA / 2.0, sessions - 1);
        let values: usize = self.rest.values().map(Vec::len).sum();
        let freedom = (values + 1).saturating_sub(cells + sessions);
        let pooled: f64 = self.rest.values().map(|rest| squares(rest)).sum::<f64>();
        let pooled = pooled / freedom.max(1) as f64;
        let quantile = student_quantile(1.0 - OWN_ALPHA / (2.0 * cells as f64), freedom.max(1));
        let bound = |rest: &Vec<f64>| {
            let own = squares(rest) / (rest.len() - 1) as f64;
            // With a single cell the session's shift equals its deviation: every residual is 0.
            let rest = if freedom > 0 {
                pooled.max(own).sqrt() * quantile
            } else {
                0.0
            };
            (std::f64::consts::SQRT_2 * (shared + rest)).exp_m1()
        };
        let bounds = self.rest.iter().map(|(key, rest)| (*key, bound(rest)));
        bounds.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(session: usize, key: &str, median: f64) -> NoiseRow {
        NoiseRow {
            env_id: "e".into(),
            session: format!("2026-11-{session:02}T00:00:00Z"),
            key: key.into(),
            cell_hash: format!("hash of {key}"),
            pairs: 10,
            median_ms_per_sample: median,
            ratio: 1.01,
            ratio_low: 0.98,
            ratio_high: 1.03,
        }
    }

    #[test]
    fn within_a_session_it_is_how_far_the_interval_reached() {
        let rows = [row(1, "a", 1.0)];
        let floor = CellNoiseFloors::new(&rows, "e").of("a", "hash of a");
        assert!((floor.within.expect("measured") - 0.03).abs() < 1e-12);
        assert_eq!((floor.between, floor.sessions), (None, 1));
        assert_eq!(
            CellNoiseFloors::new(&rows, "other").of("a", "hash of a"),
            CellNoiseFloor::default()
        );
    }

    #[test]
    fn a_changed_specification_is_found_by_its_key() {
        let floors = CellNoiseFloors::new(&[row(1, "a", 1.0)], "e");
        assert_eq!(floors.of("a", "?").sessions, 1);
        assert_eq!(floors.of("renamed", "hash of a").sessions, 1);
        assert_eq!(floors.of("b", "?"), CellNoiseFloor::default());
    }

    #[test]
    fn sessions_that_shift_all_cells_alike_count_once() {
        let shifts = [1.0, 1.02, 0.98, 1.01];
        let of = |cells: &[&str]| {
            let rows: Vec<NoiseRow> = (0..4)
                .flat_map(|s| {
                    cells
                        .iter()
                        .map(move |key| row(s + 1, key, 2.0 * shifts[s]))
                })
                .collect();
            CellNoiseFloors::new(&rows, "e")
                .of("a", "")
                .between
                .expect("four sessions")
        };
        // logs 0, 0.019803, −0.020203, 0.00995 around their mean: s = 0.017093 (numpy.std, ddof=1); t(0.98; 3) = 3.481909.
        let expected = (2.0_f64.sqrt() * 0.017_093 * 3.481_909).exp_m1();
        assert!((of(&["a"]) - expected).abs() < 1e-4, "{}", of(&["a"]));
        assert!((of(&["a", "b", "c"]) - expected).abs() < 1e-4);
    }

    #[test]
    fn what_is_a_cells_own_makes_the_bound_wider() {
        let shifts = [1.0, 1.02, 0.98, 1.01];
        let mut rows: Vec<NoiseRow> = (0..4)
            .flat_map(|s| ["a", "b"].map(|key| row(s + 1, key, shifts[s])))
            .collect();
        let plain = CellNoiseFloors::new(&rows, "e").of("a", "").between;
        rows[0].median_ms_per_sample *= 1.05;
        assert!(CellNoiseFloors::new(&rows, "e").of("a", "").between > plain);
        rows.truncate(4);
        assert_eq!(CellNoiseFloors::new(&rows, "e").of("a", "").between, None);
    }
}
