//! The head of a comparison: names of the sides, warnings, and the environments.

use std::collections::BTreeMap;

use crate::compare::{CellPair, Origin, Side, Verdict, Waiting, Work};
use crate::report::language::messages;

use super::scene::Scene;

messages! {
    compared(before, after) = "Before is {before}; after is {after}." | "Vorher ist {before}; nachher ist {after}.";
    compared_along(axis, before, after) = "One result, compared along “{axis}”: before is {before}, after is {after}." | "Ein Ergebnis, verglichen entlang „{axis}“: vorher ist {before}, nachher ist {after}.";
    of_commit(name, commit) = "{name} (commit {commit})" | "{name} (Commit {commit})";
    cells_compared(count) = "Cells on both sides: {count}." | "Zellen auf beiden Seiten: {count}.";
    only_one_side(added, removed) = "Cells of one side only: {added} after, {removed} before." | "Zellen nur einer Seite: {added} nachher, {removed} vorher.";
    ratios_mean() = "Every ratio is after ÷ before: of times and bytes, below 1 is better." | "Jedes Verhältnis ist nachher ÷ vorher: bei Zeiten und Bytes ist ein Wert unter 1 besser.";
    environments_differ(fields) = "the environments of the two sides differ in {fields}" | "die Umgebungen der beiden Seiten unterscheiden sich in {fields}";
    across() = "times are compared across environments on request (--across-env): differences of machine or build look like effects, and every figure is marked" | "Zeiten werden auf Wunsch über Umgebungen hinweg verglichen (--across-env): Unterschiede von Maschine oder Build sehen wie Effekte aus, und jede Zahl ist gekennzeichnet";
    refused() = "no time is compared" | "keine Zeit wird verglichen";
    other_treatment() = "the sides are declared as different treatments: a ratio of their times compares treatments, not equal work; everything that differs is listed" | "das Manifest erklärt beide Seiten zu verschiedenen Behandlungen: Ein Verhältnis ihrer Zeiten vergleicht Behandlungen; alle Unterschiede sind aufgelistet";
    waits(side, count, cells, cell, old, new) = "wall time is far above CPU time {side} in {count} of {cells} cells (in {cell} a run takes {old} s before and {new} s after for a second of CPU time): it waited for data, the disk or swapped memory, or other programs had the processor, so look at its data wait, or measure again on an idle machine" | "die Dauer liegt {side} in {count} von {cells} Zellen weit über der CPU-Zeit (in {cell} braucht ein Lauf vorher {old} s und nachher {new} s für eine Sekunde CPU-Zeit): er wartete auf Daten, die Festplatte oder ausgelagerten Speicher, oder andere Programme hatten den Prozessor, also sein Warten auf Daten ansehen oder auf einer ruhigen Maschine neu messen";
    not_comparable_cells(count, why) = "cells that cannot be compared: {count} ({why})" | "nicht vergleichbare Zellen: {count} ({why})";
}

/// The sides of the comparison, and their numbers of cells and runs.
pub(super) fn intro(scene: &Scene<'_>) -> Vec<String> {
    let (comparison, words) = (scene.comparison, scene.words);
    let (before, after) = (
        side(scene, &comparison.before),
        side(scene, &comparison.after),
    );
    let mut sentences = vec![match &comparison.along {
        Some(axis) => words.compared_along(axis, before, after),
        None => words.compared(before, after),
    }];
    sentences.push(words.cells_compared(words.count(comparison.cells.len())));
    let (added, removed) = (comparison.added.len(), comparison.removed.len());
    if added + removed > 0 {
        sentences.push(words.only_one_side(words.count(added), words.count(removed)));
    }
    sentences.push(words.ratios_mean());
    sentences
}

/// Name of a side, with its commit if it has one.
pub(crate) fn side(scene: &Scene<'_>, side: &Side) -> String {
    let words = scene.words;
    let name = words.quoted(&side.name);
    match &side.origin {
        Origin::Git { commit, .. } => words.of_commit(name, short_commit(commit)),
        Origin::Folder { .. } | Origin::Value { .. } => name,
    }
}

/// The first characters of a commit's hash.
pub(crate) fn short_commit(commit: &str) -> String {
    commit.chars().take(9).collect()
}

/// Warnings to read before the figures.
pub(super) fn warnings(scene: &Scene<'_>) -> Vec<String> {
    let (comparison, words) = (scene.comparison, scene.words);
    let must = scene.differing_must_match_fields();
    let mut found = Vec::new();
    if !must.is_empty() {
        found.push(words.environments_differ(words.listed(&must, 8)));
        found.push(if scene.differs_in_environment() {
            words.across()
        } else {
            words.refused()
        });
    }
    let mut works = comparison.cells.iter().map(|pair| &pair.work);
    if works.any(|work| matches!(work, Work::Treatments(_))) {
        found.push(words.other_treatment());
    }
    if must.is_empty() || scene.differs_in_environment() {
        found.extend(not_comparable(scene));
    }
    found.extend(waiting_warning(scene));
    found
}

/// Warning: wall time that CPU time does not explain, with the cell whose wall time is furthest above it.
pub(super) fn waiting_warning(scene: &Scene<'_>) -> Option<String> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let found = cells.filter_map(|pair| Some((pair, pair.waiting?)));
    let found: Vec<(&CellPair, Waiting)> = found.collect();
    let most = |waiting: &Waiting| waiting.wall_per_cpu.0.max(waiting.wall_per_cpu.1);
    let (pair, worst) = found
        .iter()
        .max_by(|(_, one), (_, other)| most(one).total_cmp(&most(other)))?;
    let on = |of: fn(&Waiting) -> bool| found.iter().any(|(_, waiting)| of(waiting));
    let side = words.sides((on(|own| own.is_far.0), on(|own| own.is_far.1)));
    let [old, new] = [worst.wall_per_cpu.0, worst.wall_per_cpu.1];
    let [old, new] = [old, new].map(|seconds| words.number(seconds, 2));
    let [count, cells] = [found.len(), scene.comparison.cells.len()].map(|n| words.count(n));
    Some(words.waits(side, count, cells, scene.label(pair), old, new))
}

/// Warnings on cells without a verdict for reasons other than the environment, such as rows of different code.
fn not_comparable(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for pair in &scene.comparison.cells {
        let verdict = &pair.judgement.verdict;
        if matches!(verdict, Verdict::NotComparable(_)) {
            let why = words.reason_texts(verdict, None).join("; ");
            *reasons.entry(why).or_default() += 1;
        }
    }
    let told = reasons.into_iter().take(4);
    told.map(|(why, count)| words.not_comparable_cells(words.count(count), why))
        .collect()
}
