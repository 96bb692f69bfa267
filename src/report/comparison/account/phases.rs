//! Phases of a step: their times before and after, the largest possible gain from each (Amdahl), and the phases that
//! explain a change of the step's time.

use crate::base::statistics::median;
use crate::compare::{Design, Ratio, Verdict};
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::language::{Words, messages};
use crate::report::section::Section;
use crate::report::sections::phases::{PHASES, breakdown, column};
use crate::report::table::{Column, Entry};
use crate::report::view::CellInView;
use crate::results::{Interval, MIN_RUNS_FOR_BOOTSTRAP, interval_over_runs, value};

use super::rows::{
    ROWS, RatioTest, interval, is_comparable, ratio_entry, table_over_pairs, tested_direction,
};
use super::spread::{Runs, of_runs, p_value, ratio_of_medians, statistic_over_blocks};

/// Fraction of the step's change from which on a phase is named.
const NAMED_FROM: f64 = 0.1;

/// The names of the phases, in the order of the table of phases.
const NAMES: [fn(Words) -> String; 7] = [
    Words::phase_data_wait,
    Words::phase_transfer,
    Words::phase_forward,
    Words::phase_loss,
    Words::phase_backward,
    Words::phase_optimizer,
    Words::phase_other,
];

messages! {
    phases_title() = "Throughput by phase" | "Durchsatz nach Phasen";
    phases_about(of) = "{of} Shares are exclusive and sum to 100 %. At most: how many times as fast the step would be if this phase took no time (Amdahl’s bound)." | "{of} Die Anteile schließen einander aus und ergeben 100 %. Höchstens: wievielmal so schnell der Schritt wäre, wenn diese Phase keine Zeit bräuchte (Amdahls Schranke).";
    phases_per_step() = "Mean times of a run’s training steps; the verdict is about their median." | "Mittlere Zeiten der Trainingsschritte eines Laufs; das Urteil gilt ihrem Median.";
    phases_per_sample() = "Mean times of a sample, since the steps of both sides differ in size; the verdict is about the median step." | "Mittlere Zeiten je Sample, da die Schritte beider Seiten verschieden groß sind; das Urteil gilt dem Median der Schritte.";
    phases_phase() = "phase" | "Phase";
    phases_share(side) = "share {side}" | "Anteil {side}";
    phases_bound() = "at most" | "höchstens";
    phases_median() = "median of n runs, below it the interval" | "Median von n Läufen, darunter das Intervall";
    phases_share_how() = "mean of the phase ÷ mean step" | "Mittel der Phase ÷ mittlerer Schritt";
    phases_ratio_how() = "median after ÷ median before, below it the interval" | "Median nachher ÷ Median vorher, darunter das Intervall";
    phases_bound_how() = "1 ÷ (1 − share before)" | "1 ÷ (1 − Anteil vorher)";
    phases_step() = "mean step" | "mittlerer Schritt";
    phases_of_a_step(before, after, phases) = "By phase of the mean step, {before} → {after}: {phases}." | "Nach Phasen des mittleren Schritts, {before} → {after}: {phases}.";
    phases_of_a_sample(before, after, phases) = "By phase of the mean step, per sample, {before} → {after}: {phases}." | "Nach Phasen des mittleren Schritts, je Sample, {before} → {after}: {phases}.";
    phases_changed(phase, before, after, ends, percent) = "{phase} {before} → {after}{ends}, {percent} of the change" | "{phase} {before} → {after}{ends}, {percent} der Änderung";
    phases_none_alone() = "By phase: none alone shows the change." | "Nach Phasen: Keine zeigt die Änderung für sich.";
    phases_of_cells(phase, cells) = "{phase} ({cells} cells)" | "{phase} ({cells} Zellen)";
    phases_in_cells(cells, phases) = "Cells with a verdict: {cells}; their change is in {phases}." | "Zellen mit Urteil: {cells}; die Änderung liegt in {phases}.";
    phase_data_wait() = "data wait" | "Warten auf Daten";
    phase_transfer() = "transfer" | "Übertragung";
    phase_forward() = "forward" | "vorwärts";
    phase_loss() = "loss" | "Loss";
    phase_backward() = "backward" | "rückwärts";
    phase_optimizer() = "optimizer" | "Optimierer";
    phase_other() = "other" | "Rest";
}

/// The section on phases; `None` if no cell has phases on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let has_phases =
        |matched: &MatchedCells<'_, '_>| matched.both.iter().all(|at| breakdown(at.cell).is_some());
    scene.matched_cells().find(has_phases)?;
    let is_sample = scene
        .matched_cells()
        .any(|matched| step_sizes(&matched).is_some());
    let of = if is_sample {
        words.phases_per_sample()
    } else {
        words.phases_per_step()
    };
    let naming = ("phases", words.phases_title(), words.phases_about(of));
    table_over_pairs(scene, naming, columns(scene), ROWS, |matched| {
        lines(scene, matched)
    })
    .map(Section::table)
}

fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let median = words.measured(words.phases_median());
    let share = words.derived(words.phases_share_how());
    let bound = words.derived(words.phases_bound_how());
    let ratios = scene.ratio_formula(words.phases_ratio_how());
    vec![
        Column::text(&words.phases_phase()),
        Column::number(&words.before(), "", &median),
        Column::number(&words.phases_share(words.before()), "%", &share),
        Column::number(&words.after(), "", &median),
        Column::number(&words.phases_share(words.after()), "%", &share),
        Column::number(&words.after_by_before(), "", &ratios),
        Column::number(&words.phases_bound(), "", &bound),
    ]
}

/// Samples per step of both sides, if they differ.
fn step_sizes(matched: &MatchedCells<'_, '_>) -> Option<[f64; 2]> {
    let samples = |at: CellInView<'_, '_>| at.view.set.plan.samples_per_step(at.cell.info);
    let [before, after] = matched.both.map(samples);
    let (before, after) = (before?, after?);
    (before != after).then_some([before as f64, after as f64])
}

/// A phase, or the whole step, with its times on both sides.
struct Phase {
    name: String,
    /// Percent of the step, before and after.
    shares: [f64; 2],
    /// Milliseconds per step in every run, before and after; per sample if the step sizes differ.
    runs: [Runs; 2],
    ratio: Option<Ratio>,
}

impl Phase {
    fn of(
        matched: &MatchedCells<'_, '_>,
        (column, name): (String, String),
        shares: [f64; 2],
        sizes: [f64; 2],
    ) -> Self {
        let runs = [0, 1].map(|side: usize| {
            of_runs(matched.both[side].cell, &|run| {
                Some(value(run, &column)? / sizes[side])
            })
        });
        let mut timings = matched.pair.timings.iter();
        let own = timings.find(|timing| timing.column == column);
        let ratio = own.map(|timing| timing.ratio).or_else(|| {
            statistic_over_blocks(
                &format!("{} {column}", matched.pair.after),
                &runs,
                &ratio_of_medians,
            )
        });
        Self {
            name,
            shares,
            runs,
            ratio: ratio.filter(|_| is_comparable(matched.pair)),
        }
    }

    /// Whether the phase's test shows this direction. A phase whose time is 0 on one side has no ratio and no sign-flip
    /// test: its direction is shown if each side has at least six runs, as many as that test needs.
    fn shows(&self, wanted: RatioTest) -> bool {
        let [before, after] = &self.runs;
        let (absent, present) = match wanted {
            RatioTest::Less => (after, before),
            _ => (before, after),
        };
        match &self.ratio {
            Some(ratio) => tested_direction(ratio, p_value(before, after, 1)) == wanted,
            None => {
                absent.values().all(|time| *time == 0.0)
                    && present.values().all(|time| *time > 0.0)
                    && absent.len().min(present.len()) >= MIN_RUNS_FOR_BOOTSTRAP
            }
        }
    }

    /// The median of a side with its interval.
    fn median(&self, matched: &MatchedCells<'_, '_>, side: usize) -> Option<Interval> {
        let values: Vec<f64> = self.runs[side].values().copied().collect();
        interval_over_runs(&matched.both[side].cell.info.key, &values)
    }
}

/// The phases that either side has, including the residual, and the step; `None` if a side's phases do not sum to its
/// step.
fn phases(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Option<(Vec<Phase>, Phase)> {
    let words = scene.words;
    let (before, after) = breakdown(matched.both[0].cell).zip(breakdown(matched.both[1].cell))?;
    let sizes = step_sizes(matched).unwrap_or([1.0, 1.0]);
    let columns = PHASES.iter().map(|(name, _)| *name).chain(["other"]);
    let shares = before.shares.iter().zip(&after.shares);
    let named = columns.zip(NAMES).zip(shares);
    let named = named.filter(|(_, (before, after))| **before > 0.0 || **after > 0.0);
    let named = named.map(|((name, word), (&before, &after))| {
        Phase::of(matched, (column(name), word(words)), [before, after], sizes)
    });
    let sums = [before.shares.iter().sum(), after.shares.iter().sum()];
    let step = ("step_mean_ms".to_owned(), words.phases_step());
    Some((named.collect(), Phase::of(matched, step, sums, sizes)))
}

/// Table rows of a pair's phases and of its step; empty if a side's phases do not sum to its step.
fn lines(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<Vec<Entry>> {
    let Some((phases, step)) = phases(scene, matched) else {
        return Vec::new();
    };
    let phases = phases.iter();
    let mut lines: Vec<_> = phases
        .filter_map(|phase| fields(scene, matched, phase))
        .collect();
    lines.extend(fields(scene, matched, &step));
    lines
}

/// One phase of both sides: times, shares, ratio, and Amdahl's bound, `1 ÷ (1 − s)`, except for the whole step.
fn fields(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>, phase: &Phase) -> Option<Vec<Entry>> {
    let words = scene.words;
    let show = |ms: f64| words.seconds(ms / 1e3);
    let times = |side: usize| Some(interval(words, &phase.median(matched, side)?, &show));
    let share = |share: f64| Entry::value(share, words.fixed(share, 1));
    let rest = 1.0 - phase.shares[0] / 100.0;
    let bound = (rest > 1e-9).then(|| 1.0 / rest);
    Some(vec![
        Entry::text(phase.name.clone()),
        times(0)?,
        share(phase.shares[0]),
        times(1)?,
        share(phase.shares[1]),
        ratio_entry(words, phase.ratio.as_ref()),
        Entry::shown(bound, |bound| format!("{}×", words.ratio(bound))),
    ])
}

/// A phase that contributes to the change of the step's time.
struct Changed {
    phase: Phase,
    medians: [f64; 2],
    /// Fraction of the step's change that is in the phase.
    part: f64,
}

/// The phases whose own test shows the direction of the step's change and that make up at least a tenth of it, the
/// largest first, and the mean step of both sides; `None` if the cell has no verdict on its time, or the runs were not
/// interleaved.
fn changed(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Option<(Vec<Changed>, [f64; 2])> {
    let judgement = &matched.pair.judgement;
    let wanted = match judgement.verdict {
        Verdict::Faster => RatioTest::Less,
        Verdict::Slower => RatioTest::More,
        _ => return None,
    };
    if judgement.design == Design::Sessions {
        return None;
    }
    let (phases, step) = phases(scene, matched)?;
    let medians = |phase: &Phase| -> Option<[f64; 2]> {
        let of = |runs: &Runs| median(&runs.values().copied().collect::<Vec<f64>>());
        Some([of(&phase.runs[0])?, of(&phase.runs[1])?])
    };
    let [before, after] = medians(&step)?;
    let named = phases.into_iter().filter_map(|phase| {
        let medians = medians(&phase)?;
        let part = (medians[1] - medians[0]) / (after - before);
        (phase.shows(wanted) && part >= NAMED_FROM).then_some(Changed {
            phase,
            medians,
            part,
        })
    });
    let mut named: Vec<Changed> = named.collect();
    named.sort_by(|a, b| b.part.total_cmp(&a.part));
    Some((named, [before, after]))
}

/// Sentence for one cell: which phases explain the change of its time.
pub(crate) fn sentence(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Option<String> {
    let words = scene.words;
    let (named, step) = changed(scene, matched)?;
    let [before, after] = step.map(|time| words.seconds(time / 1e3));
    let texts = named.into_iter().map(|found| {
        let [before, after] = found.medians.map(|time| words.seconds(time / 1e3));
        let ratio = found.phase.ratio.as_ref();
        let ends = ratio.map(|ratio| {
            let ends = scene.with_environment_note(words.ends(ratio));
            format!(" ({}×, {ends})", words.ratio(ratio.value))
        });
        let percent = format!("{} %", words.fixed(found.part * 100.0, 0));
        words.phases_changed(
            found.phase.name,
            before,
            after,
            ends.unwrap_or_default(),
            percent,
        )
    });
    let texts: Vec<String> = texts.collect();
    Some(if texts.is_empty() {
        words.phases_none_alone()
    } else if step_sizes(matched).is_some() {
        words.phases_of_a_sample(before, after, texts.join("; "))
    } else {
        words.phases_of_a_step(before, after, texts.join("; "))
    })
}

/// Sentence for several cells: for each phase, in how many of those with a verdict it explains the change.
pub(crate) fn sentence_of_cells(scene: &Scene<'_>) -> Option<String> {
    let words = scene.words;
    let found = scene
        .matched_cells()
        .filter_map(|matched| Some(changed(scene, &matched)?.0));
    let found: Vec<Vec<Changed>> = found.collect();
    let named = NAMES.map(|name| name(words)).map(|name| {
        let cells = found.iter();
        let has = |cell: &&Vec<Changed>| cell.iter().any(|own| own.phase.name == name);
        (cells.filter(has).count(), name)
    });
    let mut named: Vec<(usize, String)> = named.into_iter().filter(|(n, _)| *n > 0).collect();
    named.sort_by_key(|(cells, _)| std::cmp::Reverse(*cells));
    let texts: Vec<String> = named
        .into_iter()
        .map(|(cells, phase)| words.phases_of_cells(phase, words.count(cells)))
        .collect();
    let cells = words.count(found.len());
    (!texts.is_empty()).then(|| words.phases_in_cells(cells, texts.join(", ")))
}
