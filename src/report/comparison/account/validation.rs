//! Validation: fewer samples told apart from faster ones.

use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::Entry;

use super::figure::Figure;
use super::passes;
use super::rows::{Line, Measure, columns, line, over_pairs, plain};
use super::spread::{over_blocks, quotient};

messages! {
    validation_about() = "What is evaluated during and after training, costly evaluation excluded. A validation of fewer samples takes less time and is no faster for it." | "Was während und nach dem Training ausgewertet wird, ohne die aufwendige Auswertung. Eine Validierung mit weniger Samples dauert kürzer, ist dadurch aber nicht schneller.";
    validation_count() = "validations of a run" | "Validierungen je Lauf";
    validation_batches() = "batches of a validation" | "Batches je Validierung";
    validation_samples() = "samples of a validation" | "Samples je Validierung";
    validation_counted() = "counted (rows of epochs.csv, one more for the mean weights)" | "gezählt (Zeilen von epochs.csv, eine mehr für die gemittelten Gewichte)";
    validation_set() = "from the specification as run" | "aus der Spezifikation, wie ausgeführt";
    validation_whole_split() = "the whole split" | "der ganze Split";
    validation_split(total, amount, pace, ends) = "One validation takes {total}× the time: {amount}× by the samples that it sees, {pace}× by the time of a sample ({ends})." | "Eine Validierung dauert {total}× so lang: {amount}× durch die Zahl ihrer Samples, {pace}× durch die Zeit je Sample ({ends}).";
}

/// The section of validation; `None` where neither side validated.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let naming = (
        "validation",
        words.factor_validation(),
        words.validation_about(),
    );
    let table = over_pairs(scene, naming, columns(scene), |duo| lines(scene, duo))?;
    let points = scene.shown().find_map(|duo| sentence(scene, &duo));
    Some(Section {
        points: points.into_iter().collect(),
        ..table
    })
}

fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Line> {
    let words = scene.words;
    if duo
        .both
        .iter()
        .all(|at| Figure::Validation.runs(*at).is_empty())
    {
        return Vec::new();
    }
    let passes = duo
        .both
        .map(|at| passes::of(at, at.cell.runs.first().map_or(0, |run| run.seed)));
    let count = |value: f64| words.count(value as usize);
    let dash = |value| Entry::shown(value, count);
    let whole = |value: Option<f64>| match value {
        Some(value) => Entry::value(value, count(value)),
        None => Entry::text(words.validation_whole_split()),
    };
    let set = words.validation_set();
    let (batches, samples) = (duo.both.map(passes::batches), duo.both.map(passes::samples));
    let counted = words.validation_counted();
    vec![
        plain(words, words.validation_count(), passes, &dash, &counted),
        plain(words, words.validation_batches(), batches, &whole, &set),
        plain(words, words.validation_samples(), samples, &dash, &set),
        line(scene, duo, &Figure::Pass),
        line(scene, duo, &Figure::PassSample),
    ]
}

/// How the time of a validation came to change: by its samples, and by the time of each. `None` where it is not known how
/// many it sees.
fn sentence(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<String> {
    let words = scene.words;
    let [before, after] = duo.both.map(|at: At<'_, '_>| passes::samples(at));
    let amount = after? / before?;
    let label = format!("{} per sample", duo.pair.after);
    let runs = duo.both.map(|at| Figure::PassSample.runs(at));
    let pace = over_blocks(&label, &runs, &quotient)?;
    Some(words.validation_split(
        words.ratio(amount * pace.value),
        words.ratio(amount),
        words.ratio(pace.value),
        words.ends(&pace),
    ))
}
