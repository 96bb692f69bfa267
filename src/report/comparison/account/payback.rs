//! Return on the time spent: what the experiment took, what a training run saves, and after how many runs it is even.

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::sections::cost::{prices, wall_s};
use crate::report::table::{Column, Entry};
use crate::report::view::View;
use crate::results::IntervalKind;

use super::figure::Figure;
use super::goal::Goal;
use super::rows::{Line, Measure, over_pairs};
use super::spread::over_blocks;

messages! {
    payback_title() = "Return on the time spent" | "Amortisation der aufgewendeten Zeit";
    payback_about() = "The time spent is the experiment’s own: the wall time of all its runs, failed ones included. What people spent on the change is in no results file." | "Aufgewendet ist die Zeit des Versuchs selbst: die Dauer aller seiner Läufe, auch der gescheiterten. Was Menschen für die Änderung aufwendeten, steht in keiner Ergebnisdatei.";
    payback_of() = "saving of" | "Ersparnis bei";
    payback_per_run() = "saved per training run" | "gespart je Trainingslauf";
    payback_spent() = "spent on the experiment" | "für den Versuch aufgewendet";
    payback_even() = "even after" | "amortisiert nach";
    payback_spent_how() = "sum of the wall time of all runs" | "Summe der Dauer aller Läufe";
    payback_saving_how() = "median before − median after; interval over blocks" | "Median vorher − Median nachher; Intervall über die Blöcke";
    payback_even_how() = "spent ÷ saved, ends from those of the saving" | "aufgewendet ÷ gespart, Enden aus denen der Ersparnis";
    payback_runs(count) = "{count} training runs" | "{count} Trainingsläufen";
    payback_never() = "never: nothing is saved" | "nie: es wird nichts gespart";
    payback_open() = "open: the interval of the saving contains 0" | "nicht bestimmbar: das Intervall der Ersparnis enthält 0";
    payback_whole_run() = "a whole run" | "einem ganzen Lauf";
    payback_nothing() = "not measured: no run counts on both sides" | "nicht gemessen: es zählen nicht auf beiden Seiten Läufe";
}

/// After how many training runs what was spent is saved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Even {
    /// After so many, from the first end to the second; `None` where there is no second.
    After(f64, f64, f64),
    /// The interval of the saving contains 0.
    Open,
    /// Nothing is saved.
    Never,
}

impl Even {
    /// `spent ÷ saved`, and what the ends of the saving make of it.
    pub(crate) fn of(spent_s: f64, saved: &Ratio) -> Self {
        let runs = |saved_s: f64| (spent_s / saved_s).ceil();
        match saved {
            saved if saved.high <= 0.0 => Self::Never,
            saved if saved.low <= 0.0 || saved.value <= 0.0 => Self::Open,
            saved => Self::After(runs(saved.value), runs(saved.high), runs(saved.low)),
        }
    }

    /// In words: `40 training runs`, with its ends.
    pub(crate) fn entry(self, words: Words) -> Entry {
        let count = |runs: f64| words.count(runs as usize);
        match self {
            Self::Never => Entry::text(words.payback_never()),
            Self::Open => Entry::text(words.payback_open()),
            Self::After(runs, low, high) => Entry {
                detail: if low < high {
                    words.between(&count(low), &count(high))
                } else {
                    String::new()
                },
                interval: (low < high).then_some((low, high)),
                ..Entry::value(runs, words.payback_runs(count(runs)))
            },
        }
    }
}

/// The section; `None` without a price, and where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    prices(&scene.after)?;
    let words = scene.words;
    let spent = Provenance::Measured(words.payback_spent_how());
    let saved = Provenance::Derived(words.payback_saving_how());
    let even = Provenance::Derived(words.payback_even_how());
    let columns = vec![
        Column::text(&words.payback_of()),
        words.column(words.payback_spent(), "", &spent),
        words.column(words.payback_per_run(), "", &saved),
        words.column(words.payback_even(), "", &even),
    ];
    let naming = ("payback", words.payback_title(), words.payback_about());
    over_pairs(scene, naming, columns, |duo| {
        let whole = words.payback_whole_run();
        let whole = line(scene, duo, (whole, "run"), &Figure::WholeRun);
        let until = Goal::equal_loss(duo.both).map(|goal| {
            let name = words.goal_target(goal.condition(words));
            line(scene, duo, (name, "until"), &goal)
        });
        [whole].into_iter().chain(until).collect()
    })
}

fn line(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    (of, what): (String, &str),
    measure: &dyn Measure,
) -> Line {
    let words = scene.words;
    let runs = duo.both.map(|at| measure.runs(at));
    let label = format!("{} saved {what}", duo.pair.after);
    let saved = over_blocks(&label, &runs, &|medians| medians[0] - medians[1]);
    let spent = spent_s(scene);
    let mut fields = vec![Entry::text(of), Entry::value(spent, words.seconds(spent))];
    let Some(saved) = saved else {
        return (fields, Some(words.payback_nothing()));
    };
    fields.extend([seconds(words, &saved), Even::of(spent, &saved).entry(words)]);
    (fields, None)
}

fn seconds(words: Words, saved: &Ratio) -> Entry {
    let show = |value: f64| {
        let text = words.seconds(value.abs());
        if value < 0.0 {
            format!("−{text}")
        } else {
            text
        }
    };
    let detail = match saved.kind {
        IntervalKind::Single => words.single_run(),
        _ => words.between(&show(saved.low), &show(saved.high)),
    };
    Entry {
        detail,
        interval: saved.ends(),
        ..Entry::value(saved.value, show(saved.value))
    }
}

/// Seconds of all runs of both sides; of one result, of that result.
pub(crate) fn spent_s(scene: &Scene<'_>) -> f64 {
    let of = |view: &View<'_>| view.set.blocks.iter().filter_map(wall_s).sum::<f64>();
    if scene.comparison.along.is_some() {
        of(&scene.after)
    } else {
        of(&scene.before) + of(&scene.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(value: f64, low: f64, high: f64) -> Ratio {
        Ratio {
            value,
            low,
            high,
            kind: IntervalKind::Bootstrap95,
        }
    }

    #[test]
    fn it_is_even_when_what_was_spent_is_saved() {
        // 400 s ÷ 10 s; ends 400 ÷ 16 and 400 ÷ 8.
        let even = Even::of(400.0, &saved(10.0, 8.0, 16.0));
        assert_eq!(even, Even::After(40.0, 25.0, 50.0));
        assert_eq!(
            Even::of(401.0, &saved(10.0, 10.0, 10.0)),
            Even::After(41.0, 41.0, 41.0)
        );
    }

    #[test]
    fn never_where_nothing_is_saved_and_open_where_that_is_not_told() {
        assert_eq!(Even::of(400.0, &saved(-3.0, -4.0, -2.0)), Even::Never);
        assert_eq!(Even::of(400.0, &saved(1.0, -1.0, 3.0)), Even::Open);
        assert_eq!(Even::of(400.0, &saved(-1.0, -2.0, 3.0)), Even::Open);
    }
}
