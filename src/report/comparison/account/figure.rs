//! [`Figure`]: what is held against each other of two runs, with its formula, its unit and its direction.

use crate::compare::{CellPair, Ratio};
use crate::report::comparison::scene::At;
use crate::report::language::{Words, messages};
use crate::report::sections::cost;
use crate::results::{BlockRow, Interval, interval_over_runs, value};

use super::passes;
use super::rows::Measure;
use super::spread::{Runs, of_runs};

/// A figure that every run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    SampleTime,
    Startup,
    Training,
    Validation,
    Pass,
    PassSample,
    Evaluation,
    WholeRun,
    PeakTraining,
    CoreSeconds,
}

/// How a figure is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Milliseconds,
    Seconds,
    Bytes,
    CoreSeconds,
}

messages! {
    figure_startup() = "start-up" | "Start";
    figure_training() = "training" | "Training";
    figure_validation() = "validation, whole run" | "Validierung, ganzer Lauf";
    figure_pass() = "one validation" | "eine Validierung";
    figure_pass_sample() = "validation, per sample" | "Validierung, je Sample";
    figure_evaluation() = "verification and selection" | "Verifikation und Auswahl";
    figure_whole_run() = "whole run" | "ganzer Lauf";
    figure_peak_training() = "peak memory, training" | "Spitzenspeicher, Training";
    figure_core_seconds() = "core time of a training run" | "Kernzeit eines Trainingslaufs";

    source_median() = "measured" | "gemessen";
    source_sample_time() = "derived (step ÷ (batch size × accumulation))" | "abgeleitet (Schritt ÷ (Batchgröße × Akkumulation))";
    source_pass() = "derived (validation of the run ÷ validations)" | "abgeleitet (Validierung des Laufs ÷ Validierungen)";
    source_pass_sample() = "derived (one validation ÷ its samples)" | "abgeleitet (eine Validierung ÷ ihre Samples)";
    source_core_seconds() = "derived (wall time of the run, costly evaluation excluded × cores kept from others)" | "abgeleitet (Dauer des Laufs ohne aufwendige Auswertung × belegte Kerne)";
    source_evaluation() = "measured (first block of each seed)" | "gemessen (erster Block je Seed)";
    source_peak(source) = "measured ({source})" | "gemessen ({source})";

    why_nothing() = "no run has times" | "kein Lauf hat Zeiten";
    why_no_validation() = "“validation.fraction” is 0, or no epoch was validated" | "„validation.fraction“ ist 0, oder keine Epoche wurde validiert";
    why_no_pass_samples() = "how many samples a validation sees is in the results only with “validation.cycle = true”" | "wie viele Samples eine Validierung sieht, steht nur mit „validation.cycle = true“ in den Ergebnissen";
    why_no_evaluation() = "none of “validation.sampling”, “verification” and “selection” is set" | "weder „validation.sampling“ noch „verification“ noch „selection“ ist gesetzt";
    why_no_memory() = "the system does not tell it" | "das System nennt ihn nicht";
    why_no_cores() = "the number of cores is in no environment of these results" | "die Zahl der Kerne steht in keiner Umgebung dieser Ergebnisse";
    core_seconds(seconds) = "{seconds} core-s" | "{seconds} Kern-s";
    figure_not_measured(reason) = "not measured: {reason}" | "nicht gemessen: {reason}";
}

impl Figure {
    /// Its value in a run; `None` where it has none.
    fn of_run(self, at: At<'_, '_>, run: &BlockRow) -> Option<f64> {
        let times = run.times.as_deref()?;
        let found = match self {
            Self::SampleTime => at.view.set.plan.sample_ms(at.cell.info, run),
            Self::Validation => (passes::of(at, run.seed)? > 0.0).then_some(times.validation_s),
            Self::Pass => passes::seconds(at, run),
            Self::PassSample => Some(passes::seconds(at, run)? / passes::samples(at)? * 1e3),
            // Costly evaluation is in the first block only.
            Self::CoreSeconds => {
                let wall = cost::wall_s(run)? - times.assessment_s.unwrap_or(0.0);
                Some(wall * cost::cores(at.view, at.cell, run)?)
            }
            _ => value(run, self.column()),
        };
        found.filter(|value| *value > 0.0 || self.kind() != Kind::Bytes)
    }

    /// Its name, and its column of `blocks.csv`; empty where it is none.
    fn parts(self) -> (fn(Words) -> String, &'static str) {
        match self {
            Self::SampleTime => (Words::timed, ""),
            Self::Startup => (Words::figure_startup, "startup_s"),
            Self::Training => (Words::figure_training, "train_s"),
            Self::Validation => (Words::figure_validation, ""),
            Self::Pass => (Words::figure_pass, ""),
            Self::PassSample => (Words::figure_pass_sample, ""),
            Self::Evaluation => (Words::figure_evaluation, "assessment_s"),
            Self::WholeRun => (Words::figure_whole_run, "total_s"),
            Self::PeakTraining => (Words::figure_peak_training, "peak_train_bytes"),
            Self::CoreSeconds => (Words::figure_core_seconds, ""),
        }
    }

    fn column(self) -> &'static str {
        self.parts().1
    }
}

impl Measure for Figure {
    fn id(&self) -> String {
        format!("{self:?}")
    }

    fn name(&self, words: Words) -> String {
        self.parts().0(words)
    }

    fn kind(&self) -> Kind {
        match self {
            Self::SampleTime | Self::PassSample => Kind::Milliseconds,
            Self::CoreSeconds => Kind::CoreSeconds,
            _ if self.column().ends_with("_bytes") => Kind::Bytes,
            _ => Kind::Seconds,
        }
    }

    fn runs(&self, at: At<'_, '_>) -> Runs {
        of_runs(at.cell, &|run| self.of_run(at, run))
    }

    fn source(&self, words: Words, at: At<'_, '_>) -> String {
        match self {
            Self::SampleTime => words.source_sample_time(),
            Self::Pass => words.source_pass(),
            Self::PassSample => words.source_pass_sample(),
            Self::Evaluation => words.source_evaluation(),
            Self::CoreSeconds => words.source_core_seconds(),
            Self::PeakTraining => words.source_peak(memory_source(at)),
            _ => words.source_median(),
        }
    }

    fn why_missing(&self, words: Words, at: At<'_, '_>) -> String {
        words.figure_not_measured(match self {
            _ if !at.cell.is_measured() => words.why_nothing(),
            Self::PassSample if !Self::Pass.runs(at).is_empty() => words.why_no_pass_samples(),
            Self::Validation | Self::Pass | Self::PassSample => words.why_no_validation(),
            Self::Evaluation => words.why_no_evaluation(),
            Self::CoreSeconds => words.why_no_cores(),
            _ if self.kind() == Kind::Bytes => words.why_no_memory(),
            _ => words.why_nothing(),
        })
    }

    fn own_ratio(&self, pair: &CellPair) -> Option<Ratio> {
        let mut timings = pair.timings.iter();
        match self {
            Self::SampleTime => pair.judgement.ratio,
            _ => timings
                .find(|timing| timing.column == self.column())
                .map(|timing| timing.ratio),
        }
    }

    /// Of a column of `timings.csv` the interval there, which other pages have too.
    fn over_runs(&self, at: At<'_, '_>) -> Option<Interval> {
        let known = at.cell.timing.and_then(|row| row.values.get(self.column()));
        known.copied().or_else(|| {
            let values: Vec<f64> = self.runs(at).into_values().collect();
            interval_over_runs(&at.cell.info.key, &values)
        })
    }
}

impl Kind {
    /// A value of this kind, with its unit.
    pub(crate) fn show(self, words: Words, value: f64) -> String {
        match self {
            Self::Milliseconds => words.seconds(value / 1e3),
            Self::Seconds => words.seconds(value),
            Self::Bytes => words.bytes(value),
            Self::CoreSeconds => words.core_seconds(words.number(value, 3)),
        }
    }
}

fn memory_source(at: At<'_, '_>) -> String {
    let mut names = at.cell.times().map(|times| times.memory_source.clone());
    names
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "–".to_owned())
}
