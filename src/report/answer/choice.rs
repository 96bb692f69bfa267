//! [`TaskRanking`]: the cells of one task ranked by the deciding measure, and which of them a test distinguishes from
//! the best.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::pareto;
use crate::base::statistics::mean;
use crate::compare::{min_runs_to_rank_best, p_values_within_pairs};
use crate::report::number::Number;
use crate::report::quality::{
    NotComparableQuality, check_quality_comparable, quality_column, report_only_times,
};
use crate::report::sections::ranking::{speed_column, treatment_speed_column};
use crate::report::sections::tasks::{Task, tasks};
use crate::report::view::{Cell, View};

use super::asked::answer_metric_columns;
use super::only_speed::changes_only_speed;
use super::sizes::SampleSizes;
use crate::plan::PredictionSpec;
use crate::report::judged::distinct;
use crate::report::measure::{Measure, values_of_common_origin};

/// Largest adjusted p-value with which a cell counts as different from the best one.
pub(super) const ALPHA: f64 = 0.05;

/// The cells of one task, the best first.
pub(in crate::report) struct TaskRanking<'v, 'a> {
    /// Name of the task; empty if the results have only one task.
    pub(in crate::report) task: String,
    /// Measures by which the cells are ranked; of several, none has precedence (Pareto front).
    pub(super) measures: Vec<Measure>,
    /// Why these measures decide.
    pub(super) why: DecidingReason,
    /// Further measures shown in the table.
    pub(super) beside: Vec<Measure>,
    /// The cells with a value, the best by the first measure first.
    pub(in crate::report) cells: Vec<Ranked<'v, 'a>>,
    /// Number of values per cell that the tests need.
    pub(super) needed: usize,
    /// Smallest and largest number of values that the compared cells have.
    pub(super) n: SampleSizes,
}

/// Why a measure decides between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecidingReason {
    Named,
    /// These results test recommendations, whose predictions are about this measure.
    Predicted,
    Treatments,
    OnlySpeed,
    OnlyTimes,
    CanChange,
    /// A time decides, because quality cannot; contains the reason.
    NotComparableQuality(NotComparableQuality),
}

impl DecidingReason {
    /// The reason as text, placed after the name of the deciding measure.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Named => "as the manifest asks",
            Self::Predicted => "as the predictions are about it",
            Self::Treatments => "as treatments are compared by their times first",
            Self::OnlySpeed => "as the cells differ in speed only",
            Self::OnlyTimes => "as the runs report times only",
            Self::CanChange => "as the quality that the axes can change",
            Self::NotComparableQuality(_) => "as quality cannot be compared",
        }
    }

    /// The reason why quality cannot decide, as text; `None` if quality decides or cannot differ.
    pub(super) fn why_quality_cannot_decide(self) -> Option<&'static str> {
        match self {
            Self::NotComparableQuality(why) => Some(why.words()),
            _ => None,
        }
    }
}

/// A cell with its values of the deciding measures.
pub(in crate::report) struct Ranked<'v, 'a> {
    pub(in crate::report) cell: &'v Cell<'a>,
    /// Median and interval of each deciding measure.
    pub(super) numbers: Vec<Number>,
    /// The cell's values of the first measure, one per run or seed.
    pub(super) values: Vec<f64>,
    /// Values of the best cell and of this one that may be compared: times of common sessions and blocks, or facts of
    /// common seeds; empty without any.
    common: [Vec<f64>; 2],
    /// How the cell compares with the best one.
    pub(super) standing: ComparedToBest,
}

/// How a cell compares with the best one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ComparedToBest {
    /// The cell with the best median.
    Best,
    /// Too few values for a test. Contains whether the ranges of this cell and the best one overlap; `None` if one of
    /// them has a single value.
    Untested(Option<bool>),
    /// The test shows that the cell differs from the best; contains the p-value (Holm).
    Behind(f64),
    /// The test does not show that the cell differs from the best; contains the p-value (Holm).
    Alike(f64),
    /// The times of the two cells were measured in different sessions, in which the machine may have had different
    /// speeds.
    Apart,
    /// With several measures: no other cell dominates this one (Pareto front).
    OnFront,
    /// With several measures: another cell is at least as good in all of them and better in one.
    Dominated,
}

impl<'v, 'a> TaskRanking<'v, 'a> {
    /// Ranks and tests the cells of results: one ranking for each task with several measured cells.
    pub(in crate::report) fn all(view: &'v View<'a>) -> Vec<Self> {
        let mut all = Self::all_without_tests(view);
        all.iter_mut().for_each(Self::stand);
        all
    }

    /// The rankings without tests, which are slow for ten thousand cells; enough for the order of the cells.
    pub(in crate::report) fn all_without_tests(view: &'v View<'a>) -> Vec<Self> {
        let named = answer_metric_columns(view);
        let of = |task: Task<'v, 'a>| Self::of(view, task, &named);
        tasks(view).into_iter().filter_map(of).collect()
    }

    fn of(view: &View<'_>, task: Task<'v, 'a>, named: &[String]) -> Option<Self> {
        let mut seen = BTreeSet::new();
        // Cells with equal cell hash have the same results and count as one cell.
        let is_own =
            |cell: &&Cell<'_>| cell.is_measured() && seen.insert(cell.info.cell_hash.clone());
        let cells: Vec<&Cell<'_>> = task.cells.into_iter().filter(is_own).collect();
        if cells.len() < 2 {
            return None;
        }
        let (measures, why) = if named.is_empty() {
            let predicted =
                predicted(view).map(|column| (Measure::of(column), DecidingReason::Predicted));
            let (measure, why) = predicted.unwrap_or_else(|| decisive(view, &cells));
            (vec![measure], why)
        } else {
            let plan = &view.set.plan;
            let named = named.iter().map(|column| Measure::of_plan(plan, column));
            (named.collect(), DecidingReason::Named)
        };
        let beside = beside(view, &cells, &measures);
        Some(Self::ranked(task.name, &cells, measures, why, beside))
    }

    /// The cells in the order of the answer: the best first; with several measures, cells on the Pareto front first.
    pub(in crate::report) fn in_order(&self) -> Vec<&'v Cell<'a>> {
        let is_behind = |one: &&Ranked<'_, '_>| one.standing == ComparedToBest::Dominated;
        let (behind, front): (Vec<_>, Vec<_>) = self.cells.iter().partition(is_behind);
        let all = front.into_iter().chain(behind);
        all.map(|one| one.cell).collect()
    }

    /// Number of values that the cells have, as text: `5 seeds`, `1 to 5 runs`.
    pub(super) fn runs(&self) -> String {
        let what = if self.measures[0].is_per_run {
            "run"
        } else {
            "seed"
        };
        self.n.count_with_unit(what)
    }

    fn ranked(
        task: String,
        cells: &[&'v Cell<'a>],
        measures: Vec<Measure>,
        why: DecidingReason,
        beside: Vec<Measure>,
    ) -> Self {
        let first = &measures[0];
        let rank = |cell: &&'v Cell<'a>| {
            let numbers = measures.iter().map(|measure| measure.number(cell));
            let values = first.by_origin(cell);
            let own = Ranked {
                numbers: numbers.collect::<Option<Vec<Number>>>()?,
                values: values.iter().map(|(_, value)| *value).collect(),
                common: Default::default(),
                cell,
                standing: ComparedToBest::Best,
            };
            Some((own, values))
        };
        let mut ranked: Vec<(Ranked<'_, '_>, Vec<_>)> = cells.iter().filter_map(rank).collect();
        let cost = |one: &Ranked<'_, '_>| first.lower_is_better(one.numbers[0].value);
        let mean_cost =
            |one: &Ranked<'_, '_>| first.lower_is_better(mean(&one.values).unwrap_or(f64::NAN));
        let order = |a: &Ranked<'_, '_>, b: &Ranked<'_, '_>| {
            let by_median = cost(a).total_cmp(&cost(b));
            by_median.then_with(|| mean_cost(a).total_cmp(&mean_cost(b)))
        };
        // Equal medians, common for accuracies, are ordered by mean, then by plan order.
        ranked.sort_by(|(a, _), (b, _)| order(a, b));
        let (mut ranked, values): (Vec<Ranked<'_, '_>>, Vec<Vec<_>>) = ranked.into_iter().unzip();
        for (one, own) in ranked.iter_mut().zip(&values) {
            one.common = values_of_common_origin([&values[0], own]);
        }
        let compared = ranked.iter().filter(|one| !one.is_apart(first));
        let mut choice = Self {
            task,
            why,
            beside,
            n: SampleSizes::of(compared.flat_map(|one| &one.common)),
            needed: min_runs_to_rank_best(pairs(&ranked).0.len()),
            measures,
            cells: ranked,
        };
        if choice.measures.len() > 1 {
            choice.stand();
        }
        choice
    }

    fn stand(&mut self) {
        let standings = if self.measures.len() > 1 {
            self.on_front()
        } else if self.n.least < self.needed {
            self.overlapping()
        } else {
            self.tested()
        };
        let is_one = self.measures.len() == 1;
        for (cell, standing) in self.cells.iter_mut().zip(standings) {
            cell.standing = match standing {
                _ if is_one && cell.is_apart(&self.measures[0]) => ComparedToBest::Apart,
                standing => standing,
            };
        }
    }

    fn on_front(&self) -> Vec<ComparedToBest> {
        let costs = |one: &Ranked<'_, '_>| -> Vec<f64> {
            let pairs = self.measures.iter().zip(&one.numbers);
            pairs
                .map(|(m, number)| m.lower_is_better(number.value))
                .collect()
        };
        let points: Vec<Vec<f64>> = self.cells.iter().map(costs).collect();
        let front = pareto::front(&points);
        let of = |place| {
            if front.contains(&place) {
                ComparedToBest::OnFront
            } else {
                ComparedToBest::Dominated
            }
        };
        (0..points.len()).map(of).collect()
    }

    fn overlapping(&self) -> Vec<ComparedToBest> {
        let best = self.cells.first().map(Ranked::ends);
        let of = |(place, one): (usize, &Ranked<'_, '_>)| {
            if place == 0 {
                return ComparedToBest::Best;
            }
            let overlap = |((low, high), (own_low, own_high)): ((f64, f64), (f64, f64))| {
                own_low <= high && low <= own_high
            };
            ComparedToBest::Untested(best.flatten().zip(one.ends()).map(overlap))
        };
        self.cells.iter().enumerate().map(of).collect()
    }

    /// Tests all cells against the best. Cells with identical values (which differ only in the number of workers, for
    /// example) count as one hypothesis for Holm's correction.
    fn tested(&self) -> Vec<ComparedToBest> {
        let (pairs, places) = pairs(&self.cells);
        let p = p_values_within_pairs(&pairs);
        let of = |(place, own): (usize, Option<usize>)| match own.map(|own| p[own]) {
            _ if place == 0 => ComparedToBest::Best,
            Some(p) if p <= ALPHA => ComparedToBest::Behind(p),
            p => ComparedToBest::Alike(p.unwrap_or(1.0)),
        };
        places.into_iter().enumerate().map(of).collect()
    }
}

/// The pairs of samples to be tested (the values of the best cell and those of another), each once, in order of
/// occurrence; and for each cell the index of its pair, `None` if its values equal those of the best cell.
fn pairs(cells: &[Ranked<'_, '_>]) -> (Vec<[Vec<f64>; 2]>, Vec<Option<usize>>) {
    let (mut pairs, mut known) = (Vec::new(), BTreeMap::new());
    let places = cells.iter().map(|one| {
        let [best, own] = &one.common;
        let bits = |values: &[f64]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<u64>>()
        };
        (best != own).then(|| {
            *known.entry([bits(best), bits(own)]).or_insert_with(|| {
                pairs.push(one.common.clone());
                pairs.len() - 1
            })
        })
    });
    let places = places.collect();
    (pairs, places)
}

impl Ranked<'_, '_> {
    /// Whether this cell's times were measured in other sessions than those of the best cell.
    fn is_apart(&self, measure: &Measure) -> bool {
        measure.is_per_run && self.common[0].is_empty()
    }

    /// Range of the cell's values; `None` for a single one.
    fn ends(&self) -> Option<(f64, f64)> {
        let low = self.values.iter().copied().reduce(f64::min)?;
        let high = self.values.iter().copied().reduce(f64::max)?;
        (self.values.len() > 1).then_some((low, high))
    }
}

/// The measure that decides between cells of one task, and why it does.
fn decisive(view: &View<'_>, cells: &[&Cell<'_>]) -> (Measure, DecidingReason) {
    if view.treatment().is_some() {
        let pace = treatment_speed_column(view, cells);
        return (Measure::of(pace), DecidingReason::Treatments);
    }
    let pace = Measure::of(speed_column(cells));
    if changes_only_speed(view, cells) {
        return (pace, DecidingReason::OnlySpeed);
    }
    if report_only_times(cells) {
        return (pace, DecidingReason::OnlyTimes);
    }
    match quality(view, cells) {
        Ok(quality) => (quality, DecidingReason::CanChange),
        Err(untold) => (pace, DecidingReason::NotComparableQuality(untold)),
    }
}

/// Column of the predictions that these results test; `None` without predictions, or if they are about several columns.
fn predicted(view: &View<'_>) -> Option<&'static str> {
    let predictions: Vec<PredictionSpec> = view.set.plan.report_setting("predictions");
    let columns = distinct(predictions.iter().map(|one| one.column.name()));
    match columns[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// The metric by which cells can be compared, or why there is none.
pub(super) fn quality(
    view: &View<'_>,
    cells: &[&Cell<'_>],
) -> Result<Measure, NotComparableQuality> {
    check_quality_comparable(cells)
        .map(|()| Measure::of_plan(&view.set.plan, &quality_column(view, cells)))
}

/// Measures that a table shows beside the deciding ones: quality or speed (whichever does not decide), and memory.
fn beside(view: &View<'_>, cells: &[&Cell<'_>], measures: &[Measure]) -> Vec<Measure> {
    let pace = Measure::of(speed_column(cells));
    let second = if measures.iter().any(|measure| measure.is_per_run) {
        quality(view, cells).ok()
    } else {
        Some(pace)
    };
    let all = second.into_iter().chain([Measure::of_memory(cells)]);
    all.filter(|own| !measures.iter().any(|measure| measure.name == own.name))
        .filter(|own| cells.iter().any(|cell| own.number(cell).is_some()))
        .collect()
}

/// Measures of cells that are not ranked: speed, quality if they learned, and memory.
pub(super) fn unranked_measures(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<Measure> {
    let pace = Measure::of(speed_column(cells));
    let is_learned = check_quality_comparable(cells) != Err(NotComparableQuality::NotLearned);
    let plan = &view.set.plan;
    let quality = is_learned.then(|| Measure::of_plan(plan, &quality_column(view, cells)));
    let all = [pace]
        .into_iter()
        .chain(quality)
        .chain([Measure::of_memory(cells)]);
    all.filter(|own| cells.iter().any(|cell| own.number(cell).is_some()))
        .collect()
}
