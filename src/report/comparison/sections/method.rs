//! How times were measured and judged: design, runs, threshold, tests, and how many runs a verdict needs.

use std::collections::BTreeSet;

use crate::compare::{Design, Test, Threshold, ThresholdSource};
use crate::report::comparison::Words;
use crate::report::comparison::scene::Scene;
use crate::report::language::{JudgedTime, messages};
use crate::report::section::Section;

messages! {
    method_title() = "How it was measured" | "Wie gemessen wurde";
    run_is_unit() = "The run is the unit of replication: no test uses values of single steps." | "Der Lauf ist die Einheit der Wiederholung: Kein Test verwendet Werte einzelner Schritte.";
    figure_of_steps() = "The figure of a run is its median step, divided by the samples of a step." | "Die Zahl eines Laufs ist der Median seiner Schritte, geteilt durch die Samples eines Schritts.";
    figure_of_runs() = "The figure of a run is its time from start to end." | "Die Zahl eines Laufs ist seine Zeit vom Start bis zum Ende.";
    design_of(count, design) = "Design: {design} (cells: {count})." | "Anordnung: {design} (Zellen: {count}).";
    runs_of(least, most) = "Runs a side and cell: {least} to {most}." | "Läufe je Seite und Zelle: {least} bis {most}.";
    runs_alike(count) = "Runs a side and cell: {count}." | "Läufe je Seite und Zelle: {count}.";
    needed(count) = "A matrix of this size and design needs at least {count} runs a side before a single cell can be called." | "Eine Matrix dieser Größe und Anordnung braucht mindestens {count} Läufe je Seite, bevor eine einzelne Zelle beurteilt werden kann.";
    threshold_of(value, source) = "An effect matters from {value} on ({source})." | "Ein Effekt zählt ab {value} ({source}).";
    by_manifest() = "assumed: compare.threshold of the manifest" | "angenommen: compare.threshold des Manifests";
    by_floor_within() = "measured: A/A on this machine, within a session" | "gemessen: A/A auf dieser Maschine, innerhalb einer Sitzung";
    by_floor_between() = "measured: A/A on this machine, between sessions" | "gemessen: A/A auf dieser Maschine, zwischen Sitzungen";
    by_default() = "assumed: 2 %, since no A/A of this machine is stored" | "angenommen: 2 %, da kein A/A dieser Maschine gespeichert ist";
    test_of(count, test) = "Test: {test} (cells: {count}); two-sided, with Holm’s correction over all cells and the matrix." | "Test: {test} (Zellen: {count}); zweiseitig, mit Holms Korrektur über alle Zellen und die Matrix.";
    mann_whitney() = "Mann–Whitney over runs" | "Mann-Whitney über Läufe";
    sign_flip() = "paired sign-flip over runs of equal seed and block" | "gepaarter Vorzeichentest über Läufe mit gleichem Seed und Block";
    sign_bets() = "Test: bets on the signs of the pairs’ log ratios, which may be looked at after every pair; a cell’s pairs end where its verdict is sure. Over all cells together a false alarm has a probability of at most 5 % (Ville’s inequality); the intervals hold at every look, and effects outside of them are excluded." | "Test: Wetten auf die Vorzeichen der logarithmierten Verhältnisse der Paare, die nach jedem Paar betrachtet werden dürfen; die Paare einer Zelle enden, sobald ihr Urteil sicher ist. Über alle Zellen zusammen hat ein Fehlalarm eine Wahrscheinlichkeit von höchstens 5 % (Ungleichung von Ville); die Intervalle gelten bei jeder Betrachtung, Effekte außerhalb sind ausgeschlossen.";
    intervals() = "Intervals are 95 % bootstrap intervals over runs if there are at least six runs a side, else the range of the runs, labelled as such." | "Intervalle sind ab sechs Läufen je Seite 95-%-Bootstrap-Intervalle über Läufe; darunter sind sie die Spannweite der Läufe und heißen so.";
    detectable_means() = "The smallest detectable effect is the one that this number of runs, with this spread, would show with 80 % power." | "Der kleinste nachweisbare Effekt ist der, den ebenso viele Läufe dieser Streuung mit 80 % Teststärke gezeigt hätten.";
}

/// The section with sentences on the method.
pub(super) fn section(scene: &Scene<'_>) -> Section {
    let words = scene.words;
    let judged = || scene.comparison.cells.iter().map(|pair| &pair.judgement);
    let figure = match words.timed {
        JudgedTime::Sample => words.figure_of_steps(),
        JudgedTime::Run => words.figure_of_runs(),
    };
    let mut points = vec![format!("{} {figure}", words.run_is_unit())];
    for design in [Design::Interleaved, Design::UntilSure, Design::Sessions] {
        let count = judged().filter(|own| own.design == design).count();
        let told = (count > 0).then(|| words.design_of(words.count(count), words.design(design)));
        points.extend(told);
    }
    let runs = || judged().flat_map(|own| [own.runs.0, own.runs.1]);
    points.extend(runs().min().zip(runs().max()).map(|(least, most)| {
        if least == most {
            words.runs_alike(words.count(least))
        } else {
            words.runs_of(words.count(least), words.count(most))
        }
    }));
    let needed = scene.comparison.needed_runs;
    if runs().min().is_some_and(|least| least < needed) {
        points.push(words.needed(words.count(needed)));
    }
    let of_matrix = scene
        .comparison
        .matrix
        .iter()
        .map(|matrix| matrix.threshold);
    let used = judged().map(|own| own.threshold).chain(of_matrix);
    let used: BTreeSet<String> = used
        .map(|threshold| threshold_words(words, threshold))
        .collect();
    points.extend(used.into_iter().take(4));
    for (test, name) in [
        (Test::MannWhitney, words.mann_whitney()),
        (Test::SignFlip, words.sign_flip()),
    ] {
        let count = judged().filter(|own| own.test == Some(test)).count();
        points.extend((count > 0).then(|| words.test_of(words.count(count), name)));
    }
    if judged().any(|own| own.test == Some(Test::SignBets)) {
        points.push(words.sign_bets());
    } else {
        points.extend([words.intervals(), words.detectable_means()]);
    }
    Section {
        points,
        ..Section::titled("method", words.method_title())
    }
}

fn threshold_words(words: Words, threshold: Threshold) -> String {
    let source = match threshold.source {
        ThresholdSource::Manifest => words.by_manifest(),
        ThresholdSource::MeasuredWithin => words.by_floor_within(),
        ThresholdSource::MeasuredBetween => words.by_floor_between(),
        ThresholdSource::Default => words.by_default(),
    };
    words.threshold_of(words.percent(threshold.value), source)
}
