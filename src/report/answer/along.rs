//! The effect of an axis: tests cells that differ only in this axis against the cell with its base value (declared,
//! smallest or first).

use crate::base::statistics::{median, range};
use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{min_runs_to_rank_best, p_values_within_pairs};
use crate::report::measure::{Measure, values_of_common_origin};
use crate::report::sections::ranking::{
    different_conditions, speed_column, treatment_speed_column,
};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::choice::ALPHA;
use super::context::NAMED;
use super::judged_by;
use super::sizes::SampleSizes;

/// Path of the number of loader workers. A cell without workers is compared with cells of any value on the axes
/// [`IDLE`].
const WORKERS: &str = "loader.workers";
/// Paths of axes that have no effect if [`WORKERS`] is 0.
const IDLE: [&str; 2] = ["loader.persistent", "loader.prefetch"];

/// A cell with the axis' base value, and a cell that differs from it only in this axis.
type Pair<'v, 'a> = [&'v Cell<'a>; 2];

/// A sentence for each value of an axis except its base value, at most [`NAMED`], then one with the other values; empty
/// if no two measured cells differ only in that axis. With `are_treatments`, times are those of
/// [`treatment_speed_column`] (of a step, or the throughput if steps differ in size), and quality is reported even if
/// no test shows a difference.
pub(in crate::report) fn axis_effect_sentences(
    view: &View<'_>,
    axis: &str,
    are_treatments: bool,
) -> Vec<String> {
    let Some(place) = view.axis_called(axis) else {
        return Vec::new();
    };
    let pairs = pairs(view, place);
    let cells = pairs.concat();
    if pairs.is_empty() {
        return Vec::new();
    }
    let pace = if are_treatments {
        treatment_speed_column(view, &cells)
    } else {
        speed_column(&cells)
    };
    let mut measures = vec![Measure::of(pace)];
    measures.extend(judged_by::judged_quality(view, &cells).ok());
    let by_value = grouped(0..pairs.len(), |&at| pairs[at][1].info.axes[place].clone());
    let verdicts: Vec<Verdicts> = measures
        .iter()
        .map(|measure| Verdicts::of(measure, &pairs))
        .collect();
    let told = by_value.iter().take(NAMED).filter_map(|own| {
        let [from, to] = pairs[own[0]].map(|cell| view.value(&cell.info.axes[place]));
        let parts = measures.iter().zip(&verdicts).enumerate();
        let parts = parts.filter_map(|(number, (measure, verdicts))| {
            verdicts.words(measure, own, number == 0 || are_treatments)
        });
        let parts: Vec<String> = parts.collect();
        let name = view.axis_name(place);
        let test = verdicts.iter().find_map(|verdicts| verdicts.test(own))?;
        (!parts.is_empty()).then(|| {
            format!(
                "{name} {to} instead of {from}: {} ({test}).",
                parts.join("; ")
            )
        })
    });
    let mut told: Vec<String> = told.collect();
    let rest = by_value.iter().skip(NAMED);
    let rest: Vec<&str> = rest
        .map(|own| view.value(&pairs[own[0]][1].info.axes[place]))
        .collect();
    if !rest.is_empty() {
        let rest = rest.join(", ");
        told.push(format!(
            "{} {rest}: in the table under “Speed”.",
            view.axis_name(place)
        ));
    }
    told
}

/// Pairs each measured cell that does not have the axis' base value (the declared baseline, else the smallest number,
/// else the first value) with the otherwise equal cell that has it.
fn pairs<'v, 'a>(view: &'v View<'a>, place: usize) -> Vec<Pair<'v, 'a>> {
    let axes = &view.set.plan.axes;
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let declared = view.baseline().filter(|(at, _)| *at == place);
    let number = |cell: &Cell<'_>| cell.info.axes[place].parse::<f64>().ok();
    let numbers: Option<Vec<f64>> = cells.iter().map(|cell| number(cell)).collect();
    let smallest = numbers
        .and_then(|numbers| range(&numbers))
        .map(|(least, _)| least);
    let first = cells.first().map(|cell| &*cell.info.axes[place]);
    let is_base = |cell: &Cell<'_>| match (declared, smallest) {
        (Some((_, value)), _) => &*cell.info.axes[place] == value,
        (None, Some(least)) => number(cell) == Some(least),
        (None, None) => Some(&*cell.info.axes[place]) == first,
    };
    let is_of_workers = axes[place].path == WORKERS && smallest == Some(0.0);
    let is_beside = |a: &Cell<'_>, b: &Cell<'_>| {
        (0..axes.len()).all(|at| {
            let is_idle = is_of_workers && IDLE.contains(&&*axes[at].path);
            at == place || is_idle || a.info.axes[at] == b.info.axes[at]
        })
    };
    let others = cells.iter().filter(|cell| !is_base(cell));
    let pair = |cell: &&'v Cell<'a>| {
        let base = cells.iter().find(|base| {
            is_base(base) && is_beside(base, cell) && different_conditions(base, cell).is_none()
        })?;
        Some([*base, *cell])
    };
    others.filter_map(pair).collect()
}

/// Ratios (or differences) and tests of one measure for all pairs of cells.
struct Verdicts {
    /// Per pair: the median of the second cell divided by that of the first, or their difference; `None` if the two
    /// cells have no values of runs of equal session and block (of a fact: no values of a common seed).
    changes: Vec<Option<f64>>,
    /// Whether the changes are ratios.
    are_ratios: bool,
    /// P-value of each pair, adjusted by Holm's method over all pairs.
    p: Vec<f64>,
    /// Smallest and largest number of values of each pair's cells; `None` if they have no values of runs of equal
    /// session and block (of a fact: no values of a common seed).
    n: Vec<Option<SampleSizes>>,
    /// Number of values per cell that a test needs.
    needed: usize,
}

impl Verdicts {
    fn of(measure: &Measure, pairs: &[Pair<'_, '_>]) -> Self {
        let values = pairs.iter().map(|pair| {
            let [base, own] = pair.map(|cell| measure.by_origin(cell));
            values_of_common_origin([&base, &own])
        });
        let values: Vec<[Vec<f64>; 2]> = values.collect();
        let middles = values
            .iter()
            .map(|[base, own]| median(base).zip(median(own)));
        let middles: Vec<Option<(f64, f64)>> = middles.collect();
        // Of measures that can be 0 or negative a ratio has no meaning, so the difference is used.
        let are_ratios = middles
            .iter()
            .flatten()
            .all(|(base, own)| *base > 0.0 && *own > 0.0);
        let change = |(base, own): (f64, f64)| if are_ratios { own / base } else { own - base };
        Self {
            changes: middles.into_iter().map(|both| both.map(change)).collect(),
            are_ratios,
            p: p_values_within_pairs(&values),
            n: values
                .iter()
                .map(|pair| Some(SampleSizes::of(pair.iter())).filter(|sizes| sizes.least > 0))
                .collect(),
            needed: min_runs_to_rank_best(pairs.len()),
        }
    }

    /// Smallest and largest number of values in the pairs with the indices `own`; `None` without values.
    fn sizes(&self, own: &[usize]) -> Option<SampleSizes> {
        let sizes = own.iter().filter_map(|&at| self.n[at]);
        sizes.reduce(SampleSizes::with)
    }

    /// Whether each pair has enough values for a test; Holm's correction is over all pairs.
    fn is_tested(&self) -> bool {
        let mut sizes = self.n.iter().flatten();
        sizes.all(|sizes| sizes.least >= self.needed)
    }

    /// Number of values and test as text: `n = 6, Mann–Whitney, Holm`.
    fn test(&self, own: &[usize]) -> Option<String> {
        let sizes = self.sizes(own)?;
        Some(if self.is_tested() {
            sizes.test_in_words()
        } else {
            format!("{}; a test needs {}", sizes.text(), self.needed)
        })
    }

    /// The effect as text: `0.93× to 1.02× the epoch time in 3 pairs of cells, in none shown to differ`; without
    /// `is_always` only differences that a test shows.
    fn words(&self, measure: &Measure, own: &[usize], is_always: bool) -> Option<String> {
        let changes: Vec<f64> = own.iter().filter_map(|&at| self.changes[at]).collect();
        let Some(sizes) = self.sizes(own) else {
            let is_told = is_always && measure.is_per_run;
            return is_told.then(|| format!("{} of another session, not compared", measure.name));
        };
        let is_tested = self.is_tested();
        let shown: Vec<f64> = own
            .iter()
            .filter(|&&at| self.p[at] <= ALPHA)
            .filter_map(|&at| self.changes[at])
            .collect();
        if !is_always && (!is_tested || shown.is_empty()) {
            return None;
        }
        let (least, most) = range(&changes)?;
        let text = |change: f64| match (self.are_ratios, human(change, 3)) {
            (true, change) => format!("{change}×"),
            (false, shown) if change > 0.0 => format!("+{shown}"),
            (false, shown) => shown,
        };
        let (least, most) = (text(least), text(most));
        let text = if least == most {
            least
        } else {
            format!("{least} to {most}")
        };
        let all_pairs = changes.len();
        let pairs = count(all_pairs, "pair");
        let unchanged = f64::from(u8::from(self.are_ratios));
        let better = shown
            .iter()
            .filter(|change| measure.lower_is_better(**change) < measure.lower_is_better(unchanged))
            .count();
        let worse = shown.len() - better;
        let verdict = match (is_tested, better, worse) {
            (false, ..) if !measure.is_per_run => {
                format!(", not tested ({})", sizes.text())
            }
            (false, ..) => String::new(),
            (_, 0, 0) if all_pairs == 1 => ", not shown to differ".to_owned(),
            (_, 0, 0) => format!(", in none of {pairs} of cells shown to differ"),
            (_, all, 0) if all == all_pairs => ", better".to_owned(),
            (_, 0, all) if all == all_pairs => ", worse".to_owned(),
            (_, better, worse) => {
                let told = [(better, "better"), (worse, "worse")].into_iter();
                let told = told.filter(|(n, _)| *n > 0);
                let told: Vec<String> = told.map(|(n, how)| format!("{how} in {n}")).collect();
                format!(", {} of {pairs} of cells", told.join(" and "))
            }
        };
        let of = if self.are_ratios { "the" } else { "in" };
        Some(format!("{text} {of} {}{verdict}", measure.name))
    }
}
