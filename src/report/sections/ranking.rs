//! Ranking of cells by speed: the measure, the reference cell of speed-ups, and which cells can be compared.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::statistics::median;
use crate::report::judged::distinct;
use crate::report::number::times_text;
use crate::report::table::Entry;
use crate::report::view::{Cell, View};
use crate::results::value;

use super::difference::work_differences;
use super::field::CellColumn;
use super::tasks::tasks;
use crate::report::timing::{THROUGHPUT, timing_value};

/// The column of `timings.csv` by which cells are ranked by speed: seconds per epoch, if every measured cell ran whole
/// epochs, and samples per second if epochs were cut short; seconds of a whole run if nothing smaller is known, as for
/// commands.
pub(crate) fn speed_column(cells: &[&Cell<'_>]) -> &'static str {
    let measured = || cells.iter().filter(|cell| cell.is_measured());
    let has = |column| move |cell: &&Cell<'_>| timing_value(cell, column).is_some();
    if measured().next().is_some() && measured().all(has("epoch_s")) {
        "epoch_s"
    } else if !measured().any(has(THROUGHPUT)) && measured().any(has("total_s")) {
        "total_s"
    } else {
        THROUGHPUT
    }
}

/// The column by which values of a treatment are ranked, the same as in a comparison: milliseconds per step, without
/// validation; throughput if steps differ in size; otherwise, as for programs, that of [`speed_column`].
pub(crate) fn treatment_speed_column(view: &View<'_>, cells: &[&Cell<'_>]) -> &'static str {
    let measured = || cells.iter().filter(|cell| cell.is_measured());
    let has = |column| {
        let has = |cell: &&Cell<'_>| !cell.is_of_command && timing_value(cell, column).is_some();
        measured().all(has)
    };
    let plan = &view.set.plan;
    let sizes = distinct(measured().map(|cell| plan.samples_per_step(cell.info)));
    match sizes.len() {
        1 if has("step_ms") => "step_ms",
        2.. if has(THROUGHPUT) => THROUGHPUT,
        _ => speed_column(cells),
    }
}

/// The formula of a speed-up.
fn formula(pace: &str) -> &'static str {
    match pace {
        "step_ms" => "step time of the baseline ÷ own",
        "epoch_s" => "epoch time of the baseline ÷ own",
        THROUGHPUT => "throughput ÷ that of the baseline",
        _ => "time of the baseline's run ÷ own",
    }
}

/// The measured cells of a task, the fastest first; equal ones in plan order.
pub(crate) fn fastest_first<'v, 'a>(cells: &[&'v Cell<'a>]) -> Vec<(&'v Cell<'a>, f64)> {
    let pace = speed_column(cells);
    let timed = cells.iter();
    let timed = timed.filter_map(|cell| Some((*cell, timing_value(cell, pace)?)));
    let mut ordered: Vec<_> = timed.collect();
    ordered.sort_by(|a, b| match pace {
        THROUGHPUT => b.1.total_cmp(&a.1),
        _ => a.1.total_cmp(&b.1),
    });
    ordered
}

/// The reference cell of speed-ups: the manifest's baseline, else the slowest.
pub(crate) fn baseline<'v, 'a>(view: &View<'a>, cells: &[&'v Cell<'a>]) -> Option<&'v Cell<'a>> {
    let declared = cells
        .iter()
        .find(|cell| cell.is_measured() && is_baseline(view, cell))
        .copied();
    declared.or_else(|| fastest_first(cells).pop().map(|(cell, _)| cell))
}

/// Whether the manifest names the cell as its baseline: `report.baseline`, else `compare.baseline` of the treatment.
pub(crate) fn is_baseline(view: &View<'_>, cell: &Cell<'_>) -> bool {
    let plan = &view.set.plan;
    if let Some(Value::Object(wanted)) = plan.report.get("baseline") {
        return !wanted.is_empty() && view.has_axis_values(cell, wanted);
    }
    let is_it = |(place, value): (usize, &str)| &*cell.info.axes[place] == value;
    view.baseline().is_some_and(is_it)
}

/// Why two cells' times cannot be compared; `None` if they can.
pub(crate) fn not_comparable(view: &View<'_>, a: &Cell<'_>, b: &Cell<'_>) -> Option<String> {
    // Values of a declared treatment are to be compared, although their work differs.
    let are_treatments = |place: usize| {
        a.is_measured()
            && b.is_measured()
            && a.axis_values_except(place) == b.axis_values_except(place)
    };
    if a.info.work_signature == b.info.work_signature
        || view.treatment().is_some_and(are_treatments)
    {
        return different_conditions(a, b).map(str::to_owned);
    }
    let differs = work_differences(view, a, b);
    Some(if differs.is_empty() {
        "other work per sample".to_owned()
    } else {
        format!("different {}", differs.join(", "))
    })
}

/// Why two cells were measured under different conditions, regardless of their work; `None` if they were not.
pub(crate) fn different_conditions(a: &Cell<'_>, b: &Cell<'_>) -> Option<&'static str> {
    let environment = |cell: &Cell<'_>| cell.timing.map(|row| row.env_id.clone());
    // Programs of `kind = "command"` each have their own code hash.
    let are_commands = a.is_of_command && b.is_of_command;
    if a.info.code_hash != b.info.code_hash && !are_commands {
        Some("measured with other code")
    } else if environment(a) != environment(b) {
        Some("measured in another environment")
    } else {
        None
    }
}

/// The column of speed-ups over the baseline of each cell's task, if cells are comparable, and a sentence that names
/// the baseline or says why there is no such column.
pub(crate) fn speed_up<'f, 'a>(view: &'f View<'a>) -> (Option<CellColumn<'f, 'a>>, String) {
    let (mut bases, mut formulas) = (BTreeMap::new(), Vec::new());
    let (mut names, mut why_none) = (Vec::new(), String::new());
    for task in tasks(view) {
        let Some(base) = baseline(view, &task.cells) else {
            continue;
        };
        let pace = match view.treatment() {
            Some(_) => treatment_speed_column(view, &task.cells),
            None => speed_column(&task.cells),
        };
        let others = task.cells.iter().filter(|cell| cell.is_measured());
        let others: Vec<_> = others
            .filter(|cell| cell.info.key != base.info.key)
            .collect();
        let why = |cell: &Cell<'_>| {
            not_comparable(view, cell, base).or_else(|| other_steps(pace, cell, base))
        };
        // The column is left out if every row would be a dash.
        if others.iter().all(|cell| why(cell).is_some()) {
            let first = others.first().filter(|_| why_none.is_empty());
            why_none
                .extend(first.and_then(|cell| Some(no_speed_up(view, (base, cell), &why(cell)?))));
            continue;
        }
        bases.extend(
            task.cells
                .iter()
                .map(|cell| (&*cell.info.key, (pace, base))),
        );
        if !formulas.contains(&formula(pace)) {
            formulas.push(formula(pace));
        }
        let plan = &view.set.plan;
        let declared = [&plan.report, &plan.compare].map(|section| section.get("baseline"));
        let is_named = declared.into_iter().flatten().any(|value| !value.is_null());
        let how = match is_baseline(view, base) {
            true if is_named => "named by the manifest",
            true => "the treatment's first value",
            false => "the slowest",
        };
        names.push(format!("{} ({how})", view.name(base, None)));
    }
    let about = match &names[..] {
        [] => return (None, why_none),
        [name] => format!(" The speed-up is against {name}."),
        _ => " The speed-up is against the baseline of a task, else its slowest cell.".to_owned(),
    };
    let column = CellColumn::derived("speed-up", "", &*formulas.join(", else "), move |cell| {
        let base = bases.get(&*cell.info.key);
        base.map_or_else(|| Entry::text("–"), |base| against(view, *base, cell))
    });
    (Some(column), about)
}

/// Sentence: why there is no speed-up over `base`, with another cell as the example.
fn no_speed_up(view: &View<'_>, (base, other): (&Cell<'_>, &Cell<'_>), why: &str) -> String {
    let [base, other] = [base, other].map(|cell| view.name(cell, None));
    format!(
        " No speed-up is shown, because no other cell is comparable with {base}; for example {other}: {why}."
    )
}

/// Why the times of two whole runs cannot be divided: the programs took different numbers of steps.
fn other_steps(pace: &str, a: &Cell<'_>, b: &Cell<'_>) -> Option<String> {
    let steps = |cell: &Cell<'_>| cell.facts().next().map(|facts| facts.steps);
    let differ = pace == "total_s" && steps(a) != steps(b);
    differ.then(|| "different numbers of steps".to_owned())
}

fn against(view: &View<'_>, (pace, base): (&str, &Cell<'_>), cell: &Cell<'_>) -> Entry {
    // Medians of the runs, as in sentences, because the medians in `timings.csv` are rounded.
    let middle = |cell: &Cell<'_>| {
        timing_value(cell, pace)?;
        let runs = cell.counted.iter();
        let values: Vec<f64> = runs.filter_map(|run| value(run, pace)).collect();
        median(&values)
    };
    let Some((own, base_speed)) = middle(cell).zip(middle(base)) else {
        return Entry::text("–");
    };
    if let Some(reason) = not_comparable(view, cell, base).or_else(|| other_steps(pace, cell, base))
    {
        // The differing values are left out, since they would be wider than the page; the section on variants has them.
        let what = reason.split(" (").next().unwrap_or_default();
        return Entry::detailed("–", format!("not comparable: {what}"));
    }
    let ratio = match pace {
        THROUGHPUT => own / base_speed,
        _ => base_speed / own,
    };
    Entry::value(ratio, times_text(ratio))
}
