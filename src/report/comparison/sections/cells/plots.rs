//! The cells as drawings: ratios with intervals around 1, and bars before and after.

use crate::compare::Verdict;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::plot::{Bar, BarPlot, IntervalPlot, IntervalRow, Segment};
use crate::report::sections::plots::PlotContext;
use crate::report::view::{Cell, View};

/// Rows of the plot of ratios at most.
const RATIOS: usize = 40;
/// Cells with bars at most: each has two.
const BARS: usize = 20;

/// Series of each kind of verdict: form and colour both tell it.
const FASTER: usize = 0;
const SLOWER: usize = 1;
const SAME: usize = 2;
const OPEN: usize = 7;

/// The ratio of every cell with its interval.
pub(crate) fn ratios(scene: &Scene<'_>) -> Option<PlotContext> {
    let words = scene.words;
    let duos: Vec<Duo<'_, '_>> = scene
        .shown()
        .filter(|duo| duo.pair.judgement.ratio.is_some())
        .collect();
    let all = scene
        .duos()
        .filter(|duo| duo.pair.judgement.ratio.is_some())
        .count();
    let rows: Vec<IntervalRow> = duos
        .iter()
        .take(RATIOS)
        .filter_map(|duo| ratio(scene, duo))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let kinds = [
        (FASTER, words.faster()),
        (SLOWER, words.slower()),
        (SAME, words.same()),
        (OPEN, words.open()),
    ];
    let kinds = kinds
        .into_iter()
        .filter(|(kind, _)| rows.iter().any(|row| row.kind == *kind));
    let caption = format!(
        "{}{}{}",
        words.intervals_caption(),
        drawn(scene, rows.len(), all),
        scene.across_note()
    );
    let plot = IntervalPlot {
        about: words.intervals_plot(),
        x_label: words.after_by_before(),
        words,
        kinds: kinds.collect(),
        rows,
    };
    Some(PlotContext {
        id: "ratios".to_owned(),
        title: words.intervals_plot(),
        caption,
        svg: plot.draw(),
    })
}

fn ratio(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<IntervalRow> {
    let judgement = &duo.pair.judgement;
    let ratio = judgement.ratio.filter(|ratio| ratio.value > 0.0)?;
    Some(IntervalRow {
        label: scene.name(duo),
        kind: match judgement.verdict {
            Verdict::Faster => FASTER,
            Verdict::Slower => SLOWER,
            Verdict::Same => SAME,
            _ => OPEN,
        },
        value: ratio.value,
        interval: ratio.ends(),
        threshold: judgement.threshold.value.clamp(0.0, 0.9),
        end: scene.words.ratio(ratio.value),
    })
}

/// Bars before and after.
pub(super) fn bars(scene: &Scene<'_>) -> Option<PlotContext> {
    let words = scene.words;
    let measured =
        |duo: &Duo<'_, '_>| duo.pair.sample_ms.0.is_some() && duo.pair.sample_ms.1.is_some();
    let duos: Vec<Duo<'_, '_>> = scene.shown().filter(measured).take(BARS).collect();
    let all = scene.duos().filter(measured).count();
    if duos.is_empty() {
        return None;
    }
    let bars = duos.iter().flat_map(|duo| {
        [
            bar(
                scene,
                &scene.before,
                duo.before,
                (duo.pair.sample_ms.0, 0),
                scene.name(duo),
            ),
            bar(
                scene,
                &scene.after,
                duo.after,
                (duo.pair.sample_ms.1, 1),
                String::new(),
            ),
        ]
    });
    let caption = format!(
        "{}{}{}",
        words.bars_caption(),
        drawn(scene, duos.len(), all),
        scene.across_note()
    );
    let plot = BarPlot {
        about: words.bars_plot(),
        x_label: format!("{} (ms)", words.time_per_sample()),
        words,
        parts: vec![words.before(), words.after()],
        bars: bars.collect(),
    };
    Some(PlotContext {
        id: "times".to_owned(),
        title: words.bars_plot(),
        caption,
        svg: plot.draw(),
    })
}

/// The bar of a cell on one side: its segment has the place of the side in the legend.
fn bar(
    scene: &Scene<'_>,
    view: &View<'_>,
    cell: &Cell<'_>,
    (median, side): (Option<f64>, usize),
    label: String,
) -> Bar {
    let value = median.unwrap_or_default();
    let mut segments = vec![Segment::default(); 2];
    segments[side].value = value;
    let plan = &view.set.plan;
    let interval = plan.samples_per_step(cell.info).and_then(|samples| {
        let samples = samples as f64;
        let step = cell.timing?.values.get("step_ms")?;
        step.ends()
            .map(|(low, high)| (low / samples, high / samples))
    });
    Bar {
        label,
        segments,
        interval,
        runs: cell
            .counted
            .iter()
            .filter_map(|run| plan.sample_ms(cell.info, run))
            .collect(),
        end: scene.words.number(value, 3),
    }
}

fn drawn(scene: &Scene<'_>, shown: usize, all: usize) -> String {
    let words = scene.words;
    if shown < all {
        format!(" {}", words.drawn(words.count(shown), words.count(all)))
    } else {
        String::new()
    }
}
