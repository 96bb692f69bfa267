//! Every factor that changed, and what shows that nothing else did.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{FieldClass, SpecChange, Work};
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::Cell;

/// Rows of the table at most.
const ROWS: usize = 60;
/// Reasons and names in a sentence at most.
const NAMED: usize = 6;

messages! {
    factors_title() = "What changed, and what did not" | "Was sich geändert hat und was nicht";
    factors_table() = "Settings that differ" | "Einstellungen, die sich unterscheiden";
    factors_about() = "From the resolved specifications of both sides, as run. A factor that is not listed is equal." | "Aus den aufgelösten Spezifikationen beider Seiten, wie ausgeführt. Ein Faktor, der nicht aufgeführt ist, ist gleich.";
    setting() = "setting" | "Einstellung";
    cells_heading() = "cells" | "Zellen";
    cells_with_it() = "cells that change so" | "Zellen mit dieser Änderung";
    not_set() = "not set" | "nicht gesetzt";
    factors_cut(count) = "And {count} more changes; all of them are in comparison.json." | "Und {count} weitere Änderungen; alle stehen in comparison.json.";
    no_setting() = "Settings: no setting differs in any of the compared cells." | "Einstellungen: In keiner der verglichenen Zellen unterscheidet sich eine Einstellung.";
    some_settings(count, unchanged) = "Settings that differ: {count}; all others are equal. Compared cells without any of these changes: {unchanged}." | "Einstellungen, die sich unterscheiden: {count}; alle anderen sind gleich. Verglichene Zellen ohne eine dieser Änderungen: {unchanged}.";
    same_code(hash) = "Code: the sources that decide a result have one hash on both sides ({hash})." | "Code: Die Quellen, die ein Ergebnis bestimmen, haben auf beiden Seiten einen Hash ({hash}).";
    different_code(before, after) = "Code: the sources that decide a result differ; hash {before} before, {after} after." | "Code: Die Quellen, die ein Ergebnis bestimmen, unterscheiden sich; Hash {before} vorher, {after} nachher.";
    same_class(class) = "Arithmetic: one numeric class on both sides ({class})." | "Arithmetik: eine numerische Klasse auf beiden Seiten ({class}).";
    different_class(before, after) = "Arithmetic: the numeric classes differ; {before} before, {after} after." | "Arithmetik: Die numerischen Klassen unterscheiden sich; {before} vorher, {after} nachher.";
    same_environment() = "Environment: every field that must match for times to be compared is equal." | "Umgebung: Alle Felder, die für einen Vergleich der Zeiten gleich sein müssen, sind gleich.";
    different_environment(fields) = "Environment: fields that must match differ: {fields}." | "Umgebung: Felder, die gleich sein müssen, unterscheiden sich: {fields}.";
    same_work_in(count) = "Work: compared cells with equal work signatures: {count}; there a ratio of times is a speed-up." | "Arbeit: verglichene Zellen mit gleichen Arbeitssignaturen: {count}; dort ist ein Verhältnis der Zeiten eine Beschleunigung.";
    treatments_in(count, why) = "Work: compared cells whose sides are declared as different treatments: {count}, since they differ in {why}; there a ratio of times is a ratio of treatments." | "Arbeit: verglichene Zellen, deren Seiten das Manifest zu verschiedenen Behandlungen erklärt: {count} (Unterschiede: {why}); dort vergleicht ein Verhältnis der Zeiten Behandlungen.";
    different_work_in(count, why) = "Work: compared cells that do other work: {count} ({why}); no ratio of their times is drawn." | "Arbeit: verglichene Zellen mit anderer Arbeit: {count} ({why}); ein Verhältnis ihrer Zeiten wird nicht gebildet.";
}

/// The section: changed settings as a table, and below it what is equal.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    if scene.comparison.cells.is_empty() {
        return None;
    }
    let words = scene.words;
    let changes = changes(scene);
    let mut points = vec![settings(scene, &changes)];
    let of = |value: fn(&Cell<'_>) -> Option<String>| both(scene, value);
    let (before, after) = of(|cell| cell.info.code_hash.clone());
    points.push(if before == after {
        words.same_code(words.listed(&before, NAMED))
    } else {
        words.different_code(words.listed(&before, NAMED), words.listed(&after, NAMED))
    });
    let (before, after) = of(|cell| cell.info.numeric_class.clone());
    points.push(if before == after {
        words.same_class(words.listed(&before, NAMED))
    } else {
        words.different_class(words.listed(&before, NAMED), words.listed(&after, NAMED))
    });
    points.push(environment(scene));
    points.extend(work(scene));
    let tables = if changes.is_empty() {
        Vec::new()
    } else {
        vec![table(scene, &changes)]
    };
    Some(Section {
        tables,
        points,
        ..Section::titled("factors", words.factors_title())
    })
}

/// Every change with the number of cells that have it, by path.
fn changes<'a>(scene: &Scene<'a>) -> Vec<(&'a SpecChange, usize)> {
    let mut found: Vec<(&SpecChange, usize)> = Vec::new();
    let mut places: BTreeMap<(&str, Option<&str>, Option<&str>), usize> = BTreeMap::new();
    for change in scene.comparison.cells.iter().flat_map(|pair| &pair.changes) {
        let key = (
            &*change.path,
            change.before.as_deref(),
            change.after.as_deref(),
        );
        let place = *places.entry(key).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => found.push((change, 1)),
        }
    }
    found.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    found
}

fn table(scene: &Scene<'_>, changes: &[(&SpecChange, usize)]) -> Table {
    let words = scene.words;
    let value =
        |text: &Option<String>| Entry::text(text.clone().unwrap_or_else(|| words.not_set()));
    let rows = changes.iter().take(ROWS).map(|(change, count)| Row {
        key: change.path.clone(),
        fields: vec![
            Entry::text(&change.path),
            value(&change.before),
            value(&change.after),
            Entry::value(*count as f64, words.count(*count)),
        ],
        missing: None,
    });
    let columns = vec![
        Column::text(&words.setting()),
        Column::text(&words.before()),
        Column::text(&words.after()),
        words.column(
            words.cells_heading(),
            "",
            &Provenance::Derived(words.cells_with_it()),
        ),
    ];
    let head = ("settings", &*words.factors_table(), words.factors_about());
    let mut table = Table::of_rows(head, columns, rows.collect());
    let more = changes.len().saturating_sub(ROWS);
    table.cut = (more > 0).then(|| words.factors_cut(words.count(more)));
    table
}

fn settings(scene: &Scene<'_>, changes: &[(&SpecChange, usize)]) -> String {
    let words = scene.words;
    let paths: BTreeSet<&str> = changes.iter().map(|(change, _)| &*change.path).collect();
    let cells = scene.comparison.cells.iter();
    let unchanged = cells.filter(|pair| pair.changes.is_empty()).count();
    if paths.is_empty() {
        words.no_setting()
    } else {
        words.some_settings(words.count(paths.len()), words.count(unchanged))
    }
}

/// The different values that the compared cells of each side have, each once.
fn both(scene: &Scene<'_>, value: fn(&Cell<'_>) -> Option<String>) -> (Vec<String>, Vec<String>) {
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    for duo in scene.duos() {
        before.extend(value(duo.before));
        after.extend(value(duo.after));
    }
    (before.into_iter().collect(), after.into_iter().collect())
}

fn environment(scene: &Scene<'_>) -> String {
    let words = scene.words;
    let fields = scene.comparison.environment.fields.iter();
    let must: Vec<String> = fields
        .filter(|field| field.class == FieldClass::MustMatch)
        .map(|field| field.field.clone())
        .collect();
    if must.is_empty() {
        words.same_environment()
    } else {
        words.different_environment(words.listed(&must, NAMED))
    }
}

/// Equal work signatures, or declared unequal with the reason.
fn work(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let (mut same, mut treated, mut different) = (0, 0, 0);
    let (mut of_treated, mut of_different) = (BTreeSet::new(), BTreeSet::new());
    for pair in &scene.comparison.cells {
        match &pair.work {
            Work::Same => same += 1,
            Work::Treatments(why) => {
                treated += 1;
                of_treated.extend(why.iter().cloned());
            }
            Work::Different(why) => {
                different += 1;
                of_different.extend(why.iter().cloned());
            }
        }
    }
    let listed = |why: BTreeSet<String>| words.listed(&why.into_iter().collect::<Vec<_>>(), NAMED);
    let mut points = Vec::new();
    if same > 0 {
        points.push(words.same_work_in(words.count(same)));
    }
    if treated > 0 {
        points.push(words.treatments_in(words.count(treated), listed(of_treated)));
    }
    if different > 0 {
        points.push(words.different_work_in(words.count(different), listed(of_different)));
    }
    points
}
