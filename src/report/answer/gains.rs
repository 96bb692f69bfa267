//! If treatments are compared: the change of time and quality of each against the baseline.

use crate::base::statistics::median;
use crate::base::units::human;
use crate::compare::against_best;
use crate::report::judged::distinct;
use crate::report::measure::Measure;
use crate::report::sections::ranking::is_baseline;
use crate::report::view::{Cell, View};

use super::choice::{self, ALPHA, Choice, Ranked, Why};

/// Largest number of treatments that a sentence names.
const NAMED: usize = 4;

/// Sentences on the treatments instead of the fastest cell; `None` if no treatment is declared, a treatment has several
/// cells, or there are too few runs for a test.
pub(super) fn sentences(view: &View<'_>, choice: &Choice<'_, '_>) -> Option<Vec<String>> {
    let axis = view.treatment().filter(|_| choice.why == Why::Treatments)?;
    of_axis(view, choice, axis)
}

/// The same sentences for the axis `axis` as the treatment; `None` if this is impossible for some task.
pub(super) fn along(
    view: &View<'_>,
    axis: &str,
    choices: &[Choice<'_, '_>],
) -> Option<Vec<String>> {
    let place = view.axis_called(axis)?;
    let told = choices.iter().map(|choice| of_axis(view, choice, place));
    let told: Vec<Vec<String>> = told.collect::<Option<_>>()?;
    Some(told.into_iter().flatten().collect())
}

fn of_axis(view: &View<'_>, choice: &Choice<'_, '_>, axis: usize) -> Option<Vec<String>> {
    if !choice.measures[0].is_clock {
        return None;
    }
    let value = |one: &Ranked<'_, '_>| one.cell.info.axes[axis].clone();
    let first = view.set.plan.cells.first().map(|cell| &cell.axes[axis]);
    let place = |is: &dyn Fn(&Ranked<'_, '_>) -> bool| choice.cells.iter().position(is);
    let named = place(&|one| is_baseline(view, one.cell));
    let baseline = named.or_else(|| place(&|one| Some(&value(one)) == first))?;
    let values = distinct(choice.cells.iter().map(value));
    if values.len() < choice.cells.len() || choice.n < choice.needed {
        return None;
    }
    Some(Against::of(view, choice, baseline).sentences(view, choice))
}

/// Tests of every cell of a choice against the baseline.
struct Against {
    baseline: usize,
    /// The measure of quality, if there is one.
    quality: Option<Measure>,
    /// Adjusted p-values of times and of quality, by cell; 1 without a test.
    p: [Vec<f64>; 2],
}

impl Against {
    fn of(view: &View<'_>, choice: &Choice<'_, '_>, baseline: usize) -> Self {
        let cells: Vec<&Cell<'_>> = choice.cells.iter().map(|one| one.cell).collect();
        let quality = choice::quality(view, &cells).ok();
        let times: Vec<Vec<f64>> = choice.cells.iter().map(|one| one.values.clone()).collect();
        let own = |measure: &Measure| -> Vec<Vec<f64>> {
            cells.iter().map(|cell| measure.values(cell)).collect()
        };
        let of_quality = match &quality {
            Some(measure) => against_best(&own(measure), baseline),
            None => vec![1.0; cells.len()],
        };
        Self {
            baseline,
            p: [against_best(&times, baseline), of_quality],
            quality,
        }
    }

    fn sentences(&self, view: &View<'_>, choice: &Choice<'_, '_>) -> Vec<String> {
        let pace = &choice.measures[0];
        let others = || (0..choice.cells.len()).filter(|place| *place != self.baseline);
        let differs = |place: &usize| self.p.iter().any(|p| p[*place] <= ALPHA);
        let name = |place: usize| view.name(choice.cells[place].cell, None);
        let told: Vec<String> = others()
            .filter(differs)
            .take(NAMED)
            .map(|place| format!("{} has {}", name(place), self.change(choice, place)))
            .collect();
        let alike: Vec<String> = others().filter(|place| !differs(place)).map(name).collect();
        let own = &choice.cells[self.baseline];
        let quality = self.quality.as_ref();
        let quality = quality.and_then(|measure| Some(measure.told(&measure.number(own.cell)?)));
        let start: Vec<String> = std::iter::once(pace.told(&own.numbers[0]))
            .chain(quality)
            .collect();
        let start = format!("{} ({})", name(self.baseline), start.join(", "));
        let test = choice::test(choice.n);
        let mut sentences = Vec::new();
        if told.is_empty() {
            sentences.push(format!(
                "No treatment is shown to differ from {start} ({test})."
            ));
        } else {
            sentences.push(format!("Against {start}: {} ({test}).", told.join("; ")));
            if !alike.is_empty() {
                sentences.push(format!(
                    "Not shown to differ from it: {}.",
                    alike.join(", ")
                ));
            }
        }
        sentences
    }

    /// The change against the baseline as text: `3.65× the epoch time, best loss 0.8751 (0.87–0.88)`; only differences
    /// that a test shows.
    fn change(&self, choice: &Choice<'_, '_>, place: usize) -> String {
        let pace = &choice.measures[0];
        let middle = |place: usize| median(&choice.cells[place].values);
        let ratio = middle(place).zip(middle(self.baseline));
        let ratio = ratio.filter(|_| self.p[0][place] <= ALPHA);
        let ratio = ratio.map(|(own, base)| format!("{}× the {}", human(own / base, 3), pace.name));
        let quality = self.quality.as_ref().filter(|_| self.p[1][place] <= ALPHA);
        let quality = quality.and_then(|measure| {
            let [own, base] =
                [place, self.baseline].map(|at| measure.number(choice.cells[at].cell));
            let (own, base) = own.zip(base)?;
            let how = if measure.cost(own.value) < measure.cost(base.value) {
                "better"
            } else {
                "worse"
            };
            Some(format!("{}, {how}", measure.told(&own)))
        });
        ratio
            .into_iter()
            .chain(quality)
            .collect::<Vec<_>>()
            .join(", ")
    }
}
