//! Throughput by phase: where a step's time went before and after, and how much a phase can do for the step (Amdahl).

use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::sections::phases::{PHASES, breakdown, column};
use crate::report::table::{Column, Entry};
use crate::results::{interval_over_runs, value};

use super::figure::Kind;
use super::rows::{Line, interval, is_comparable, over_pairs, ratio_entry};
use super::spread::{of_runs, over_blocks, quotient};

/// The names of the phases, in the order of their shares.
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
    phases_about(of) = "{of} Shares are exclusive and sum to 100 %. Alone: what the step would take ÷ what it took before, had only this phase changed: 1 − share before × (1 − after ÷ before). At most: how many times as fast the step before can become by this phase, if it took no time: 1 ÷ (1 − share before), Amdahl’s bound." | "{of} Die Anteile schließen einander aus und ergeben 100 %. Allein: was der Schritt dauerte, hätte sich nur diese Phase geändert, ÷ was er vorher dauerte: 1 − Anteil vorher × (1 − nachher ÷ vorher). Höchstens: wievielmal so schnell der Schritt von vorher durch diese Phase werden kann, wenn sie keine Zeit bräuchte: 1 ÷ (1 − Anteil vorher), Amdahls Schranke.";
    phases_per_step() = "Times of a training step." | "Zeiten eines Trainingsschritts.";
    phases_per_sample() = "Times of a sample, since the steps of both sides differ in size." | "Zeiten je Sample, da die Schritte beider Seiten verschieden groß sind.";
    phases_phase() = "phase" | "Phase";
    phases_share(side) = "share {side}" | "Anteil {side}";
    phases_alone() = "step, this phase alone" | "Schritt, nur diese Phase";
    phases_bound() = "at most" | "höchstens";
    phases_median() = "median of n runs, below it the interval" | "Median von n Läufen, darunter das Intervall";
    phases_share_how() = "mean of the phase ÷ mean step" | "Mittel der Phase ÷ mittlerer Schritt";
    phases_ratio_how() = "median after ÷ median before, below it the interval" | "Median nachher ÷ Median vorher, darunter das Intervall";
    phases_alone_how() = "1 − share before × (1 − after ÷ before)" | "1 − Anteil vorher × (1 − nachher ÷ vorher)";
    phases_bound_how() = "1 ÷ (1 − share before)" | "1 ÷ (1 − Anteil vorher)";
    phases_step() = "step" | "Schritt";
    phases_missing() = "not measured: the phases of a side do not sum to its step, or no run has them" | "nicht gemessen: Die Phasen einer Seite ergeben nicht ihren Schritt, oder kein Lauf hat sie";
    phase_data_wait() = "data wait" | "Warten auf Daten";
    phase_transfer() = "transfer" | "Übertragung";
    phase_forward() = "forward" | "vorwärts";
    phase_loss() = "loss" | "Loss";
    phase_backward() = "backward" | "rückwärts";
    phase_optimizer() = "optimizer" | "Optimierer";
    phase_other() = "other" | "Rest";
}

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let is_sample = scene.duos().any(|duo| step_sizes(&duo).is_some());
    let of = if is_sample {
        words.phases_per_sample()
    } else {
        words.phases_per_step()
    };
    let naming = ("phases", words.phases_title(), words.phases_about(of));
    over_pairs(scene, naming, columns(scene), |duo| lines(scene, duo))
}

fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let median = Provenance::Measured(words.phases_median());
    let [share, alone, bound] = [
        words.phases_share_how(),
        words.phases_alone_how(),
        words.phases_bound_how(),
    ]
    .map(Provenance::Derived);
    let ratios = scene.ratio_formula(words.phases_ratio_how());
    vec![
        Column::text(&words.phases_phase()),
        words.column(words.before(), "", &median),
        words.column(words.phases_share(words.before()), "%", &share),
        words.column(words.after(), "", &median),
        words.column(words.phases_share(words.after()), "%", &share),
        words.column(words.after_by_before(), "", &ratios),
        words.column(words.phases_alone(), "", &alone),
        words.column(words.phases_bound(), "", &bound),
    ]
}

/// Samples of a step of both sides, where they differ.
fn step_sizes(duo: &Duo<'_, '_>) -> Option<[f64; 2]> {
    let samples = |at: At<'_, '_>| at.view.set.plan.samples_per_step(at.cell.info);
    let [before, after] = duo.both.map(samples);
    let (before, after) = (before?, after?);
    (before != after).then_some([before as f64, after as f64])
}

/// The phases that either side has, the residual, and the step.
fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Line> {
    let words = scene.words;
    let Some((before, after)) = breakdown(duo.both[0].cell).zip(breakdown(duo.both[1].cell)) else {
        let step = vec![Entry::text(words.phases_step())];
        return vec![(step, Some(words.phases_missing()))];
    };
    let names = PHASES.iter().map(|(name, _)| *name).chain(["other"]);
    let phases = names
        .zip(NAMES)
        .zip(before.shares.iter().zip(&after.shares));
    let phases = phases.filter_map(|((column_name, name), (&before, &after))| {
        let shares = [before, after];
        let is_there = shares.iter().any(|share| *share > 0.0);
        is_there.then(|| line(scene, duo, &column(column_name), (name(words), shares)))?
    });
    let sums = [before.shares.iter().sum(), after.shares.iter().sum()];
    let step = line(scene, duo, "step_mean_ms", (words.phases_step(), sums));
    let mut lines: Vec<Line> = phases.collect();
    lines.extend(step.map(|(mut fields, missing)| {
        // The whole has no share of itself.
        fields.truncate(6);
        fields.extend(["–", "–"].map(Entry::text));
        (fields, missing)
    }));
    lines
}

/// One phase of both sides: times, shares, ratio; what the step would take, had only this phase changed, by what it took,
/// `1 − s (1 − r)`; and Amdahl's bound, `1 ÷ (1 − s)`.
fn line(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    column: &str,
    (name, shares): (String, [f64; 2]),
) -> Option<Line> {
    let words = scene.words;
    let sizes = step_sizes(duo).unwrap_or([1.0, 1.0]);
    let runs = [0, 1].map(|side: usize| {
        of_runs(duo.both[side].cell, &|run| {
            Some(value(run, column)? / sizes[side])
        })
    });
    let times = |side: usize| {
        let values: Vec<f64> = runs[side].values().copied().collect();
        let found = interval_over_runs(&duo.both[side].cell.info.key, &values)?;
        Some(interval(words, Kind::Milliseconds, &found))
    };
    let mut timings = duo.pair.timings.iter();
    let own = timings.find(|timing| timing.column == column);
    let ratio = own
        .map(|timing| timing.ratio)
        .or_else(|| over_blocks(&format!("{} {column}", duo.pair.after), &runs, &quotient));
    let ratio = ratio.filter(|_| is_comparable(duo.pair));
    let share = |share: f64| Entry::value(share, words.fixed(share, 1));
    let times_as = |value: Option<f64>| Entry::shown(value, |v| format!("{}×", words.ratio(v)));
    let part = shares[0] / 100.0;
    let fields = vec![
        Entry::text(name),
        times(0)?,
        share(shares[0]),
        times(1)?,
        share(shares[1]),
        ratio_entry(words, ratio.as_ref()),
        times_as(ratio.map(|ratio| 1.0 - part * (1.0 - ratio.value))),
        times_as((part < 1.0).then(|| 1.0 / (1.0 - part))),
    ];
    Some((fields, None))
}
