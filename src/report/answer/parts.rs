//! Parts of `report.answer` other than the best cell: one or two sentences each, including what the data do not show.

use crate::base::statistics::range;
use crate::base::text::count;
use crate::base::units::{human, human_integer, human_si};
use crate::plan::AnswerPart;
use crate::report::measure::Measure;
use crate::report::number::Number;
use crate::report::sections::bottleneck::largest_phase;
use crate::report::sections::difference::part;
use crate::report::sections::{batch_curve, cost, phases, scaling};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::along::axis_effect_sentences;
use super::choice::TaskRanking;
use super::context::NAMED;
use super::learned::learned;
use super::{equal, gains};

const NOT_EVALUATED: &str =
    "Whether the model learned is not known: it was not evaluated before and after training.";
/// If the largest value is at least this many times the smallest, both are stated.
const APART: f64 = 1.05;

/// Sentences of one part of `report.answer` on the measured cells (the best first, if all have one task); none for a
/// metric.
pub(super) fn sentences(
    view: &View<'_>,
    part: &AnswerPart,
    choices: &[TaskRanking<'_, '_>],
    cells: &[&Cell<'_>],
) -> Vec<String> {
    let or =
        |told: Vec<String>, missing: String| if told.is_empty() { vec![missing] } else { told };
    let no_pair = |axis: &str| format!("No two measured cells differ in {axis} only.");
    match part {
        AnswerPart::Metric(_) => Vec::new(),
        AnswerPart::Where => vec![largest_phase_sentence(view, cells)],
        AnswerPart::Memory => vec![memory(view, cells)],
        AnswerPart::Cost => costs(view, cells),
        AnswerPart::Learned => {
            vec![learned(view, cells).unwrap_or_else(|| NOT_EVALUATED.to_owned())]
        }
        AnswerPart::FastestAtEqual(metric) => {
            let told = choices
                .iter()
                .flat_map(|choice| equal::first_to_reach(view, choice, metric));
            let missing = "No two measured cells of one task have comparable times until they reach an equal value.";
            or(told.collect(), missing.to_owned())
        }
        AnswerPart::Gain(axis) => {
            let told = gains::gains_along_axis(view, axis, choices);
            let told = told.unwrap_or_else(|| axis_effect_sentences(view, axis, true));
            or(told, no_pair(axis))
        }
        AnswerPart::Along(axis) if batch_curve::is_axis(view, axis) => or(
            batch_curve::knees(view).into_iter().take(NAMED).collect(),
            "No two measured cells differ in the batch size only.".to_owned(),
        ),
        AnswerPart::Along(axis) => or(axis_effect_sentences(view, axis, false), no_pair(axis)),
        AnswerPart::Scaling(_) => or(
            scaling::growths(view).into_iter().take(NAMED).collect(),
            "How times grow with the number of samples needs three sizes, and fewer were measured."
                .to_owned(),
        ),
    }
}

/// Sentences: the largest phase of a step, with the number of cells in which it is the largest, and how long steps wait
/// for data.
pub(super) fn largest_phase_sentence(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let found = cells.iter();
    let found = found.filter_map(|cell| Some((*cell, phases::breakdown(cell)?)));
    let found: Vec<(&Cell<'_>, phases::Breakdown)> = found.collect();
    if found.is_empty() {
        let is_observed = |cell: &&Cell<'_>| {
            part(view, cell, "model.observe").is_some_and(|observe| !observe.is_null())
        };
        let why = if cells.iter().any(is_observed) {
            ": the observer saw no optimizer step, or ended with a warning"
        } else {
            ""
        };
        return format!("Where the time of a step goes was not measured{why}.");
    }
    let waits = found.iter().filter(|(_, found)| found.is_known[0]);
    let waits: Vec<f64> = waits.map(|(_, found)| found.shares[0]).collect();
    let phases = found
        .iter()
        .map(|(cell, found)| (*cell, largest_phase(found)));
    let mut groups = grouped(phases, |(_, (phase, _))| *phase);
    groups.sort_by_key(|cells| std::cmp::Reverse(cells.len()));
    let told = groups.iter().filter_map(|own| {
        let shares: Vec<f64> = own.iter().map(|(_, (_, share))| *share).collect();
        let phase = own[0].1.0;
        let ends = range(&shares)?;
        let (least, most) = (human(ends.0, 2), human(ends.1, 2));
        let shares = if least == most {
            format!("{least} %")
        } else {
            format!("{least} % to {most} %")
        };
        // The cells whose largest phase this is, named only if cells have different largest phases.
        let names = own.iter().map(|(cell, _)| view.name(cell, None));
        let names: Vec<String> = names.collect();
        let which = match groups.len() {
            2.. if own.len() <= NAMED => format!(": {}", names.join("; ")),
            _ => String::new(),
        };
        Some(match found.len() {
            1 => format!("{phase}, {shares}"),
            _ => format!("{phase} in {} ({shares}{which})", count(own.len(), "cell")),
        })
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let most = if found.len() > 1 { "at most " } else { "" };
    let waits = range(&waits).map_or_else(String::new, |(_, waits)| {
        // Two significant digits; below 1 % one, since percentages are rounded to tenths.
        let waits = human(waits, if waits < 1.0 { 1 } else { 2 });
        format!("; waiting for data takes {most}{waits} %")
    });
    format!("The largest part of a step is {told}{waits}.")
}

/// The smallest and the largest value of a measure, with their cells.
pub(super) fn extreme_cells<'v, 'a>(
    measure: &Measure,
    cells: &[&'v Cell<'a>],
) -> Option<[(&'v Cell<'a>, Number); 2]> {
    let known = cells
        .iter()
        .filter_map(|cell| Some((*cell, measure.number(cell)?)));
    let known: Vec<(&Cell<'_>, Number)> = known.collect();
    let value = |one: &&(&Cell<'_>, Number)| one.1.value;
    let least = known.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let most = known.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
    Some([least.clone(), most.clone()])
}

/// The range of a measure as text: `from 0.52 s with small to 3.1 s with large`; for similar values only the range.
pub(super) fn range_over_cells(
    view: &View<'_>,
    measure: &Measure,
    cells: &[&Cell<'_>],
) -> Option<String> {
    let [(small, least), (large, most)] = extreme_cells(measure, cells)?;
    Some(if cells.len() == 1 {
        least.text_with_interval()
    } else if most.value <= APART * least.value {
        let alike = least.text == most.text;
        let to = if alike {
            String::new()
        } else {
            format!(" to {}", most.text)
        };
        format!("{}{to} {} in every cell", least.text, least.unit)
    } else {
        format!(
            "from {} with {} to {} with {}",
            least.text_with_interval(),
            view.shared_name(&[small]),
            most.text_with_interval(),
            view.shared_name(&[large])
        )
    })
}

fn memory(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let measure = Measure::of_memory(cells);
    match range_over_cells(view, &measure, cells) {
        Some(told) => format!("Peak {} is {told}.", measure.name),
        None => "Memory was not measured.".to_owned(),
    }
}

/// Sentences: the time of a run, the model size of the first cell, and the cost of all runs if prices are set.
fn costs(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let Some(time) = range_over_cells(view, &Measure::of("wall_s"), cells) else {
        return vec!["What a run costs was not measured.".to_owned()];
    };
    let price = cost::total_cost(view).map(|price| format!("; all runs together cost {price}"));
    // For a search only the best trial is described.
    let which = if cells.len() == 1 && view.cells.len() > 1 {
        "A run of the best"
    } else {
        "A run"
    };
    let mut told = vec![format!(
        "{which} takes {time}{}.",
        price.unwrap_or_default()
    )];
    told.extend(cells.first().and_then(|cell| size(view, cell, cells.len())));
    told
}

/// Numbers of parameters and FLOPs of a cell.
fn size(view: &View<'_>, cell: &Cell<'_>, of: usize) -> Option<String> {
    let facts = cell.facts().next().filter(|facts| facts.parameters > 0)?;
    let flops = facts.flops_forward_per_sample + facts.flops_backward_per_sample;
    let flops = (flops > 0.0).then(|| {
        let flops = human_si(flops, "FLOP");
        format!(" and takes {flops} of training a sample")
    });
    let name = if of == 1 {
        "Its model".to_owned()
    } else {
        view.name(cell, None)
    };
    let parameters = human_integer(facts.parameters);
    Some(format!(
        "{name} has {parameters} parameters{}.",
        flops.unwrap_or_default()
    ))
}
