//! Memory and disk of a run.

use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;

use super::figure::Figure;
use super::rows::{columns, line, over_pairs};

messages! {
    space_title() = "Memory and disk" | "Arbeitsspeicher und Festplatte";
    space_about() = "Peaks are high-water marks of the whole process: program, data and loader too. The record of a run is everything that it told its parent, from which its results are made; checkpoints are the files that it wrote." | "Spitzen sind Höchststände des ganzen Prozesses, mit Programm, Daten und Lader. Das Protokoll eines Laufs ist alles, was er seinem Elternprozess meldete und woraus seine Ergebnisse entstehen; Checkpoints sind die Dateien, die er schrieb.";
}

/// What a run takes of memory and of the disk.
const FIGURES: [Figure; 5] = [
    Figure::PeakTraining,
    Figure::PeakValidation,
    Figure::PeakProcess,
    Figure::Logs,
    Figure::Checkpoints,
];

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let naming = ("space", words.space_title(), words.space_about());
    over_pairs(scene, naming, columns(scene), |duo| {
        let lines = FIGURES.iter().map(|figure| line(scene, duo, figure));
        lines.collect()
    })
}
