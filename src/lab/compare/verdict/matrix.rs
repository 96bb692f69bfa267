//! One test over all cells.

use crate::base::statistics::{mean, median, range};
use crate::base::{Purpose, Seed};
use crate::compare::statistics::{
    Dice, Draws, Permuted, Stratum, detectable_mean, percentiles, permute, ratio_of_runs,
};
use crate::compare::{Design, MatrixJudgement, Ratio, Threshold, ThresholdSource};
use crate::results::{BOOTSTRAP_FROM, IntervalKind};

use super::cell::Finding;
use super::{ALPHA, Family, JUDGED, Samples, sessions_threshold, threshold_from};

/// Values are clipped at this distance from the median, in median absolute deviations.
const CLIP: f64 = 3.0;

pub(super) struct MatrixTest {
    pub permuted: Permuted,
}

/// Tests whether the mean of the cells' log ratios is 0; `None` with fewer than two counted cells.
///
/// The statistic is the mean over cells of `mean(after) − mean(before)` of logarithms. Runs are clipped at three median
/// absolute deviations from their cell's median, and pair differences at three times the median absolute difference, so that
/// an outlier of twice the time cannot dominate. Unlike a ratio of medians the statistic is a sum, and the clipping does not
/// depend on labels, so labels can be exchanged exactly: within each pair if runs are paired, otherwise within the cell.
pub(super) fn test(samples: &[Samples], draws: Draws) -> Option<MatrixTest> {
    let counted: Vec<&Samples> = samples.iter().filter(|cell| cell.counts()).collect();
    if counted.len() < 2 {
        return None;
    }
    let mut strata = Vec::new();
    let mut observed = 0.0;
    let mut hasher = blake3::Hasher::new();
    for cell in counted {
        hasher.update(cell.key.as_bytes());
        hasher.update(&[0]);
        observed += add_strata(cell, &mut strata);
    }
    let place = (*hasher.finalize().as_bytes()).map(u64::from);
    let mut dice = Dice::new(Seed(JUDGED as u64).stream_at(Purpose::Bootstrap, &place));
    Some(MatrixTest {
        permuted: permute(&strata, observed, draws, &mut dice),
    })
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
    let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let clipped = clip(differences.into_iter(), &sizes.clone());
    let count = clipped.len() as f64;
    sizes = clipped.iter().map(|d| d.abs() / count).collect();
    sizes.sort_by(f64::total_cmp);
    strata.extend(sizes.into_iter().map(|size| Stratum {
        scores: vec![-size, size],
        labelled: 1,
    }));
    clipped.iter().sum::<f64>() / count
}

/// Clips values at [`CLIP`] median distances from 0.
fn clip(values: impl Iterator<Item = f64>, distances: &[f64]) -> Vec<f64> {
    let most = CLIP * median(distances).unwrap_or_default();
    // If more than half of the runs are equal, the median distance is 0 and nothing is clipped.
    let most = if most > 0.0 { most } else { f64::INFINITY };
    values.map(|value| value.clamp(-most, most)).collect()
}

/// Returns the judgement of the matrix; `resampled` are the cells' bootstrap log ratios.
pub(super) fn judge(
    samples: &[Samples],
    test: &MatrixTest,
    resampled: &[Vec<f64>],
    p_holm: f64,
    family: &Family,
) -> MatrixJudgement {
    let counted = samples.iter().zip(resampled);
    let counted: Vec<(&Samples, &[f64])> = counted
        .filter(|(cell, _)| cell.counts())
        .map(|(cell, drawn)| (cell, drawn.as_slice()))
        .collect();
    let cells: Vec<&Samples> = counted.iter().map(|(cell, _)| *cell).collect();
    let ratio = mean_ratio(&counted);
    let (threshold, between) = threshold(&cells, family.manifest);
    let is_interval = ratio.kind == IntervalKind::Bootstrap95;
    let is_beyond = ratio.low > 1.0 || ratio.high < 1.0;
    let detectable = if is_interval {
        let drawn: Vec<&[f64]> = counted.iter().map(|(_, drawn)| *drawn).collect();
        let runs: usize = cells
            .iter()
            .map(|cell| cell.before.len() + cell.after.len())
            .sum();
        let freedom = runs - 2 * cells.len();
        detectable_mean(&means(&drawn), freedom, family.alpha, threshold.value)
    } else {
        None
    };
    let finding = Finding {
        ratio,
        // A range over few runs is not a confidence interval: then the test alone decides.
        is_significant: p_holm <= ALPHA && (is_beyond || !is_interval),
        threshold: threshold.value,
        detectable,
    };
    MatrixJudgement {
        cells: cells.len(),
        ratio,
        p: test.permuted.p,
        p_holm,
        permutations: (test.permuted.patterns, test.permuted.is_exact),
        detectable,
        verdict: match design(&cells) {
            Design::Interleaved => finding.within_a_session(),
            Design::Sessions => finding.between_sessions(between),
        },
        threshold,
    }
}

/// Interleaved if every cell is.
fn design(cells: &[&Samples]) -> Design {
    if cells.iter().all(|cell| cell.is_paired()) {
        Design::Interleaved
    } else {
        Design::Sessions
    }
}

/// Threshold of the mean, and the floor between sessions. The floor between sessions is the mean of the cells' floors. The
/// floor within a session is that mean divided by the square root of the number of cells, because noise within a session is
/// independent between cells and averages out. No floor if a cell has none.
fn threshold(cells: &[&Samples], manifest: Option<f64>) -> (Threshold, Option<f64>) {
    let floor = |of: fn(&Samples) -> Option<f64>| {
        let floors: Option<Vec<f64>> = cells.iter().map(|cell| of(cell)).collect();
        floors.and_then(|floors| mean(&floors))
    };
    let between = floor(|cell| cell.floor.between);
    let threshold = match design(cells) {
        Design::Interleaved => {
            let within = floor(|cell| cell.floor.within);
            let within = within.map(|floor| floor / (cells.len() as f64).sqrt());
            threshold_from(manifest, within, ThresholdSource::MeasuredWithin)
        }
        Design::Sessions => sessions_threshold(manifest, between),
    };
    (threshold, between)
}

/// Geometric mean of the cells' ratios. With at least 6 runs per side in every cell it has a bootstrap interval, otherwise a
/// range: of the geometric means over pairs of equal index if all cells have the same number of pairs, else of the cells'
/// own ends.
fn mean_ratio(counted: &[(&Samples, &[f64])]) -> Ratio {
    let ratios = counted
        .iter()
        .filter_map(|(cell, drawn)| ratio_of_runs(cell.sides(), drawn));
    let ratios: Vec<Ratio> = ratios.collect();
    let mean_of = |of: fn(&Ratio) -> f64| {
        let logs: Vec<f64> = ratios.iter().map(|ratio| of(ratio).ln()).collect();
        mean(&logs).unwrap_or_default().exp()
    };
    let value = mean_of(|ratio| ratio.value);
    let of_cells = || (mean_of(|ratio| ratio.low), mean_of(|ratio| ratio.high));
    let pairs = counted[0].0.before.len();
    let are_alike = counted
        .iter()
        .all(|(cell, _)| cell.is_paired() && cell.before.len() == pairs);
    let fewest = counted.iter().map(|(cell, _)| cell.sides().fewer()).min();
    let (kind, (low, high)) = if fewest >= Some(BOOTSTRAP_FROM) {
        let drawn: Vec<&[f64]> = counted.iter().map(|(_, drawn)| *drawn).collect();
        let ends = percentiles(&means(&drawn)).unwrap_or_else(of_cells);
        (IntervalKind::Bootstrap95, ends)
    } else if are_alike {
        let differences: Vec<Vec<f64>> = counted
            .iter()
            .map(|(cell, _)| cell.sides().differences())
            .collect();
        let differences: Vec<&[f64]> = differences.iter().map(Vec::as_slice).collect();
        let ends = range(&means(&differences)).map(|(low, high)| (low.exp(), high.exp()));
        let kind = if pairs == 1 {
            IntervalKind::Single
        } else {
            IntervalKind::Range
        };
        (kind, ends.unwrap_or_else(of_cells))
    } else {
        (IntervalKind::Range, of_cells())
    };
    Ratio {
        value,
        low: low.min(value),
        high: high.max(value),
        kind,
    }
}

/// Column means.
fn means(rows: &[&[f64]]) -> Vec<f64> {
    let places = rows.iter().map(|row| row.len()).min().unwrap_or_default();
    let sum = |place: usize| rows.iter().map(|row| row[place]).sum::<f64>();
    (0..places)
        .map(|place| sum(place) / rows.len() as f64)
        .collect()
}
