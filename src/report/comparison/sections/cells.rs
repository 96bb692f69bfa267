//! The verdict of every cell, with what it rests on.

mod plots;

pub(crate) use plots::ratios;

use crate::compare::{Verdict, Work};
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Table};

messages! {
    cells_title() = "Time per sample, cell by cell" | "Zeit je Sample, Zelle für Zelle";
    cells_about() = "The time per sample is the median step of a run by the samples of a step; the run is the unit of replication. n is the number of runs before and after. A verdict needs a test that holds after Holm’s correction over all cells, and an effect above the threshold." | "Die Zeit je Sample ist der Median der Schritte eines Laufs, geteilt durch die Samples eines Schritts; der Lauf ist die Einheit der Wiederholung. n ist die Anzahl der Läufe vorher und nachher. Ein Urteil verlangt einen Test, der nach Holms Korrektur über alle Zellen hält, und einen Effekt über der Schwelle.";
    verdict_heading() = "verdict" | "Urteil";
    runs_heading() = "n" | "n";
    p_heading() = "p (Holm)" | "p (Holm)";
    detectable_heading() = "detectable from" | "nachweisbar ab";
    p_formula() = "Mann–Whitney, or paired sign-flip where interleaved; Holm over all cells" | "Mann-Whitney, bei verzahnten Läufen gepaarter Vorzeichentest; Holm über alle Zellen";
    detectable_formula() = "smallest effect shown with 80 % power, from spread and n of the runs" | "kleinster Effekt, der mit 80 % Teststärke gezeigt würde, aus Streuung und n der Läufe";
    intervals_plot() = "Time per sample, after ÷ before" | "Zeit je Sample, nachher ÷ vorher";
    intervals_caption() = "Marks are ratios of medians, whiskers their intervals (95 % bootstrap from six runs a side on, below that the range of the runs), the band is the threshold below which an effect does not matter. Left of 1 the side after is faster." | "Marken sind Verhältnisse der Mediane, Linien ihre Intervalle (95-%-Bootstrap ab sechs Läufen je Seite, darunter die Spannweite der Läufe), das Band ist die Schwelle, unter der ein Effekt nicht zählt. Links von 1 ist die Seite nachher schneller.";
    bars_plot() = "Time per sample before and after" | "Zeit je Sample vorher und nachher";
    bars_caption() = "Bars are medians over runs, lines their intervals, dots the runs." | "Balken sind Mediane über Läufe, Linien ihre Intervalle, Punkte die Läufe.";
    drawn(shown, all) = "{shown} of {all} cells are drawn." | "{shown} von {all} Zellen sind gezeichnet.";
    open() = "no verdict" | "kein Urteil";
    no_ratio(why) = "no ratio: {why}" | "kein Verhältnis: {why}";
}

/// The table of verdicts.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    scene.duos().next()?;
    Some(Section {
        plots: plots::bars(scene).into_iter().collect(),
        ..Section::table(table(scene))
    })
}

fn table(scene: &Scene<'_>) -> Table {
    let words = scene.words;
    let measured = Provenance::Measured(words.median_of_runs());
    let columns = vec![
        words.column(words.before(), "ms", &measured),
        words.column(words.after(), "ms", &measured),
        words.column(
            words.after_by_before(),
            "",
            &scene.ratio_formula(words.after_by_before()),
        ),
        Column::text(&words.verdict_heading()),
        Column::text(&words.runs_heading()),
        words.column(
            words.p_heading(),
            "",
            &Provenance::Derived(words.p_formula()),
        ),
        words.column(
            words.detectable_heading(),
            "",
            &Provenance::Derived(words.detectable_formula()),
        ),
    ];
    let head = ("cells", words.cells_title(), words.cells_about());
    scene.table(head, columns, |duo| Ok(fields(scene, duo)))
}

fn fields(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Entry> {
    let words = scene.words;
    let judgement = &duo.pair.judgement;
    let time = |value: Option<f64>| {
        value.map_or_else(
            || Entry::text("–"),
            |value| Entry::value(value, words.number(value, 4)),
        )
    };
    let verdict = match (&judgement.verdict, &duo.pair.work) {
        (Verdict::NotComparable(_), Work::Different(why)) => {
            Entry::detailed(words.not_comparable(), words.no_ratio(words.listed(why, 3)))
        }
        _ => words.judgement(judgement),
    };
    let p = judgement.p_holm.or(judgement.p);
    let effect = judgement.detectable;
    vec![
        time(duo.pair.sample_ms.0),
        time(duo.pair.sample_ms.1),
        words.ratio_entry(judgement.ratio.as_ref()),
        verdict,
        Entry::text(format!("{} / {}", judgement.runs.0, judgement.runs.1)),
        p.map_or_else(|| Entry::text("–"), |p| Entry::value(p, words.p(p))),
        effect.map_or_else(
            || Entry::text("–"),
            |effect| Entry::value(effect * 100.0, words.percent(effect)),
        ),
    ]
}
