//! Memory and disk of a run.

use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;

use super::figure::Figure;
use super::rows::table;

messages! {
    space_title() = "Memory and disk" | "Arbeitsspeicher und Festplatte";
    space_about() = "Peaks are high-water marks of the whole process: program, data and loader too. The record of a run is everything that it told its parent, from which its results are made; checkpoints are the files that it wrote." | "Spitzen sind Höchststände des ganzen Prozesses, mit Programm, Daten und Lader. Das Protokoll eines Laufs ist alles, was er seinem Elternprozess meldete und woraus seine Ergebnisse entstehen; Checkpoints sind die Dateien, die er schrieb.";
}

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    scene.duos().next()?;
    let words = scene.words;
    let figures = [
        Figure::PeakTraining,
        Figure::PeakValidation,
        Figure::PeakProcess,
        Figure::Logs,
        Figure::Checkpoints,
    ];
    let naming = ("space", words.space_title(), words.space_about());
    Some(Section::table(table(scene, naming, &figures)))
}
