//! Compares the best cell of a task with the baselines on the same rows.

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{against_best, runs_to_choose};
use crate::event::RunFacts;
use crate::report::measure::Measure;
use crate::report::number::of_seeds;
use crate::report::quality::{column, loss_column};
use crate::report::search::Search;
use crate::report::sections::difference::part;
use crate::report::sections::tasks::tasks;
use crate::report::view::{Cell, View};
use crate::results::BaselineRow;

use super::asked::named;
use super::choice::{self, ALPHA};
use super::context::NAMED;

/// Name of the only cell of a task.
const ONLY: &str = "the model";

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
        let told = of_task(view, &cells)?;
        Some(match &*task.name {
            "" => told,
            name => format!("{name}: {told}"),
        })
    });
    of_tasks.take(NAMED).collect()
}

fn of_task(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let first = cells.first()?;
    let dataset = part(view, first, "dataset_name")?.as_str()?;
    let is_own = |row: &&BaselineRow| {
        row.dataset == dataset && row.task_signature == first.info.task_signature
    };
    let rows: Vec<&BaselineRow> = view.set.baselines.iter().filter(is_own).collect();
    let asked = named(view)
        .into_iter()
        .find(|name| !of_cell(first, name).is_empty());
    let chosen_by = match asked.unwrap_or_else(|| column(view, cells)) {
        loss if loss == "best_loss" => loss_column(view).to_owned(),
        other => other,
    };
    let cost = |cell: &&&Cell<'_>| {
        let measure = Measure::of(&chosen_by);
        let number = of_seeds(&of_cell(cell, &chosen_by));
        number.map_or(f64::INFINITY, |number| measure.cost(number.value))
    };
    let best = cells.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let best = best_trial(view, cells).unwrap_or(best);
    // The metric on the test split, if it exists: those rows chose neither cell nor epoch.
    let tested = chosen_by.replacen("val_", "test_", 1);
    let told = [&tested, &chosen_by].into_iter().find(|name| {
        !of_cell(best, name).is_empty()
            && rows
                .iter()
                .any(|row| row.metrics.contains_key(name.as_str()))
    })?;
    let names = [
        ("linear", "linear model"),
        ("nearest", "nearest neighbour"),
        ("constant", "constant"),
    ];
    let baselines = names.into_iter().filter_map(|(baseline, words)| {
        let own = rows.iter().filter(|row| row.baseline == baseline);
        let values = own.filter_map(|row| row.metrics.get(told).copied().flatten());
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
    let measure = Measure::of(told);
    let name = match cells.len() {
        1 => ONLY.to_owned(),
        _ => view.name(best, None),
    };
    let best = Competitor {
        name,
        values: of_cell(best, told),
    };
    Some(format!(
        "Baselines on the same rows, {}: {shown}. {}",
        measure.name,
        verdict(&measure, &best, &baselines)
    ))
}

/// The best trial of a search by its first objective; `None` without a search.
fn best_trial<'c, 'v, 'a>(view: &View<'_>, cells: &'c [&'v Cell<'a>]) -> Option<&'c &'v Cell<'a>> {
    let search = Search::of(view)?;
    let objective = search.first();
    let studies = search.studies.iter();
    let best = studies.filter_map(|study| {
        let trial = *study.best_first(objective).first()?;
        Some((objective.loss(&trial)?, &*trial.cell.info.key))
    });
    let mut best: Vec<(f64, &str)> = best.collect();
    best.retain(|(_, key)| cells.iter().any(|cell| cell.info.key == *key));
    let (_, key) = best.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    cells.iter().find(|cell| cell.info.key == key)
}

/// Values of a metric, one for each seed that has it.
fn of_cell(cell: &Cell<'_>, name: &str) -> Vec<f64> {
    let get = |facts: &RunFacts| facts.metrics.get(name).copied().flatten();
    cell.facts().filter_map(get).collect()
}

fn shown(values: &[f64]) -> String {
    of_seeds(values).map_or_else(String::new, |number| number.shown())
}

/// Whether the best cell is better than the best baseline.
fn verdict(measure: &Measure, best: &Competitor, baselines: &[Competitor]) -> String {
    let cost = |one: &Competitor| {
        of_seeds(&one.values).map_or(f64::INFINITY, |number| measure.cost(number.value))
    };
    let Some(strongest) = baselines.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))) else {
        return String::new();
    };
    let own = format!("{}, {}", best.name, shown(&best.values));
    let best_own = match &*best.name {
        ONLY => format!("the only one, {}", shown(&best.values)),
        _ => format!("the best, {own}"),
    };
    let is_ahead = cost(best) < cost(strongest);
    let name = &strongest.name;
    let n = best.values.len();
    let needed = runs_to_choose(baselines.len());
    if n < needed {
        let how = if is_ahead {
            format!("Better than all of them: {own}")
        } else {
            format!("Not better than the {name}: {own}")
        };
        let seeds = count(n, "seed");
        return format!("{how}; {seeds} cannot show that it is not by chance, {needed} can.");
    }
    let all = std::iter::once(best).chain(baselines);
    let all: Vec<Vec<f64>> = all.map(|one| one.values.clone()).collect();
    let p = &against_best(&all, 0)[1..];
    let place = baselines
        .iter()
        .position(|one| std::ptr::eq(one, strongest));
    let to_strongest = p[place.unwrap_or_default()];
    let to_all = p.iter().copied().fold(0.0, f64::max);
    let test = |p: f64| format!("({}, p = {})", choice::test(n), human(p, 2));
    if is_ahead && to_all <= ALPHA {
        return format!("Better than all of them: {own} {}.", test(to_all));
    }
    let p = test(to_strongest);
    if !is_ahead && to_strongest <= ALPHA {
        return format!("No model beats the {name}: {best_own}, is behind it {p}.");
    }
    format!("No model is shown to beat the {name}: {best_own}, is not distinguishable from it {p}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::BestCells;
    use crate::report::search::fixture::{ONE, searched};

    fn told(own: &[f64], linear: &[f64], constant: &[f64]) -> String {
        let of = |name: &str, values: &[f64]| Competitor {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let baselines = [of("linear model", linear), of("constant", constant)];
        verdict(&Measure::of("test_r2"), &of("the model", own), &baselines)
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
            "No model is shown to beat the linear model: the only one, 0.1025 (0.1000–0.1050), is not distinguishable from it (n = 6, Mann–Whitney, Holm, p = 1.0)."
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

    #[test]
    fn the_trial_beside_the_baselines_is_the_best_by_the_objective() {
        let set = searched(ONE);
        let view = View::of(&set);
        let cells: Vec<&Cell<'_>> = view.measured().collect();
        let best = best_trial(&view, &cells).expect("a trial");
        assert_eq!(BestCells::of(&view).keys, [best.info.key.clone()]);
        assert!(best_trial(&View::of(&crate::results::golden::ddpm()), &cells).is_none());
    }
}
