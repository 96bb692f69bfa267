//! Throughput by phase: where a step's time went before and after, and how much a phase can do for the step (Amdahl).

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::sections::phases::{Breakdown, PHASES, breakdown, column};
use crate::report::table::{Column, Entry, Row};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, interval_over_runs, value};

use super::figure::{At, Figure, Kind};
use super::rows::{has_many, interval, ratio_entry, row, sides};
use super::spread::{Runs, of_runs, over_blocks};

/// Rows at most.
const ROWS: usize = 120;

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
    phases_cut(shown, all) = "The first {shown} of {all} rows; timings.csv has the others." | "Die ersten {shown} von {all} Zeilen; timings.csv enthält die übrigen.";
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
    scene.duos().next()?;
    let is_sample = scene.duos().any(|duo| step_sizes(scene, &duo).is_some());
    let mut rows: Vec<Row> = scene.shown().flat_map(|duo| rows(scene, &duo)).collect();
    let all = rows.len();
    rows.truncate(ROWS);
    let of = if is_sample {
        words.phases_per_sample()
    } else {
        words.phases_per_step()
    };
    let naming = ("phases", words.phases_title(), words.phases_about(of));
    let mut table = super::rows::plain(naming, columns(scene), rows);
    if all > ROWS {
        table.cut = Some(words.phases_cut(words.count(ROWS), words.count(all)));
    }
    Some(Section::table(table))
}

fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let median = Provenance::Measured(words.phases_median());
    let derived = |how: String| Provenance::Derived(how);
    let share = derived(words.phases_share_how());
    let cell = has_many(scene).then(|| Column::text(&words.cell()));
    let ratios = scene.ratio_formula(words.phases_ratio_how());
    let own = [
        Column::text(&words.phases_phase()),
        words.column(words.before(), "", &median),
        words.column(words.phases_share(words.before()), "%", &share),
        words.column(words.after(), "", &median),
        words.column(words.phases_share(words.after()), "%", &share),
        words.column(words.after_by_before(), "", &ratios),
        words.column(words.phases_alone(), "", &derived(words.phases_alone_how())),
        words.column(words.phases_bound(), "", &derived(words.phases_bound_how())),
    ];
    cell.into_iter().chain(own).collect()
}

/// Samples of a step of both sides, where they differ.
fn step_sizes(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<(f64, f64)> {
    let samples = |view: &View<'_>, cell: &Cell<'_>| view.set.plan.samples_per_step(cell.info);
    let before = samples(&scene.before, duo.before)?;
    let after = samples(&scene.after, duo.after)?;
    (before != after).then_some((before as f64, after as f64))
}

/// One phase of both sides.
struct Phase {
    name: String,
    times: (Interval, Interval),
    shares: (f64, f64),
    ratio: Option<Ratio>,
    is_sum: bool,
}

fn rows(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Row> {
    let words = scene.words;
    let first: Vec<Entry> = has_many(scene)
        .then(|| Entry::text(scene.name(duo)))
        .into_iter()
        .collect();
    let key = &duo.pair.after;
    let Some((before, after)) = breakdown(duo.before).zip(breakdown(duo.after)) else {
        let mut missing = row(scene, duo, Figure::Throughput);
        missing.fields = [first, vec![Entry::text(words.phases_step())]].concat();
        missing.missing = Some(words.phases_missing());
        return vec![missing];
    };
    let phases = phases(scene, duo, (&before, &after));
    let line = |phase: Phase| Row {
        key: key.clone(),
        fields: [first.clone(), phase.fields(words)].concat(),
        missing: None,
    };
    phases.into_iter().map(line).collect()
}

/// The phases that either side has, the residual, and the step.
fn phases(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    (before, after): (&Breakdown, &Breakdown),
) -> Vec<Phase> {
    let words = scene.words;
    let names = PHASES.iter().map(|(name, _)| *name).chain(["other"]);
    let phases = names.enumerate().filter_map(|(place, name)| {
        let shares = (before.shares[place], after.shares[place]);
        let is_there = shares.0 > 0.0 || shares.1 > 0.0;
        is_there.then_some(())?;
        phase(scene, duo, &column(name), shares).map(|phase| Phase {
            name: named(words, place),
            ..phase
        })
    });
    let sums = (before.shares.iter().sum(), after.shares.iter().sum());
    let step = phase(scene, duo, "step_mean_ms", sums).map(|step| Phase {
        name: words.phases_step(),
        is_sum: true,
        ..step
    });
    phases.chain(step).collect()
}

fn phase(scene: &Scene<'_>, duo: &Duo<'_, '_>, column: &str, shares: (f64, f64)) -> Option<Phase> {
    let sizes = step_sizes(scene, duo).unwrap_or((1.0, 1.0));
    let (before, after) = sides(scene, duo);
    let runs = |at: At<'_, '_>, samples: f64| -> Runs {
        of_runs(at.cell, &|run: &BlockRow| {
            Some(value(run, column)? / samples)
        })
    };
    let (before_runs, after_runs) = (runs(before, sizes.0), runs(after, sizes.1));
    let median = |at: At<'_, '_>, runs: &Runs| {
        let values: Vec<f64> = runs.values().copied().collect();
        interval_over_runs(&at.cell.info.key, &values)
    };
    let times = median(before, &before_runs).zip(median(after, &after_runs))?;
    let timings = duo.pair.timings.iter();
    let own = timings
        .filter(|timing| timing.column == column)
        .map(|timing| timing.ratio);
    let label = format!("{} {column}", duo.pair.after);
    let ratio = own.chain(over_blocks(
        &label,
        &[before_runs, after_runs],
        &|medians| medians[1] / medians[0],
    ));
    Some(Phase {
        name: String::new(),
        times,
        shares,
        ratio: ratio.into_iter().next(),
        is_sum: false,
    })
}

fn named(words: Words, place: usize) -> String {
    match place {
        0 => words.phase_data_wait(),
        1 => words.phase_transfer(),
        2 => words.phase_forward(),
        3 => words.phase_loss(),
        4 => words.phase_backward(),
        5 => words.phase_optimizer(),
        _ => words.phase_other(),
    }
}

impl Phase {
    /// What the step would take, had only this phase changed, by what it took: `1 − s (1 − r)`.
    fn alone(&self) -> Option<f64> {
        Some(1.0 - self.shares.0 / 100.0 * (1.0 - self.ratio?.value))
    }

    /// Amdahl's bound: `1 ÷ (1 − s)`; `None` for all of the step.
    fn bound(&self) -> Option<f64> {
        let rest = 1.0 - self.shares.0 / 100.0;
        (rest > 0.0 && !self.is_sum).then(|| 1.0 / rest)
    }

    fn fields(&self, words: Words) -> Vec<Entry> {
        let share = |share: f64| Entry::value(share, words.fixed(share, 1));
        let times = |value: Option<f64>| {
            value.map_or_else(
                || Entry::text("–"),
                |value| Entry::value(value, format!("{}×", words.ratio(value))),
            )
        };
        let alone = self.alone().filter(|_| !self.is_sum);
        vec![
            Entry::text(&self.name),
            interval(words, Kind::Milliseconds, &self.times.0),
            share(self.shares.0),
            interval(words, Kind::Milliseconds, &self.times.1),
            share(self.shares.1),
            ratio_entry(words, self.ratio.as_ref()),
            times(alone),
            times(self.bound()),
        ]
    }
}
