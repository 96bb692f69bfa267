//! Every factor that changed, and evidence that nothing else did.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{CellPair, Work};
use crate::report::comparison::account::factor::Factor;
use crate::report::comparison::account::factors;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::Cell;

/// Largest number of rows of the table.
const ROWS: usize = 60;
/// Largest number of reasons or names in a sentence.
const NAMED: usize = 6;

messages! {
    factors_title() = "What changed, and what did not" | "Was sich geändert hat und was nicht";
    factors_table() = "Settings that differ" | "Einstellungen, die sich unterscheiden";
    factors_about() = "From the specifications of both sides, as run." | "Aus den Spezifikationen beider Seiten, wie ausgeführt.";
    setting() = "setting" | "Einstellung";
    factors_alone(factor) = "Only {factor} changed: its effect is that of the whole comparison." | "Nur {factor} wurde geändert: Die Wirkung ist die des ganzen Vergleichs.";
    cells_heading() = "cells" | "Zellen";
    cells_with_it() = "cells that change so" | "Zellen mit dieser Änderung";
    not_set() = "not set" | "nicht gesetzt";
    no_setting() = "Settings: no setting differs in any of the compared cells." | "Einstellungen: In keiner der verglichenen Zellen unterscheidet sich eine Einstellung.";
    some_settings(count) = "Settings that differ: {count}; all others are equal." | "Einstellungen, die sich unterscheiden: {count}; alle anderen sind gleich.";
    some_cells(unchanged) = " Compared cells without any of these changes: {unchanged}." | " Verglichene Zellen ohne eine dieser Änderungen: {unchanged}.";
    same_code(hash) = "Code: the sources that decide a result have one hash on both sides ({hash})." | "Code: Die Quellen, die ein Ergebnis bestimmen, haben auf beiden Seiten einen Hash ({hash}).";
    different_code(before, after) = "Code: the sources that decide a result differ; hash {before} before, {after} after." | "Code: Die Quellen, die ein Ergebnis bestimmen, unterscheiden sich; Hash {before} vorher, {after} nachher.";
    same_class(class) = "Arithmetic: one numeric class on both sides ({class})." | "Arithmetik: eine numerische Klasse auf beiden Seiten ({class}).";
    different_class(before, after) = "Arithmetic: the numeric classes differ; {before} before, {after} after." | "Arithmetik: Die numerischen Klassen unterscheiden sich; {before} vorher, {after} nachher.";
    same_environment() = "Environment: every field that must match for times to be compared is equal." | "Umgebung: Alle Felder, die für einen Vergleich der Zeiten gleich sein müssen, sind gleich.";
    different_environment(fields) = "Environment: fields that must match differ: {fields}." | "Umgebung: Felder, die gleich sein müssen, unterscheiden sich: {fields}.";
    same_work_in(count) = "Work: compared cells with equal work signatures: {count}; there a ratio of times is a speed-up." | "Arbeit: verglichene Zellen mit gleichen Arbeitssignaturen: {count}; dort ist ein Verhältnis der Zeiten eine Beschleunigung.";
    programs_in(count) = "Work: compared cells of programs with equal settings: {count}; what a program computes per sample is known only where both sides told its FLOPs, which are compared as facts." | "Arbeit: verglichene Zellen von Programmen mit gleichen Einstellungen: {count}; was ein Programm je Stichprobe rechnet, ist nur bekannt, wo beide Seiten seine FLOPs melden; diese werden als Fakten verglichen.";
    treatments_in(count) = "Work: compared cells declared as different treatments: {count}; a ratio of their times compares treatments, not equal work." | "Arbeit: verglichene Zellen, die das Manifest zu verschiedenen Behandlungen erklärt: {count}; ein Verhältnis ihrer Zeiten vergleicht Behandlungen, nicht gleiche Arbeit.";
    different_work_in(count, why) = "Work: compared cells that do other work: {count} ({why}); no ratio of their times is drawn." | "Arbeit: verglichene Zellen mit anderer Arbeit: {count} ({why}); ein Verhältnis ihrer Zeiten wird nicht gebildet.";
}

/// The section: changed settings as a table, and below it what is equal on both sides.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    if scene.comparison.cells.is_empty() {
        return None;
    }
    let words = scene.words;
    let changes = changes(scene);
    let factors: BTreeSet<Factor> = scene
        .matched_cells()
        .flat_map(|matched| factors(&matched))
        .collect();
    let mut points = vec![settings(scene, &changes)];
    if let [only] = Vec::from_iter(&factors)[..] {
        points.push(words.factors_alone(only.name(words)));
    }
    let listed = |names: &[String]| words.listed(names, NAMED);
    let (before, after) = both(scene, |cell| cell.info.code_hash.clone());
    points.push(if before == after {
        words.same_code(listed(&before))
    } else {
        words.different_code(listed(&before), listed(&after))
    });
    let (before, after) = both(scene, |cell| cell.info.numeric_class.clone());
    points.push(if before == after {
        words.same_class(listed(&before))
    } else {
        words.different_class(listed(&before), listed(&after))
    });
    let must = scene.differing_must_match_fields();
    points.push(if must.is_empty() {
        words.same_environment()
    } else {
        words.different_environment(listed(&must))
    });
    points.extend(work(scene));
    let table = (!changes.is_empty()).then(|| table(scene, &changes));
    Some(Section {
        tables: table.into_iter().collect(),
        points,
        ..Section::titled("factors", words.factors_title())
    })
}

/// A changed setting: path, value before, value after.
type Change<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// Every change with the number of cells that have it, by path.
fn changes<'a>(scene: &Scene<'a>) -> BTreeMap<Change<'a>, usize> {
    let mut found = BTreeMap::new();
    for change in scene.comparison.cells.iter().flat_map(|pair| &pair.changes) {
        let values = (change.before.as_deref(), change.after.as_deref());
        *found
            .entry((&*change.path, values.0, values.1))
            .or_default() += 1;
    }
    found
}

fn table(scene: &Scene<'_>, changes: &BTreeMap<Change<'_>, usize>) -> Table {
    let words = scene.words;
    let value =
        |text: Option<&str>| Entry::text(text.map_or_else(|| words.not_set(), str::to_owned));
    let rows = changes
        .iter()
        .take(ROWS)
        .map(|((path, before, after), count)| {
            let fields = vec![
                Entry::text(Factor::of(path).name(words)),
                Entry::text(*path),
                value(*before),
                value(*after),
                Entry::value(*count as f64, words.count(*count)),
            ];
            Row::new(*path, fields)
        });
    let counted = words.derived(words.cells_with_it());
    let columns = vec![
        Column::text(&words.effects_factor()),
        Column::text(&words.setting()),
        Column::text(&words.before()),
        Column::text(&words.after()),
        Column::number(&words.cells_heading(), "", &counted),
    ];
    let head = ("settings", &*words.factors_table(), words.factors_about());
    let mut table = Table::of_rows(head, columns, rows.collect());
    let more = changes.len().saturating_sub(ROWS);
    table.cut = (more > 0).then(|| words.rows_cut(words.count(ROWS)));
    table
}

fn settings(scene: &Scene<'_>, changes: &BTreeMap<Change<'_>, usize>) -> String {
    let words = scene.words;
    let paths: BTreeSet<&str> = changes.keys().map(|(path, ..)| *path).collect();
    let cells = scene.comparison.cells.iter();
    let unchanged = cells.filter(|pair| pair.changes.is_empty()).count();
    if paths.is_empty() {
        words.no_setting()
    } else {
        let others = (unchanged > 0).then(|| words.some_cells(words.count(unchanged)));
        words.some_settings(words.count(paths.len())) + &others.unwrap_or_default()
    }
}

/// The different values that the compared cells of each side have, each once.
fn both(scene: &Scene<'_>, value: fn(&Cell<'_>) -> Option<String>) -> (Vec<String>, Vec<String>) {
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    for matched in scene.matched_cells() {
        before.extend(value(matched.both[0].cell));
        after.extend(value(matched.both[1].cell));
    }
    (before.into_iter().collect(), after.into_iter().collect())
}

/// Sentences: pairs with equal work signatures, and pairs of different work with the reason.
fn work(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let programs = scene.comparison.command_cell_keys();
    let is_program = |pair: &CellPair| programs.contains(&*pair.after);
    let pairs = || scene.comparison.cells.iter();
    let count = |is: &dyn Fn(&CellPair) -> bool| {
        let found = pairs().filter(|pair| is(pair)).count();
        (found > 0).then(|| words.count(found))
    };
    let same = count(&|pair| pair.work == Work::Same && !is_program(pair));
    let treatments = count(&|pair| matches!(pair.work, Work::Treatments(_)));
    let different = count(&|pair| matches!(pair.work, Work::Different(_)));
    let of_programs = count(&|pair| pair.work == Work::Same && is_program(pair));
    let why = pairs().flat_map(|pair| match &pair.work {
        Work::Different(why) => &why[..],
        _ => &[],
    });
    let why: Vec<String> = why.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let told = [
        same.map(|pairs| words.same_work_in(pairs)),
        treatments.map(|pairs| words.treatments_in(pairs)),
        different.map(|pairs| words.different_work_in(pairs, words.listed(&why, NAMED))),
        of_programs.map(|pairs| words.programs_in(pairs)),
    ];
    told.into_iter().flatten().collect()
}
