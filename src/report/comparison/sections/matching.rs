//! Cells and axes that only one side has, and how the others were matched.

use crate::compare::MatchedBy;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::results::CellInfo;

/// Largest number of keys in a sentence.
const NAMED: usize = 12;

messages! {
    matching_title() = "Cells and axes of one side only" | "Zellen und Achsen nur einer Seite";
    added_cells(count, keys) = "Added cells ({count}): {keys}." | "Hinzugekommene Zellen ({count}): {keys}.";
    removed_cells(count, keys) = "Removed cells ({count}): {keys}." | "Entfallene Zellen ({count}): {keys}.";
    added_axis(axis, values) = "Axis “{axis}” is only in the side after (values {values})." | "Die Achse „{axis}“ gibt es nur auf der Seite nachher (Werte {values}).";
    removed_axis(axis, values) = "Axis “{axis}” is only in the side before (values {values})." | "Die Achse „{axis}“ gibt es nur auf der Seite vorher (Werte {values}).";
    changed_axis(axis, removed, added) = "Axis “{axis}”: values only before: {removed}; only after: {added}." | "Achse „{axis}“: Werte nur vorher: {removed}; nur nachher: {added}.";
    by_hash(count) = "{count} cells were matched by their content: the key is another, the resolved specification and data are the same." | "{count} Zellen wurden nach ihrem Inhalt zugeordnet: Der Schlüssel ist ein anderer, aufgelöste Spezifikation und Daten sind gleich.";
    by_axes(count) = "{count} cells were matched by the axes that both sides have." | "{count} Zellen wurden nach den Achsen zugeordnet, die beide Seiten haben.";
}

/// The section on cells and axes of one side only; `None` if both sides have the same cells under the same keys.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let points = points(scene);
    let titled = Section::titled("matching", scene.words.matching_title());
    (!points.is_empty()).then_some(Section { points, ..titled })
}

/// Sentences on cells that only one side has.
pub(crate) fn points(scene: &Scene<'_>) -> Vec<String> {
    let (comparison, words) = (scene.comparison, scene.words);
    let keys = |cells: &[CellInfo]| {
        let keys: Vec<String> = cells.iter().map(|cell| cell.key.clone()).collect();
        let named = (words.count(keys.len()), words.listed(&keys, NAMED));
        (!keys.is_empty()).then_some(named)
    };
    let matched = |by: MatchedBy| {
        let pairs = comparison.cells.iter();
        let count = pairs.filter(|pair| pair.matched == by).count();
        (count > 0).then(|| words.count(count))
    };
    let mut points = axes(scene);
    points.extend(keys(&comparison.added).map(|(count, keys)| words.added_cells(count, keys)));
    points.extend(keys(&comparison.removed).map(|(count, keys)| words.removed_cells(count, keys)));
    points.extend(matched(MatchedBy::CellHash).map(|count| words.by_hash(count)));
    points.extend(matched(MatchedBy::SharedAxes).map(|count| words.by_axes(count)));
    points
}

fn axes(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let changes = scene.comparison.axes.iter().map(|change| {
        let removed = words.listed(&change.removed, NAMED);
        let added = words.listed(&change.added, NAMED);
        match (change.in_before, change.in_after) {
            (false, _) => words.added_axis(&change.axis, added),
            (_, false) => words.removed_axis(&change.axis, removed),
            _ => words.changed_axis(&change.axis, removed, added),
        }
    });
    changes.collect()
}
