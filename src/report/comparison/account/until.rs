//! Times of a run side by side, and the time until a model is as good as the other side's.

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Entry, Row};
use crate::results::interval_over_runs;

use super::figure::{Figure, Kind};
use super::goal::Goal;
use super::rows::{direction, heads, interval, of_rows, ratio_entry, row, sides};
use super::search;
use super::spread::{over_blocks, p_value};

messages! {
    until_title() = "Time to a model" | "Zeit bis zum Modell";
    until_about() = "From the start of a run to a trained and evaluated model. Times of training leave validation out; the whole run has start-up, training and validation, and the costly evaluation beside it." | "Vom Start eines Laufs bis zum trainierten und geprüften Modell. Trainingszeiten enthalten keine Validierung; der ganze Lauf besteht aus Start, Training und Validierung, die aufwendige Auswertung steht daneben.";
    until_best_epoch_note() = "The best epoch is that of each side’s own best loss, so that its time compares unequal models; the row with the loss that both reach compares equal ones." | "Die beste Epoche ist die des eigenen besten Loss jeder Seite: Ihre Zeit vergleicht ungleiche Modelle. Die Zeile mit dem Loss, den beide erreichen, vergleicht gleich gute.";
}

/// Times of a run, in the order in which it spends them.
const TIMES: [Figure; 6] = [
    Figure::Startup,
    Figure::Training,
    Figure::Validation,
    Figure::WholeRun,
    Figure::Evaluation,
    Figure::BestEpoch,
];

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let named = scene.shown().enumerate();
    let rows: Vec<Row> = named
        .flat_map(|(place, duo)| rows(scene, &duo, place == 0))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let naming = ("until", words.until_title(), words.until_about());
    let mut section = Section::table(of_rows(scene, naming, rows));
    section.points.push(words.until_best_epoch_note());
    Some(section)
}

fn rows(scene: &Scene<'_>, duo: &Duo<'_, '_>, is_first: bool) -> Vec<Row> {
    // A search is one for all of its trials.
    let is_search = scene.after.set.plan.search.is_some();
    let mut rows = Vec::new();
    if is_first || !is_search {
        rows.push(search::row(scene, duo));
    }
    rows.extend(TIMES.map(|figure| row(scene, duo, figure)));
    rows.extend(
        goals(scene, duo)
            .iter()
            .map(|goal| goal_row(scene, duo, goal)),
    );
    rows
}

fn goals(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Goal> {
    let (before, after) = sides(scene, duo);
    let equal = Goal::equal_loss(before, after);
    equal.into_iter().chain(Goal::targets(after)).collect()
}

/// The loss that both reach, and `after ÷ before` of the training until then.
pub(crate) fn equal_loss(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<(Goal, Ratio)> {
    let (before, after) = sides(scene, duo);
    let goal = Goal::equal_loss(before, after)?;
    let ratio = ratio(scene, duo, &goal)?;
    Some((goal, ratio))
}

fn ratio(scene: &Scene<'_>, duo: &Duo<'_, '_>, goal: &Goal) -> Option<Ratio> {
    let (before, after) = sides(scene, duo);
    let label = format!("{} until {}", duo.pair.after, goal.id());
    over_blocks(&label, &[goal.runs(before), goal.runs(after)], &|medians| {
        medians[1] / medians[0]
    })
}

/// The row of a goal.
pub(crate) fn goal_row(scene: &Scene<'_>, duo: &Duo<'_, '_>, goal: &Goal) -> Row {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let own = [before, after].map(|at| {
        let seconds: Vec<f64> = goal.runs(at).into_values().collect();
        interval_over_runs(&at.cell.info.key, &seconds)
    });
    let mut fields = heads(scene, duo, goal.name(words));
    match own {
        [Some(one), Some(other)] => {
            let ratio = ratio(scene, duo, goal);
            let p = p_value(&goal.runs(before), &goal.runs(after));
            fields.extend([
                interval(words, Kind::Seconds, &one),
                interval(words, Kind::Seconds, &other),
                ratio_entry(words, ratio.as_ref()),
                Entry::text(direction(words, Kind::Seconds, ratio.as_ref(), p)),
                Entry::text(words.goal_source()),
            ]);
        }
        [one, other] => {
            let side = |at, found: Option<crate::results::Interval>| {
                found.map_or_else(
                    || Entry::text(goal.why_missing(words, at)),
                    |found| interval(words, Kind::Seconds, &found),
                )
            };
            fields.extend([side(before, one), side(after, other)]);
            fields.extend(["–", "–"].map(Entry::text));
            fields.push(Entry::text(words.goal_source()));
        }
    }
    Row {
        key: duo.pair.after.clone(),
        fields,
        missing: None,
    }
}
