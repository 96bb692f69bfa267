//! Compares the best cell of a task with the baselines on the same rows.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::statistics::range;
use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{min_runs_to_rank_best, p_values_within_pairs};
use crate::event::RunFacts;
use crate::report::measure::Measure;
use crate::report::number::number_over_seeds;
use crate::report::quality::{column_of_epochs, quality_column};
use crate::report::sections::difference::part;
use crate::report::sections::tasks::tasks;
use crate::report::view::{Cell, View};
use crate::results::BaselineRow;

use super::asked::answer_metric_columns;
use super::best::BestCells;
use super::choice::ALPHA;
use super::context::NAMED;
use super::sizes::SampleSizes;

/// Name in sentences of the only cell of a task.
const ONLY: &str = "the model";
/// Appended to the sentence about a test if all seeds are evaluated on the same rows.
const SAME_ROWS: &str = "; all seeds are evaluated on the same rows, so the test covers the randomness of training only";
/// The baselines as named in `baselines.csv`, and their names in sentences.
const NAMES: [(&str, &str); 3] = [
    ("linear", "linear model"),
    ("nearest", "nearest neighbour"),
    ("constant", "constant"),
];

/// The best cell, or a baseline.
struct Competitor {
    name: String,
    /// Values of the metric, one for each seed.
    values: Vec<f64>,
}

/// Sentences about each task that has baselines.
pub(super) fn sentences(view: &View<'_>) -> Vec<String> {
    if view.set.baselines.is_empty() {
        return Vec::new();
    }
    let all = tasks(view);
    let of_tasks = all.iter().filter_map(|task| {
        let cells = task.cells.iter().copied();
        let cells: Vec<&Cell<'_>> = cells.filter(|cell| cell.facts().next().is_some()).collect();
        let told = of_task(view, &cells, task.cells.len())?;
        Some(match &*task.name {
            "" => told,
            name => format!("{name}: {told}"),
        })
    });
    of_tasks.take(NAMED).collect()
}

/// A sentence about the measured `cells` of a task with `planned` cells.
fn of_task(view: &View<'_>, cells: &[&Cell<'_>], planned: usize) -> Option<String> {
    let decides = deciding(view, cells);
    let best = best_of(view, cells, &decides)?;
    let rows = on_data_of(view, best);
    let told = told(view, &decides, cells).into_iter().find(|name| {
        let is_known = rows.iter().any(|row| row.metrics.contains_key(name));
        is_known && !of_cell(best, name).is_empty()
    })?;
    let told = told.as_str();
    let own = |baseline: &'static str| rows.iter().filter(move |row| row.baseline == baseline);
    let baselines = NAMES.into_iter().filter_map(|(baseline, words)| {
        let values = own(baseline).filter_map(|row| row.metrics.get(told).copied().flatten());
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| Competitor {
            name: words.to_owned(),
            values,
        })
    });
    let baselines: Vec<Competitor> = baselines.collect();
    let shown = baselines
        .iter()
        .map(|one| format!("{} {}", one.name, shown(&one.values)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let left_out = left_out(&rows);
    let measure = Measure::of_plan(&view.set.plan, told);
    let cell = view.name(best, None);
    let has_weights = part(view, best, "loss.weights").is_some_and(|weights| !weights.is_null());
    let unweighted = if has_weights {
        " The model's loss has weights of classes; the baselines have none."
    } else {
        ""
    };
    let is_same = |cell: &&Cell<'_>| data_of(view, cell) == data_of(view, best);
    let which = if cells.iter().all(is_same) {
        "same rows".to_owned()
    } else {
        format!("data of {cell}")
    };
    let are_fixed = are_fixed(view, best, &baselines);
    let best = Competitor {
        name: match cells {
            [_] if planned == 1 => ONLY.to_owned(),
            [only] => view.name_in_plan(only),
            _ => cell,
        },
        values: of_cell(best, told),
    };
    Some(format!(
        "Baselines on the {which}, {}: {shown}{left_out}. {}{unweighted}",
        measure.name,
        verdict(&measure, &best, &baselines, are_fixed)
    ))
}

/// The baselines that were too large to compute, as a remark; empty without any.
fn left_out(rows: &[&BaselineRow]) -> String {
    let is_large = |baseline: &str| {
        let mut own = rows.iter().filter(|row| row.baseline == baseline);
        own.any(|row| row.metrics.is_empty())
    };
    let names = NAMES.into_iter().filter(|(baseline, _)| is_large(baseline));
    let names: Vec<&str> = names.map(|(_, words)| words).collect();
    match &names[..] {
        [] => String::new(),
        names => format!(" (too many rows or features for {})", names.join(" and ")),
    }
}

/// Whether all seeds are evaluated on the same rows: then every baseline has the same value for all seeds. A CSV
/// dataset without a fixed split is split anew for every seed and may have equal values by chance, so it does not
/// count.
fn are_fixed(view: &View<'_>, cell: &Cell<'_>, baselines: &[Competitor]) -> bool {
    let is_table = part(view, cell, "dataset.kind").is_some_and(|kind| kind == "csv");
    let is_split = part(view, cell, "dataset.split").is_some_and(|split| !split.is_null());
    let has_several = baselines.iter().any(|one| one.values.len() > 1);
    let mut all = baselines.iter().map(|one| &one.values);
    let is_one = all.all(|values| range(values).is_some_and(|(least, most)| least >= most));
    (is_split || !is_table) && has_several && is_one
}

/// The cell with the best median; of a search, only of the trials that the answer calls the best: others may have an
/// equal value.
fn best_of<'v, 'a>(view: &View<'_>, cells: &[&'v Cell<'a>], decides: &str) -> Option<&'v Cell<'a>> {
    let measure = Measure::of_plan(&view.set.plan, decides);
    let cost = |cell: &Cell<'_>| {
        let number = number_over_seeds(&of_cell(cell, decides));
        number.map_or(f64::INFINITY, |number| {
            measure.lower_is_better(number.value)
        })
    };
    let trials = view.set.plan.search.as_ref();
    let trials = trials.map(|_| BestCells::of(view).keys);
    let is_best_trial = |cell: &&Cell<'_>| {
        let mut trials = trials.iter();
        trials.all(|keys| keys.contains(&cell.info.key))
    };
    let cells = cells.iter().copied().filter(is_best_trial);
    cells.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// The metric that chooses the best cell: an objective of a search, else one of `report.answer`, else the usual one.
fn deciding(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let objectives = view.set.plan.search.iter();
    let objectives = objectives.flat_map(|search| &search.objectives);
    let objectives = objectives.map(|objective| objective.column.clone());
    let has = |name: &String| cells.iter().any(|cell| !of_cell(cell, name).is_empty());
    // A run may have only a metric's value of the last epoch, not the best over its epochs, so both names are tried.
    let mut asked = objectives
        .chain(answer_metric_columns(view))
        .flat_map(|name| {
            let of_epochs = column_of_epochs(view, &name).to_owned();
            [name, of_epochs]
        });
    let found = asked.find(has);
    found.unwrap_or_else(|| column_of_epochs(view, &quality_column(view, cells)).to_owned())
}

/// Columns by which the best cell may be compared with the baselines, the preferred first: the deciding metric unless
/// it is a loss (which may be weighted), the usual metric, then the deciding one. Of each metric the test column
/// precedes the validation column, because test rows were used to choose neither cell nor epoch.
fn told(view: &View<'_>, decides: &str, cells: &[&Cell<'_>]) -> Vec<String> {
    let usual = quality_column(view, cells);
    let is_metric = |name: &&str| !name.ends_with("_loss");
    let metrics = [decides]
        .into_iter()
        .filter(is_metric)
        .chain([&*usual, decides]);
    let metrics = metrics.map(|name| column_of_epochs(view, name));
    metrics
        .flat_map(|name| [name.replacen("val_", "test_", 1), name.to_owned()])
        .collect()
}

/// The settings that a baseline's values depend on, besides the seed: the dataset and the fraction of rows for
/// validation.
fn data_of<'a>(view: &View<'a>, cell: &Cell<'a>) -> [Option<&'a Value>; 2] {
    ["dataset", "validation.fraction"].map(|path| part(view, cell, path))
}

/// The rows of `baselines.csv` that are about a cell's data.
fn on_data_of<'a>(view: &View<'a>, cell: &Cell<'a>) -> Vec<&'a BaselineRow> {
    let same = view
        .cells
        .iter()
        .filter(|other| data_of(view, other) == data_of(view, cell));
    let keys: BTreeSet<&str> = same.map(|cell| &*cell.info.key).collect();
    let rows = view.set.baselines.iter();
    rows.filter(|row| keys.contains(&*row.cell)).collect()
}

/// Values of a metric, one for each seed that has it.
fn of_cell(cell: &Cell<'_>, name: &str) -> Vec<f64> {
    let get = |facts: &RunFacts| facts.metrics.get(name).copied().flatten();
    cell.facts().filter_map(get).collect()
}

fn shown(values: &[f64]) -> String {
    number_over_seeds(values).map_or_else(String::new, |number| number.text_with_interval())
}

/// Sentence that says whether the best cell beats the best baseline; `are_fixed` if all seeds are evaluated on the same
/// rows.
fn verdict(
    measure: &Measure,
    best: &Competitor,
    baselines: &[Competitor],
    are_fixed: bool,
) -> String {
    let cost = |one: &Competitor| {
        number_over_seeds(&one.values).map_or(f64::INFINITY, |number| {
            measure.lower_is_better(number.value)
        })
    };
    let by_cost = |a: &(_, &Competitor), b: &(_, &Competitor)| cost(a.1).total_cmp(&cost(b.1));
    let Some((place, strongest)) = baselines.iter().enumerate().min_by(by_cost) else {
        return String::new();
    };
    let own = format!("{}, {}", best.name, shown(&best.values));
    let better = match baselines {
        [only] => format!("Better than the {}: {own}", only.name),
        _ => format!("Better than all of them: {own}"),
    };
    let best_own = match &*best.name {
        ONLY => format!("the only one, {}", shown(&best.values)),
        _ => format!("the best, {own}"),
    };
    let is_ahead = cost(best) < cost(strongest);
    let name = &strongest.name;
    let n = best.values.len();
    let needed = min_runs_to_rank_best(baselines.len());
    if n < needed {
        let how = if is_ahead {
            better
        } else {
            format!("Not better than the {name}: {own}")
        };
        let seeds = count(n, "seed");
        return format!("{how}; {seeds} cannot show that it is not by chance, {needed} can.");
    }
    let pair = |other: &Competitor| [best, other].map(|one| one.values.clone());
    let pairs: Vec<[Vec<f64>; 2]> = baselines.iter().map(pair).collect();
    let p = &p_values_within_pairs(&pairs);
    let sizes = SampleSizes::of(pairs.iter().flatten());
    let test = |p: f64| format!("({}, p = {})", sizes.test_in_words(), human(p, 2));
    let to_strongest = p[place];
    let told = if to_strongest > ALPHA {
        format!(
            "Not shown to beat the {name}: {best_own}, is not distinguishable from it {}",
            test(to_strongest)
        )
    } else if !is_ahead {
        let p = test(to_strongest);
        format!("No model beats the {name}: {best_own}, is behind it {p}")
    } else {
        ahead(&better, &own, baselines, p, &test)
    };
    let rows = if are_fixed { SAME_ROWS } else { "" };
    format!("{told}{rows}.")
}

/// The sentence about a cell that is better than the best baseline; `better` is its beginning if all baselines are
/// beaten.
fn ahead(
    better: &str,
    own: &str,
    baselines: &[Competitor],
    p: &[f64],
    test: &dyn Fn(f64) -> String,
) -> String {
    let (beaten, others): (Vec<_>, Vec<_>) =
        baselines.iter().zip(p).partition(|(_, p)| **p <= ALPHA);
    let largest = beaten.iter().map(|(_, p)| **p).fold(0.0, f64::max);
    if others.is_empty() {
        return format!("{better} {}", test(largest));
    }
    let names = |some: &[(&Competitor, &f64)]| {
        let names: Vec<&str> = some.iter().map(|(one, _)| &*one.name).collect();
        names.join(" and the ")
    };
    format!(
        "Better than the {}: {own} {}; not shown to beat the {}",
        names(&beaten),
        test(largest),
        names(&others)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(own: &[f64], linear: &[f64], constant: &[f64]) -> String {
        let of = |name: &str, values: &[f64]| Competitor {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let baselines = [of("linear model", linear), of("constant", constant)];
        let measure = Measure::of("test_r2");
        let are_fixed = range(linear).is_some_and(|(least, most)| least >= most);
        verdict(&measure, &of("the model", own), &baselines, are_fixed)
    }

    #[test]
    fn a_better_model_a_worse_one_and_one_that_is_alike_are_told_apart() {
        let around = |middle: f64| {
            (0..6)
                .map(|seed| middle + 0.001 * f64::from(seed))
                .collect::<Vec<_>>()
        };
        let (low, middle, high) = (around(0.1), around(0.5), around(0.9));
        assert_eq!(
            told(&high, &middle, &low),
            "Better than all of them: the model, 0.9025 (0.9000–0.9050) (n = 6, Mann–Whitney, Holm, p = 0.0043)."
        );
        assert_eq!(
            told(&middle, &high, &low),
            "No model beats the linear model: the only one, 0.5025 (0.5000–0.5050), is behind it (n = 6, Mann–Whitney, Holm, p = 0.0043)."
        );
        assert_eq!(
            told(&low, &low, &low),
            "Not shown to beat the linear model: the only one, 0.1025 (0.1000–0.1050), is not distinguishable from it (n = 6, Mann–Whitney, Holm, p = 1.0)."
        );
    }

    #[test]
    fn a_model_that_beats_the_strongest_baseline_but_not_every_one_is_said_to() {
        let own = [0.5, 0.51, 0.52, 0.53, 0.54, 0.55];
        let wide = [0.1, 0.2, 0.3, 0.4, 0.52, 0.6];
        assert_eq!(
            told(&own, &own.map(|value| value - 0.1), &wide),
            "Better than the linear model: the model, 0.5250 (0.5000–0.5500) (n = 6, Mann–Whitney, Holm, p = 0.0043); not shown to beat the constant."
        );
    }

    #[test]
    fn of_seeds_that_have_the_same_rows_the_test_is_about_training() {
        assert_eq!(
            told(&[0.5, 0.51, 0.52, 0.53, 0.54, 0.55], &[0.4; 6], &[0.0; 6]),
            "Better than all of them: the model, 0.5250 (0.5000–0.5500) (n = 6, Mann–Whitney, Holm, p = 0.0043); all seeds are \
             evaluated on the same rows, so the test covers the randomness of training only."
        );
    }

    #[test]
    fn of_few_seeds_the_values_are_told_and_how_many_would_show_it() {
        assert_eq!(
            told(&[0.9], &[0.5], &[0.0]),
            "Better than all of them: the model, 0.9000; 1 seed cannot show that it is not by chance, 5 can."
        );
        assert!(told(&[0.4, 0.45], &[0.5, 0.5], &[0.0, 0.0]).starts_with(
            "Not better than the linear model: the model, 0.4250 (0.4000–0.4500); 2 seeds"
        ));
    }
}
