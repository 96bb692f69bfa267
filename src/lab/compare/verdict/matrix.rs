//! One test over all cells.

use crate::base::statistics::{mean, median, range};
use crate::compare::statistics::{
    Dice, Draws, Permuted, Stratum, detectable_mean, percentiles, permute, ratio_of_runs,
};
use crate::compare::{Design, MatrixJudgement, Ratio};
use crate::results::{IntervalKind, MIN_RUNS_FOR_BOOTSTRAP, bootstrap_stream};

use super::cell::TestedRatio;
use super::samples::{ALPHA, Family, Samples, VERDICT_STREAM, threshold};
use crate::compare::floor::CellNoiseFloor;

/// Values are clipped at this distance from the median, in median absolute deviations.
const CLIP: f64 = 3.0;

/// Tests whether the mean of the cells' log ratios is 0; `None` with fewer than two counted cells.
///
/// The statistic is the mean over cells of `mean(after) − mean(before)` of logarithms. Runs are clipped at three median
/// absolute deviations from their cell's median, and pair differences at three times the median absolute difference, so that
/// an outlier of twice the time cannot dominate. Unlike a ratio of medians the statistic is a sum, and the clipping does not
/// depend on labels, so labels can be exchanged exactly: within each pair if runs are paired, otherwise within the cell.
pub(super) fn test(samples: &[Samples], draws: Draws) -> Option<Permuted> {
    let counted: Vec<&Samples> = samples
        .iter()
        .filter(|cell| cell.has_usable_values())
        .collect();
    if counted.len() < 2 {
        return None;
    }
    let mut strata = Vec::new();
    let mut observed = 0.0;
    let mut keys = String::new();
    for cell in counted {
        keys += &cell.key;
        keys.push('\0');
        observed += add_strata(cell, &mut strata);
    }
    let mut dice = Dice(bootstrap_stream(&keys, VERDICT_STREAM));
    Some(permute(&strata, observed, draws, &mut dice))
}

/// Adds the strata of a cell, and returns the cell's contribution to the observed statistic.
fn add_strata(cell: &Samples, strata: &mut Vec<Stratum>) -> f64 {
    if cell.is_paired() {
        return add_pairs(cell, strata);
    }
    let (n, m) = (cell.before.len(), cell.after.len());
    let all = cell.after.iter().chain(&cell.before);
    let logs: Vec<f64> = all.map(|value| value.ln()).collect();
    let centre = median(&logs).unwrap_or_default();
    let distances: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    let clipped = clip(logs.iter().map(|log| log - centre), &distances);
    let share = 1.0 / n as f64 + 1.0 / m as f64;
    let middle = mean(&clipped).unwrap_or_default();
    let mut scores: Vec<f64> = clipped.iter().map(|v| (v - middle) * share).collect();
    let observed = scores[..m].iter().sum();
    // Sorted, so that neither labels nor the order of runs have an effect.
    scores.sort_by(f64::total_cmp);
    strata.push(Stratum {
        scores,
        labelled: n.min(m),
    });
    observed
}

fn add_pairs(cell: &Samples, strata: &mut Vec<Stratum>) -> f64 {
    let differences = cell.sides().differences();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let clipped = clip(differences.into_iter(), &sizes);
    let count = clipped.len() as f64;
    let mut sizes: Vec<f64> = clipped.iter().map(|d| d.abs() / count).collect();
    sizes.sort_by(f64::total_cmp);
    strata.extend(sizes.into_iter().map(|size| Stratum {
        scores: vec![-size, size],
        labelled: 1,
    }));
    clipped.iter().sum::<f64>() / count
}

/// Clips values to at most [`CLIP`] times the median of `distances` from 0.
fn clip(values: impl Iterator<Item = f64>, distances: &[f64]) -> Vec<f64> {
    let most = CLIP * median(distances).unwrap_or_default();
    // If more than half of the runs are equal, the median distance is 0 and nothing is clipped.
    let most = if most > 0.0 { most } else { f64::INFINITY };
    values.map(|value| value.clamp(-most, most)).collect()
}

impl Family {
    /// The judgement on all cells together; `resampled` are the cells' bootstrap log ratios.
    pub(super) fn judge_matrix(
        &self,
        samples: &[Samples],
        permuted: Permuted,
        resampled: &[Vec<f64>],
        p_holm: f64,
    ) -> MatrixJudgement {
        let counted = samples.iter().zip(resampled.iter().map(Vec::as_slice));
        let counted = counted.filter(|(cell, _)| cell.has_usable_values());
        let (cells, drawn): (Vec<&Samples>, Vec<&[f64]>) = counted.unzip();
        let ratio = mean_ratio(&cells, &drawn);
        let (design, floor) = (design(&cells), floor(&cells));
        let threshold = threshold(design, self.manifest, floor);
        let is_interval = ratio.kind == IntervalKind::Bootstrap95;
        let is_beyond = ratio.low > 1.0 || ratio.high < 1.0;
        let degrees = |cell: &&Samples| (cell.before.len() + cell.after.len()) - 2;
        let detectable = Some(&drawn).filter(|_| is_interval).and_then(|drawn| {
            let freedom = cells.iter().map(degrees).sum();
            detectable_mean(&means(drawn), freedom, self.alpha, threshold.value)
        });
        let finding = TestedRatio {
            ratio,
            // A range over few runs is not a confidence interval: then the test alone decides.
            is_significant: p_holm <= ALPHA && (is_beyond || !is_interval),
            threshold: threshold.value,
            detectable,
        };
        MatrixJudgement {
            cells: cells.len(),
            ratio,
            p: permuted.p,
            p_holm,
            permutations: (permuted.patterns, permuted.is_exact),
            detectable,
            verdict: finding.verdict(design, floor.between),
            threshold,
        }
    }
}

/// The design for all cells together: interleaved if the verdict on every cell uses that design.
fn design(cells: &[&Samples]) -> Design {
    let mut designs = cells.iter().map(|cell| cell.ruled_as());
    let apart = designs.find(|design| *design == Design::Sessions);
    apart.unwrap_or(Design::Interleaved)
}

/// Noise floor of the mean. Between sessions it is the mean of the cells' floors. Within a session it is that mean divided by
/// the square root of the number of cells, because noise within a session is independent between cells and averages out. No
/// floor if a cell has none.
fn floor(cells: &[&Samples]) -> CellNoiseFloor {
    let mean_of = |of: fn(&Samples) -> Option<f64>| {
        let floors: Option<Vec<f64>> = cells.iter().map(|cell| of(cell)).collect();
        floors.and_then(|floors| mean(&floors))
    };
    let within = mean_of(|cell| cell.floor.within);
    CellNoiseFloor {
        within: within.map(|floor| floor / (cells.len() as f64).sqrt()),
        between: mean_of(|cell| cell.floor.between),
        ..CellNoiseFloor::default()
    }
}

/// Geometric mean of the cells' ratios. With at least 6 runs per side in every cell it has a bootstrap interval, otherwise a
/// range: of the geometric means over pairs of equal index if all cells have the same number of pairs, else of the cells'
/// own ends.
fn mean_ratio(cells: &[&Samples], drawn: &[&[f64]]) -> Ratio {
    let ratios = cells.iter().zip(drawn);
    let ratios = ratios.filter_map(|(cell, drawn)| ratio_of_runs(cell.sides(), drawn));
    let ratios: Vec<Ratio> = ratios.collect();
    let mean_of = |of: fn(&Ratio) -> f64| {
        let logs: Vec<f64> = ratios.iter().map(|ratio| of(ratio).ln()).collect();
        mean(&logs).unwrap_or_default().exp()
    };
    let value = mean_of(|ratio| ratio.value);
    let of_cells = || (mean_of(|ratio| ratio.low), mean_of(|ratio| ratio.high));
    let pairs = cells[0].before.len();
    let is_like = |cell: &&Samples| cell.is_paired() && cell.before.len() == pairs;
    let fewest = cells.iter().map(|cell| cell.sides().fewer()).min();
    let (kind, ends) = if fewest >= Some(MIN_RUNS_FOR_BOOTSTRAP) {
        (IntervalKind::Bootstrap95, percentiles(&means(drawn)))
    } else if cells.iter().all(is_like) {
        let differences = cells.iter().map(|cell| cell.sides().differences());
        let ends = range(&means(&differences.collect::<Vec<_>>()));
        let ends = ends.map(|(low, high)| (low.exp(), high.exp()));
        match pairs {
            1 => (IntervalKind::Single, ends),
            _ => (IntervalKind::Range, ends),
        }
    } else {
        (IntervalKind::Range, None)
    };
    let (low, high) = ends.unwrap_or_else(of_cells);
    Ratio {
        value,
        low: low.min(value),
        high: high.max(value),
        kind,
    }
}

/// Mean of each column of `rows`.
fn means(rows: &[impl AsRef<[f64]>]) -> Vec<f64> {
    let places = rows.iter().map(|row| row.as_ref().len()).min();
    let sum = |place: usize| rows.iter().map(|row| row.as_ref()[place]).sum::<f64>();
    let means = (0..places.unwrap_or_default()).map(|place| sum(place) / rows.len() as f64);
    means.collect()
}
