//! The sentences of an [`super::Answer`], by what the tests show.

use crate::base::text::count;
use crate::base::units::human;
use crate::report::judged::first_names_text;
use crate::report::measure::Measure;
use crate::report::number::{Number, with_unit};
use crate::report::quality::optimism_sentence;
use crate::report::view::View;

use super::along::axis_effect_sentences;
use super::asked::has_parts;
use super::choice::{ComparedToBest, Ranked, TaskRanking};
use super::{equal, gains, units};

/// Fraction by which a further measure of another cell must be better than the best cell's to be mentioned.
const LESS: f64 = 0.05;
/// Largest number of worse or dominated cells in a sentence.
const NAMED: usize = 4;
/// Largest number of cells of a Pareto front in a sentence.
const FRONT: usize = 4;

/// Sentences on the cells of a task; with several tasks, joined to one paragraph.
pub(super) fn choice_sentences(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Vec<String> {
    let name = &choice.measures[0].name;
    let mut sentences = match (choice.cells.as_slice(), choice.measures.len()) {
        ([], _) => vec![format!("No cell has a value of {}.", names(choice))],
        ([only], _) => vec![format!(
            "Only one cell has a value of {name}: {}.",
            text(view, choice, only)
        )],
        (_, 1) => gains::sentences(view, choice).unwrap_or_else(|| {
            let mut sentences = of_best(view, choice);
            // A treatment of which each value has several cells is told by pairs of cells.
            let treatment = view.treatment().filter(|_| choice.task.is_empty());
            let axis = treatment.map(|place| &*view.set.plan.axes[place].name);
            let effects = axis.map(|axis| axis_effect_sentences(view, axis, true));
            sentences.extend(effects.into_iter().flatten().filter(|_| !has_parts(view)));
            sentences
        }),
        _ => of_front(view, choice),
    };
    sentences.extend(units::caveat(view, choice));
    if let ([best, _, ..], [measure]) = (&*choice.cells, &*choice.measures) {
        let cells = count(choice.cells.len(), "cell");
        sentences.extend(optimism_sentence(
            view,
            &cells,
            (best.cell, &[]),
            &measure.column,
        ));
    }
    if !has_parts(view) {
        sentences.extend(equal::sentences(view, choice));
    }
    if !choice.task.is_empty() {
        sentences = vec![format!("{}: {}", choice.task, sentences.join(" "))];
    }
    sentences
}

/// Names of the deciding measures: `validation accuracy and memory`.
pub(super) fn names(choice: &TaskRanking<'_, '_>) -> String {
    let names = choice.measures.iter().map(|measure| &*measure.name);
    names.collect::<Vec<_>>().join(" and ")
}

/// A cell as text with its deciding and further measures: `batch-size 8, 10.3 samples/s (10.1–10.6), 424 MiB`.
fn text(view: &View<'_>, choice: &TaskRanking<'_, '_>, one: &Ranked<'_, '_>) -> String {
    let own = choice.measures.iter().zip(&one.numbers).enumerate();
    let own = own.map(|(place, (measure, number))| match place {
        // The first measure's name is already at the beginning of the sentence.
        0 => number.text_with_interval(),
        _ => measure.in_sentence(number),
    });
    let beside = choice.beside.iter().filter_map(|measure| {
        let number = measure.number(one.cell)?;
        Some(measure.in_sentence(&Number {
            interval: None,
            ..number
        }))
    });
    let beside = beside.filter(|_| choice.task.is_empty());
    let name = [view.name(one.cell, None)].into_iter();
    name.chain(own).chain(beside).collect::<Vec<_>>().join(", ")
}

/// Cells that may be as good as the best: if there are several, the one that is best in the further measures, else the
/// second best.
fn others(view: &View<'_>, choice: &TaskRanking<'_, '_>, cells: &[&Ranked<'_, '_>]) -> String {
    let [first, ..] = cells else {
        return String::new();
    };
    if cells.len() == 1 {
        return text(view, choice, first);
    }
    let is_per_run = choice.measures[0].is_per_run;
    let wanted = |measure: &&Measure| (measure.unit == "MiB") == is_per_run;
    let cost = |measure: &Measure, one: &Ranked<'_, '_>| {
        let number = measure.number(one.cell);
        number.map_or(f64::INFINITY, |number| {
            measure.lower_is_better(number.value)
        })
    };
    let chosen = choice.beside.iter().find(wanted).and_then(|measure| {
        let order = |a: &&&Ranked<'_, '_>, b: &&&Ranked<'_, '_>| {
            cost(measure, a).total_cmp(&cost(measure, b))
        };
        let one = cells.iter().min_by(order)?;
        // Another cell is mentioned only if its cost is better by more than a few percent.
        let of_best = cost(measure, choice.cells.first()?);
        let gains = of_best - cost(measure, one) > LESS * of_best.abs();
        gains.then(|| (lowered(&measure.superlative()), one))
    });
    match chosen {
        Some((by, one)) => format!("of these {by}: {}", text(view, choice, one)),
        None => format!("the next is {}", text(view, choice, first)),
    }
}

/// Sentences: the best cell by one measure, and which cells a test separates from it.
fn of_best(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Vec<String> {
    let mut sentences = of_session(view, choice);
    let apart = choice.cells.iter();
    let apart = apart.filter(|one| one.standing == ComparedToBest::Apart);
    let apart: Vec<String> = apart.map(|one| view.name(one.cell, None)).collect();
    if !apart.is_empty() {
        sentences.push(format!(
            "Measured in another session, in which the machine may have had another speed, and so not compared with it: {}. A run with --fresh measures all in one session.",
            first_names_text(&apart, NAMED, "; ")
        ));
    }
    sentences
}

/// Sentences on the best cell and the cells that were measured in the same session.
fn of_session(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Vec<String> {
    let (best, measure) = (&choice.cells[0], &choice.measures[0]);
    let by = measure.superlative();
    let with = |is: fn(&ComparedToBest) -> bool| -> Vec<&Ranked<'_, '_>> {
        let cells = choice.cells.iter();
        cells.filter(|one| is(&one.standing)).collect()
    };
    let best_text = text(view, choice, best);
    if choice.n.least < choice.needed {
        return of_too_few(view, choice, &best_text);
    }
    let alike = with(|standing| matches!(standing, ComparedToBest::Alike(_)));
    let apart = with(|standing| *standing == ComparedToBest::Apart);
    if apart.len() + 1 == choice.cells.len() {
        return vec![format!("{by} seen: {best_text}.")];
    }
    if alike.is_empty() {
        return vec![format!("{by}: {best_text}; {}.", all_behind(view, choice))];
    }
    let cells = count(alike.len(), "cell");
    let verb = if alike.len() == 1 { "is" } else { "are" };
    let behind = behind(view, choice);
    let test = choice.n.test_in_words();
    if alike.iter().all(|one| one.values == best.values) {
        let verb = if alike.len() == 1 { "has" } else { "have" };
        return vec![format!(
            "{by}: {best_text}. {cells} {verb} the same result ({test}){behind}."
        )];
    }
    vec![format!(
        "{by}: {best_text}. {cells} {verb} not distinguishable from it ({test}), {}{behind}.",
        others(view, choice, &alike)
    )]
}

/// Sentences for cells that have too few values for a test.
fn of_too_few(view: &View<'_>, choice: &TaskRanking<'_, '_>, best_text: &str) -> Vec<String> {
    let by = choice.measures[0].superlative();
    let with = |is: ComparedToBest| -> Vec<&Ranked<'_, '_>> {
        let cells = choice.cells.iter();
        cells.filter(|one| one.standing == is).collect()
    };
    let which = match &*by {
        "Fastest" => "which cell is fastest".to_owned(),
        by => format!("which cell has the {}", lowered(by)),
    };
    let overlap = with(ComparedToBest::Untested(Some(true)));
    let apart = with(ComparedToBest::Untested(Some(false)));
    let beside = match overlap.len() {
        _ if choice.cells[0].values.len() < 2 => {
            "a single value has no range to hold others against".to_owned()
        }
        0 if apart.len() + 1 < choice.cells.len() => {
            "a cell with a single value has no range to hold against it".to_owned()
        }
        0 => "no other range overlaps with this one".to_owned(),
        1 => format!(
            "one range overlaps with it: {}",
            others(view, choice, &overlap)
        ),
        n => format!(
            "{n} ranges overlap with it, {}",
            others(view, choice, &overlap)
        ),
    };
    vec![
        format!(
            "The data do not show {which}: {} per cell, {} are needed.",
            choice.runs(),
            choice.needed
        ),
        format!("{by} seen: {best_text}; {beside}."),
    ]
}

/// `; behind it: boosting, 0.8948; linear, 0.8180`: the cells that a test separates from the best; empty without such
/// cells.
fn behind(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> String {
    let is_behind = |one: &&Ranked<'_, '_>| matches!(one.standing, ComparedToBest::Behind(_));
    let cells: Vec<&Ranked<'_, '_>> = choice.cells.iter().filter(is_behind).collect();
    let names = cells.iter().map(|one| {
        let (name, number) = (view.name(one.cell, None), &one.numbers[0]);
        format!("{name}, {}", with_unit(&number.text, &number.unit))
    });
    match cells.len() {
        0 => String::new(),
        1..=NAMED => format!("; behind it: {}", names.collect::<Vec<_>>().join("; ")),
        n => format!("; {n} are behind it"),
    }
}

/// Sentence: the test separates all other cells from the best.
fn all_behind(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> String {
    let p = choice.cells.iter().filter_map(|one| match one.standing {
        ComparedToBest::Behind(p) => Some(p),
        _ => None,
    });
    let (n, p) = (choice.n.text(), human(p.fold(0.0, f64::max), 2));
    let is_apart = |one: &Ranked<'_, '_>| one.standing == ComparedToBest::Apart;
    match &*choice.cells {
        cells if cells.iter().any(is_apart) => format!(
            "every other cell of its session is behind it ({n}, Mann–Whitney, p ≤ {p} by Holm)"
        ),
        [_, other] => {
            let (name, shown) = (
                view.name(other.cell, None),
                other.numbers[0].text_with_interval(),
            );
            format!("{name} is behind it, {shown} ({n}, Mann–Whitney, p = {p})")
        }
        _ => format!("every other cell is behind it ({n}, Mann–Whitney, p ≤ {p} by Holm)"),
    }
}

/// Sentences on the Pareto front of several measures.
fn of_front(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Vec<String> {
    let on_front = choice.cells.iter();
    let front: Vec<&Ranked<'_, '_>> = on_front
        .filter(|one| one.standing == ComparedToBest::OnFront)
        .collect();
    let named = front.iter().take(FRONT).map(|one| {
        let values: Vec<String> = one.numbers.iter().map(Number::text_with_interval).collect();
        format!("{} with {}", view.name(one.cell, None), values.join(" at "))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let others = front.iter().skip(FRONT);
    let others: Vec<String> = others.map(|one| view.name(one.cell, None)).collect();
    let more = match others.len() {
        0 => String::new(),
        1..=NAMED => format!("; {}", others.join("; ")),
        more => format!("; and {more} more"),
    };
    let dominated = choice.cells.iter();
    let dominated = dominated.filter(|one| one.standing == ComparedToBest::Dominated);
    let dominated: Vec<String> = dominated.map(|one| view.name(one.cell, None)).collect();
    let worse = match dominated.len() {
        1..=NAMED => format!("; another is better by all than {}", dominated.join(", ")),
        _ => String::new(),
    };
    let (names, all) = (names(choice), choice.cells.len());
    let mut sentences = vec![match front.len() {
        1 => format!("Best by {names} at once: {named}{worse}."),
        n => format!(
            "No cell is best by {names} at once; {n} of {all} are on the Pareto front: {named}{more}{worse}."
        ),
    }];
    if choice.n.least < choice.needed {
        sentences.push(format!(
            "The front is that of medians over {} values each; a test of a cell against all others needs {}.",
            choice.n.least, choice.needed
        ));
    }
    sentences
}

/// A phrase with its first letter in lower case, for the middle of a sentence.
fn lowered(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}
