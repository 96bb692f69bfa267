//! If speed decides: whether the fastest cell is as good as the best one, and which cell is the first to reach a
//! quality that all cells reach.

use crate::base::statistics::median;
use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{min_runs_to_rank_best, p_values_within_pairs};
use crate::report::measure::{Measure, column_words, runs_by_origin, values_of_common_origin};
use crate::report::number::Number;
use crate::report::quality::{column_of_epochs, loss_column};
use crate::report::sections::reach::Target;
use crate::report::view::{Cell, View};

use super::choice::{self, ALPHA, DecidingReason, TaskRanking};
use super::sizes::SampleSizes;

/// Sentences: whether the fastest cell is as good as the best one, and which cell is the first to reach a loss that all
/// cells reach; empty if the cells do not differ in quality, or the difference is unknown.
pub(super) fn sentences(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Vec<String> {
    let is_by_speed = matches!(&choice.measures[..], [only] if only.is_per_run);
    let may_differ = matches!(
        choice.why,
        DecidingReason::Named | DecidingReason::Predicted | DecidingReason::Treatments
    );
    let cells: Vec<&Cell<'_>> = choice.cells.iter().map(|one| one.cell).collect();
    let loss = |cell: &Cell<'_>| view.section(cell, "loss").cloned();
    let have_one_loss = cells.iter().all(|cell| loss(cell) == loss(cells[0]));
    if !is_by_speed || !may_differ || !have_one_loss || cells.len() < 2 {
        return Vec::new();
    }
    let quality = choice::quality(view, &cells).ok();
    let Some(contrast) = quality.and_then(|measure| contrast(view, &cells, &measure)) else {
        return Vec::new();
    };
    // The quality of treatments is described in `gains`.
    let contrast = (choice.why != DecidingReason::Treatments).then_some(contrast);
    let target = Target::common_target(loss_column(view), &cells);
    let soonest = target.and_then(|target| soonest(view, &cells, &target));
    contrast.into_iter().chain(soonest).collect()
}

/// Sentence: which cell is the first to reach the worst of the cells' best values of `metric`; if that is unknown, how
/// far apart the best values are.
pub(super) fn first_to_reach(
    view: &View<'_>,
    choice: &TaskRanking<'_, '_>,
    metric: &str,
) -> Vec<String> {
    let cells: Vec<&Cell<'_>> = choice.cells.iter().map(|one| one.cell).collect();
    if cells.len() < 2 {
        return Vec::new();
    }
    let target = Target::common_target(column_of_epochs(view, metric), &cells);
    let soonest = target.and_then(|target| soonest(view, &cells, &target));
    let told =
        soonest.or_else(|| contrast(view, &cells, &Measure::of_plan(&view.set.plan, metric)));
    let why = has_one_epoch(&cells)
        .then(|| "Runs of one epoch do not show when an equal loss is reached.".to_owned());
    told.into_iter()
        .chain(why)
        .map(|told| match &*choice.task {
            "" => told,
            task => format!("{task}: {told}"),
        })
        .collect()
}

/// Whether some run has only one epoch, so that the time to reach a loss is unknown.
fn has_one_epoch(cells: &[&Cell<'_>]) -> bool {
    let mut facts = cells.iter().flat_map(|cell| cell.facts());
    facts.any(|facts| facts.epochs < 2)
}

/// Sentence: the best quality compared with that of the fastest cell, which is the first; `None` if all are equal.
fn contrast(view: &View<'_>, cells: &[&Cell<'_>], measure: &Measure) -> Option<String> {
    let numbers: Vec<(&Cell<'_>, Number)> = cells
        .iter()
        .map(|cell| Some((*cell, measure.number(cell)?)))
        .collect::<Option<_>>()?;
    let cost = |(_, number): &(&Cell<'_>, Number)| measure.lower_is_better(number.value);
    let best = numbers.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let worst = numbers.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let fastest = &numbers[0];
    if cost(best).total_cmp(&cost(worst)).is_eq() {
        return None;
    }
    let name = &measure.name;
    Some(if cost(best).total_cmp(&cost(fastest)).is_eq() {
        let name = name.strip_prefix("best ").unwrap_or(name);
        format!("No cell reaches a better {name} than the fastest.")
    } else {
        format!(
            "Not of the same quality: {name} {} with {}, {} with the fastest{}.",
            best.1.text_with_interval(),
            view.name(best.0, None),
            fastest.1.text_with_interval(),
            if best.1.interval.is_none() {
                " (one seed each: no test)"
            } else {
                ""
            }
        )
    })
}

/// Sentence: which cell is the first to reach a loss that all cells reach, with tests of the others against it.
fn soonest(view: &View<'_>, cells: &[&Cell<'_>], target: &Target) -> Option<String> {
    if has_one_epoch(cells) {
        return None;
    }
    let times = cells.iter().map(|cell| {
        let runs = runs_by_origin(cell);
        runs.filter_map(|(origin, run)| Some((origin, target.seconds(cell, run)?)))
            .collect()
    });
    let times: Vec<Vec<_>> = times.collect();
    let middle = |times: &Vec<(_, f64)>| {
        let seconds = times.iter().map(|(_, seconds)| *seconds);
        median(&seconds.collect::<Vec<f64>>())
    };
    let medians: Vec<f64> = times.iter().map(middle).collect::<Option<_>>()?;
    let first = (0..cells.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]))?;
    let pairs = (0..cells.len()).filter(|place| *place != first);
    let pairs = pairs.map(|place| values_of_common_origin([&times[first], &times[place]]));
    let pairs: Vec<[Vec<f64>; 2]> = pairs.collect();
    let n = SampleSizes::of(pairs.iter().flatten());
    let alike = p_values_within_pairs(&pairs).into_iter();
    let alike = alike.filter(|p| *p > ALPHA).count();
    let verb = if alike == 1 { "is" } else { "are" };
    let told = if n.least < min_runs_to_rank_best(pairs.len()) {
        format!("{}, too few to tell the others from it", n.text())
    } else if alike == 0 {
        format!("every other cell needs longer ({})", n.test_in_words())
    } else {
        format!(
            "{} {verb} not distinguishable from it ({})",
            count(alike, "cell"),
            n.test_in_words()
        )
    };
    Some(format!(
        "The {} that every cell reaches, {}, is reached soonest by {}, in {} s; {told}.",
        column_words(&target.metric),
        human(target.value, 4),
        view.name(cells[first], None),
        human(medians[first], 3)
    ))
}
