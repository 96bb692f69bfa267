//! Validation: fewer samples told apart from faster ones.

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Entry, Row};

use super::figure::{At, Figure};
use super::passes;
use super::rows::{of_rows, plain_row, row, sides};
use super::spread::over_blocks;

messages! {
    validation_title() = "Validation" | "Validierung";
    validation_about() = "All that is evaluated during and after training, costly evaluation excluded: its seconds by validations, and those by samples. A validation of fewer samples takes less time and is no faster for it." | "Alles, was während und nach dem Training ausgewertet wird, ohne die aufwendige Auswertung: die Sekunden je Validierung und je Sample. Eine Validierung mit weniger Samples dauert kürzer, ist dadurch aber nicht schneller.";
    validation_count() = "validations of a run" | "Validierungen je Lauf";
    validation_batches() = "batches of a validation" | "Batches je Validierung";
    validation_samples() = "samples of a validation" | "Samples je Validierung";
    validation_counted() = "counted (rows of epochs.csv, one more for the mean weights)" | "gezählt (Zeilen von epochs.csv, eine mehr für die gemittelten Gewichte)";
    validation_set() = "from the specification as run" | "aus der Spezifikation, wie gelaufen";
    validation_whole_split() = "the whole split" | "der ganze Split";
    validation_split(total, amount, pace) = "One validation takes {total}× the time: {amount}× by the samples that it sees, {pace}× by the time of a sample" | "Eine Validierung dauert {total}× so lang: {amount}× durch die Zahl ihrer Samples, {pace}× durch die Zeit je Sample";
    validation_ends(ends) = "({ends})." | "({ends}).";
}

/// The section of validation; `None` where neither side validated.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let has = |at: At<'_, '_>| Figure::Validation.over_runs(at).is_some();
    let mut rows: Vec<Row> = Vec::new();
    let mut points = Vec::new();
    for duo in scene.shown() {
        let (before, after) = sides(scene, &duo);
        if !has(before) && !has(after) {
            continue;
        }
        rows.push(row(scene, &duo, Figure::Validation));
        rows.extend(counts(scene, &duo));
        rows.push(row(scene, &duo, Figure::Pass));
        rows.push(row(scene, &duo, Figure::PassSample));
        points.extend(sentence(scene, before, after));
    }
    if rows.is_empty() {
        return None;
    }
    points.truncate(1);
    let naming = (
        "validation",
        words.validation_title(),
        words.validation_about(),
    );
    let mut section = Section::table(of_rows(scene, naming, rows));
    section.points = points;
    Some(section)
}

/// The rows of what is counted or set: no time, and no ratio of times.
fn counts(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Row> {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let seed = |at: At<'_, '_>| at.cell.runs.first().map_or(0, |run| run.seed);
    let count = |value: Option<f64>, otherwise: String| {
        value.map_or_else(
            || Entry::text(otherwise),
            |value| Entry::value(value, words.count(value as usize)),
        )
    };
    let dash = || "–".to_owned();
    let row =
        |name: String, both: [Option<f64>; 2], otherwise: &dyn Fn() -> String, from: String| {
            plain_row(
                scene,
                duo,
                name,
                both,
                |value| count(value, otherwise()),
                from,
            )
        };
    let both = |get: fn(At<'_, '_>) -> Option<f64>| [get(before), get(after)];
    vec![
        row(
            words.validation_count(),
            [
                passes::of(before, seed(before)),
                passes::of(after, seed(after)),
            ],
            &dash,
            words.validation_counted(),
        ),
        row(
            words.validation_batches(),
            both(passes::batches),
            &|| words.validation_whole_split(),
            words.validation_set(),
        ),
        row(
            words.validation_samples(),
            both(passes::samples),
            &dash,
            words.validation_set(),
        ),
    ]
}

/// How the time of a validation came to change: by its samples, and by the time of each. `None` where it is not known how
/// many it sees.
pub(crate) fn sentence(scene: &Scene<'_>, one: At<'_, '_>, other: At<'_, '_>) -> Option<String> {
    let words = scene.words;
    let amount = passes::samples(other)? / passes::samples(one)?;
    let label = format!("{} per sample", other.cell.info.key);
    let runs = [Figure::PassSample.runs(one), Figure::PassSample.runs(other)];
    let pace: Ratio = over_blocks(&label, &runs, &|medians| medians[1] / medians[0])?;
    let text = words.validation_split(
        words.ratio(amount * pace.value),
        words.ratio(amount),
        words.ratio(pace.value),
    );
    Some(format!(
        "{text} {}",
        words.validation_ends(words.ends(&pace))
    ))
}
