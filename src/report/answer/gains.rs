//! If treatments are compared: the change of time and quality of each against the baseline.

use std::collections::BTreeMap;

use crate::base::units::human;
use crate::compare::{
    min_runs_to_rank_best, needed_pairs, p_values_within_pairs, ratio_of_cells, sign_flips,
};
use crate::report::judged::distinct;
use crate::report::measure::{Measure, Origin, values_of_common_origin};
use crate::report::number::between;
use crate::report::quality::{NotComparableQuality, loss_column, report_only_times};
use crate::report::sections::ranking::{is_baseline, treatment_speed_column};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, CellInfo, value};

use super::choice::{ALPHA, DecidingReason, TaskRanking};
use super::judged_by;
use super::sizes::SampleSizes;

/// Largest number of treatments that a sentence names.
const NAMED: usize = 4;

/// Sentences on the treatments instead of the fastest cell; `None` if no treatment is declared, a treatment has several
/// cells, or there are too few runs for a test.
pub(super) fn sentences(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Option<Vec<String>> {
    let axis = view
        .treatment()
        .filter(|_| choice.why == DecidingReason::Treatments)?;
    of_axis(view, choice, axis)
}

/// Sentences on the values of `axis` as if it were the declared treatment; `None` if this is impossible for some task.
pub(super) fn gains_along_axis(
    view: &View<'_>,
    axis: &str,
    choices: &[TaskRanking<'_, '_>],
) -> Option<Vec<String>> {
    let place = view.axis_called(axis)?;
    let told = choices.iter().map(|choice| of_axis(view, choice, place));
    let told: Vec<Vec<String>> = told.collect::<Option<_>>()?;
    Some(told.into_iter().flatten().collect())
}

fn of_axis(view: &View<'_>, choice: &TaskRanking<'_, '_>, axis: usize) -> Option<Vec<String>> {
    let cells: Vec<&Cell<'_>> = choice.cells.iter().map(|one| one.cell).collect();
    let value = |cell: &Cell<'_>| cell.info.axes[axis].clone();
    let first = view.set.plan.cells.first().map(|cell| &cell.axes[axis]);
    let place = |is: &dyn Fn(&Cell<'_>) -> bool| cells.iter().position(|cell| is(cell));
    let named = place(&|cell| is_baseline(view, cell));
    let baseline = named.or_else(|| place(&|cell| Some(&value(cell)) == first))?;
    if distinct(cells.iter().map(|cell| value(cell))).len() < cells.len() {
        return None;
    }
    let against = Against::of(view, choice, cells, baseline)?;
    Some(against.sentences())
}

/// The values of a measure, and the test of every cell against the baseline.
struct Tested {
    measure: Measure,
    /// Name of the measure in the text of a ratio: `time per sample`.
    name: String,
    /// Adjusted p-values by cell; 1 without a test.
    p: Vec<f64>,
    n: SampleSizes,
    /// Whether the test is that of sign flips over seeds.
    is_paired: bool,
    /// Whether all cells have the same values.
    is_equal: bool,
}

impl Tested {
    /// Tests times by Mann–Whitney, and metrics by sign flips over the seeds that both cells have, as a comparison
    /// does; by Mann–Whitney too where the seeds are too few for sign flips of so many cells.
    fn of(measure: Measure, cells: &[&Cell<'_>], baseline: usize) -> Self {
        let values = cells.iter().map(|cell| measure.by_origin(cell));
        let values: Vec<_> = values.collect();
        let others = (0..cells.len()).filter(|place| *place != baseline);
        let pairs = others
            .clone()
            .map(|place| values_of_common_origin([&values[baseline], &values[place]]));
        let pairs: Vec<[Vec<f64>; 2]> = pairs.collect();
        let n = SampleSizes::of(pairs.iter().flatten());
        let is_paired = !measure.is_per_run && n.least >= needed_pairs(1, pairs.len());
        let adjusted = if is_paired {
            let base: BTreeMap<Origin<'_>, f64> = values[baseline].iter().copied().collect();
            let differences = |place: usize| {
                let own = values[place].iter();
                let of = |(origin, value): &(Origin<'_>, f64)| {
                    Some((origin.2, value - base.get(origin)?))
                };
                own.filter_map(of).collect()
            };
            sign_flips(&others.clone().map(differences).collect::<Vec<_>>())
        } else {
            p_values_within_pairs(&pairs)
        };
        let mut p = vec![1.0; cells.len()];
        for (place, own) in others.zip(adjusted) {
            p[place] = own;
        }
        Self {
            name: measure.name.clone(),
            n,
            is_paired,
            is_equal: values.iter().all(|own| *own == values[baseline]),
            measure,
            p,
        }
    }

    /// Number of values that a test needs.
    fn needed(&self) -> usize {
        min_runs_to_rank_best(self.p.len() - 1)
    }

    fn is_tested(&self) -> bool {
        self.n.least >= self.needed()
    }

    fn differs(&self, place: usize) -> bool {
        self.p[place] <= ALPHA
    }
}

/// Comparison of every cell of a task with the baseline.
struct Against<'c, 'v, 'a> {
    view: &'c View<'a>,
    cells: Vec<&'v Cell<'a>>,
    baseline: usize,
    time: Tested,
    /// The test of the quality, or why quality cannot be compared; `Err(None)` if no sentence is needed.
    quality: Result<Tested, Option<NotComparableQuality>>,
    /// The best loss, if the quality is another metric; mentioned only where a test shows that it differs.
    loss: Option<Tested>,
}

impl<'c, 'v, 'a> Against<'c, 'v, 'a> {
    /// Tests every cell against the baseline; `None` if there are too few runs for a test of the time.
    fn of(
        view: &'c View<'a>,
        choice: &TaskRanking<'v, 'a>,
        cells: Vec<&'v Cell<'a>>,
        baseline: usize,
    ) -> Option<Self> {
        let asked = choice.measures.iter().find(|measure| measure.is_time());
        let asked = asked
            .filter(|_| choice.why == DecidingReason::Named)
            .cloned();
        let is_asked = asked.is_some();
        let usual = || Measure::of(treatment_speed_column(view, &cells));
        let of = |measure: Measure| Tested::of(measure, &cells, baseline);
        let mut time = of(asked.unwrap_or_else(usual));
        if !is_asked && time.measure.column == "samples_per_s" {
            // The steps differ in their numbers of samples, so times per sample are compared.
            "time per sample".clone_into(&mut time.name);
        }
        if !time.is_tested() {
            return None;
        }
        let quality = judged_by::judged_quality(view, &cells).map(of);
        // Training losses are not comparable if treatments change the training data.
        let of_loss = |quality: &Tested| {
            let is_other = !quality.measure.column.ends_with("loss");
            (is_other && loss_column(view) != "train_loss").then(|| of(Measure::of("best_loss")))
        };
        let loss = quality.as_ref().ok().and_then(of_loss);
        let is_silent = report_only_times(&cells);
        let is_told = choice.why.why_quality_cannot_decide().is_some();
        Some(Self {
            quality: quality.map_err(|why| Some(why).filter(|_| !is_silent && !is_told)),
            loss: loss.filter(Tested::is_tested),
            view,
            cells,
            baseline,
            time,
        })
    }

    fn sentences(&self) -> Vec<String> {
        let others = || (0..self.cells.len()).filter(|place| *place != self.baseline);
        let all = || self.tested().chain(&self.loss);
        let differs = |place: &usize| all().any(|tested| tested.differs(*place));
        let told: Vec<String> = others()
            .filter(differs)
            .take(NAMED)
            .map(|place| format!("{} has {}", self.name(place), self.change(place)))
            .collect();
        let own = self.cells[self.baseline];
        let start = [Some(&self.time), self.quality.as_ref().ok()].into_iter();
        let start = start.flatten().filter_map(|tested| {
            let number = tested.measure.number(own)?;
            Some(tested.measure.in_sentence(&number))
        });
        let start = start.collect::<Vec<_>>().join(", ");
        let start = format!("{} ({start})", self.name(self.baseline));
        let of_metrics = if self.tested().any(|tested| tested.is_paired) {
            "; metrics by sign flips over seeds"
        } else {
            ""
        };
        let test = format!("{}{of_metrics}", self.time.n.test_in_words());
        let names: Vec<&str> = self.tested().map(|tested| &*tested.name).collect();
        let mut sentences = Vec::new();
        if told.is_empty() {
            let names = names.join(" or ");
            sentences.push(format!(
                "No treatment is shown to differ from {start} in {names} ({test})."
            ));
        } else {
            sentences.push(format!("Against {start}: {} ({test}).", told.join("; ")));
            let alike = self.tested().filter_map(|tested| {
                let alike = others().filter(|place| !tested.differs(*place));
                let alike: Vec<String> = alike.map(|place| self.name(place)).collect();
                (!alike.is_empty()).then(|| format!("in {}: {}", tested.name, alike.join(", ")))
            });
            let alike = alike.collect::<Vec<_>>().join("; ");
            if !alike.is_empty() {
                sentences.push(format!("Not shown to differ from it {alike}."));
            }
        }
        sentences.extend(self.untested());
        sentences
    }

    /// The measures that the text always mentions: the time, and the quality if it could be tested.
    fn tested(&self) -> impl Iterator<Item = &Tested> {
        let quality = self.quality.as_ref().ok();
        let quality = quality.filter(|quality| quality.is_tested());
        std::iter::once(&self.time).chain(quality)
    }

    /// Sentence: why the quality was not tested.
    fn untested(&self) -> Option<String> {
        match &self.quality {
            Err(why) => Some(format!("Quality cannot be compared: {}.", (*why)?.words())),
            Ok(quality) if quality.is_tested() => None,
            Ok(quality) if quality.is_equal => None,
            Ok(quality) => Some(format!(
                "Whether {} differs was not tested: {} per cell, {} are needed.",
                quality.name,
                quality.n.count_with_unit("seed"),
                quality.needed()
            )),
        }
    }

    fn name(&self, place: usize) -> String {
        self.view.name(self.cells[place], None)
    }

    /// The change against the baseline as text: `3.65× the step time (3.60–3.71), best loss 0.8751 (0.87–0.88), worse`;
    /// only differences that a test shows.
    fn change(&self, place: usize) -> String {
        let time = self
            .time
            .differs(place)
            .then(|| self.ratio(place))
            .flatten();
        let metrics = self.tested().skip(1).chain(&self.loss);
        let metrics = metrics.filter(|tested| tested.differs(place));
        let metrics = metrics.filter_map(|Tested { measure, .. }| {
            let [own, base] = [place, self.baseline].map(|at| measure.number(self.cells[at]));
            let (own, base) = own.zip(base)?;
            let how = if measure.lower_is_better(own.value) < measure.lower_is_better(base.value) {
                "better"
            } else {
                "worse"
            };
            Some(format!("{}, {how}", measure.in_sentence(&own)))
        });
        time.into_iter()
            .chain(metrics)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The ratio of a cell's time to the baseline's with its interval, computed as in a comparison of both cells;
    /// `None` if it is undefined.
    fn ratio(&self, place: usize) -> Option<String> {
        let plan = &self.view.set.plan;
        let column = &*self.time.measure.column;
        let is_judged = self.time.name != self.time.measure.name;
        let of_run = |info: &CellInfo, run: &BlockRow| {
            let judged = is_judged.then(|| plan.sample_ms(info, run)).flatten();
            judged.or_else(|| value(run, column))
        };
        let keys = [self.baseline, place].map(|at| &*self.cells[at].info.key);
        let ratio = ratio_of_cells(self.view.set, keys, &of_run)?;
        let ends = ratio.ends().map(|(low, high)| {
            let [low, high] = [low, high].map(|end| human(end, 3));
            format!(" ({})", between(&low, &high))
        });
        Some(format!(
            "{}× the {}{}",
            human(ratio.value, 3),
            self.time.name,
            ends.unwrap_or_default()
        ))
    }
}
