//! The verdict of every cell, with the numbers that it is based on.

use crate::compare::{Ratio, Verdict};
use crate::report::comparison::Words;
use crate::report::comparison::account::rows::{ROWS, medians, table_over_pairs};
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::language::messages;
use crate::report::plot::{DotPlot, DotRow};
use crate::report::section::Section;
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Column, Entry};

/// Largest number of rows of the plot of ratios.
const RATIOS: usize = 40;

/// Plot series (marker and colour) of the verdict "faster".
pub(crate) const FASTER: usize = 0;
/// Plot series of the verdict "slower".
pub(crate) const SLOWER: usize = 1;
const SAME: usize = 2;
/// Plot series of other verdicts.
pub(crate) const OTHER_VERDICT: usize = 7;

messages! {
    cells_title(time) = "{time}, cell by cell" | "{time}, Zelle für Zelle";
    cells_about() = "n is the number of runs before and after. A verdict needs a test that holds after Holm’s correction over all cells, and an effect above the threshold." | "n ist die Anzahl der Läufe vorher und nachher. Ein Urteil verlangt einen Test, der nach Holms Korrektur über alle Zellen hält, und einen Effekt über der Schwelle.";
    verdict_heading() = "verdict" | "Urteil";
    detectable_heading() = "detectable from" | "nachweisbar ab";
    p_formula() = "the test under “How it was measured”, corrected over all cells" | "der Test unter „Wie gemessen wurde“, korrigiert über alle Zellen";
    detectable_formula() = "smallest effect shown with 80 % power, from spread and n of the runs" | "kleinster Effekt, der mit 80 % Teststärke gezeigt würde, aus Streuung und n der Läufe";
    intervals_plot(time) = "{time}, after ÷ before" | "{time}, nachher ÷ vorher";
    intervals_caption() = "Marks are ratios of medians, whiskers their intervals (95 % from six runs a side on, below that the range of the runs), the band is the threshold below which an effect does not matter. Left of 1 the side after is faster." | "Marken sind Verhältnisse der Mediane, Linien ihre Intervalle (95 % ab sechs Läufen je Seite, darunter die Spannweite der Läufe), das Band ist die Schwelle, unter der ein Effekt nicht zählt. Links von 1 ist die Seite nachher schneller.";
    drawn(shown, all) = " {shown} of {all} cells are drawn." | " {shown} von {all} Zellen sind gezeichnet.";
    open() = "no verdict" | "kein Urteil";
}

/// The table of verdicts; `None` for a single cell, which the summary describes fully.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    if scene.comparison.cells.len() == 1 {
        return None;
    }
    let measured = words.measured(words.median_of_runs());
    let ratio = scene.ratio_formula(words.after_by_before());
    let p = words.derived(words.p_formula());
    let detectable = words.derived(words.detectable_formula());
    let columns = vec![
        Column::number(&words.before(), "", &measured),
        Column::number(&words.after(), "", &measured),
        Column::number(&words.after_by_before(), "", &ratio),
        Column::text(&words.verdict_heading()),
        Column::text("n"),
        Column::number("p (Holm)", "", &p),
        Column::number(&words.detectable_heading(), "", &detectable),
    ];
    let title = words.cells_title(words.timed_title());
    let naming = ("cells", title, words.cells_about());
    table_over_pairs(scene, naming, columns, ROWS, |matched| {
        vec![line(scene, matched)]
    })
    .map(Section::table)
}

fn line(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<Entry> {
    let words = scene.words;
    let judgement = &matched.pair.judgement;
    let detectable = judgement.detectable.map(|effect| effect * 100.0);
    let mut fields = Vec::from(medians(words, matched, &scene.judged_time()));
    fields.extend([
        words.ratio_entry(judgement.ratio.as_ref()),
        words.judgement(judgement),
        Entry::text(format!("{} / {}", judgement.runs.0, judgement.runs.1)),
        Entry::shown(judgement.p_holm.or(judgement.p), |p| words.p(p)),
        Entry::shown(detectable, |percent| words.percent(percent / 100.0)),
    ]);
    fields
}

/// The plot of every cell's ratio with its interval.
pub(crate) fn ratios(scene: &Scene<'_>) -> Option<PlotContext> {
    let words = scene.words;
    let has_ratio = |matched: &MatchedCells<'_, '_>| matched.pair.judgement.ratio.is_some();
    let all = scene.matched_cells().filter(has_ratio).count();
    let shown = scene.cells_in_tables().filter(has_ratio).take(RATIOS);
    let rows: Vec<DotRow> = shown
        .filter_map(|matched| verdict_row(words, &matched, scene.label(matched.pair)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut caption = words.intervals_caption();
    if rows.len() < all {
        caption.push_str(&words.drawn(words.count(rows.len()), words.count(all)));
    }
    caption.push_str(&scene.environment_note());
    Some(plot(
        words,
        "ratios",
        (words.intervals_plot(words.timed_title()), caption),
        words.open(),
        rows,
    ))
}

/// A plot of ratios around 1; `open` is the name of the series without a shown direction.
pub(crate) fn plot(
    words: Words,
    id: &str,
    (title, caption): (String, String),
    open: String,
    rows: Vec<DotRow>,
) -> PlotContext {
    let kinds = [
        (FASTER, words.faster()),
        (SLOWER, words.slower()),
        (SAME, words.same()),
        (OTHER_VERDICT, open),
    ];
    let is_there = |kind: &(usize, String)| rows.iter().any(|row| row.kind == kind.0);
    let drawing = DotPlot {
        about: title.clone(),
        x_label: words.after_by_before(),
        words,
        is_ratio: true,
        kinds: kinds.into_iter().filter(is_there).collect(),
        rows,
        ..DotPlot::default()
    };
    PlotContext {
        id: id.to_owned(),
        title,
        caption,
        svg: drawing.draw(),
    }
}

/// A ratio of a pair of cells as a row of a plot; `None` if it cannot be drawn on a logarithmic axis.
pub(crate) fn ratio_dot_row(
    words: Words,
    matched: &MatchedCells<'_, '_>,
    label: String,
    ratio: Ratio,
    kind: usize,
) -> Option<DotRow> {
    (ratio.value > 0.0).then(|| DotRow {
        label,
        kind,
        value: ratio.value,
        interval: ratio.ends(),
        threshold: matched.pair.judgement.threshold.value.clamp(0.0, 0.9),
        end: words.ratio(ratio.value),
        ..DotRow::default()
    })
}

/// The time per sample of a pair of cells, with its verdict, as a row of the plot.
pub(crate) fn verdict_row(
    words: Words,
    matched: &MatchedCells<'_, '_>,
    label: String,
) -> Option<DotRow> {
    let judgement = &matched.pair.judgement;
    let kind = match judgement.verdict {
        Verdict::Faster => FASTER,
        Verdict::Slower => SLOWER,
        Verdict::Same => SAME,
        _ => OTHER_VERDICT,
    };
    ratio_dot_row(words, matched, label, judgement.ratio?, kind)
}
