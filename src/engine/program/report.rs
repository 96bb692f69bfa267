//! [`Report`]: facts and times of a run from what its program reported.

use std::collections::BTreeMap;

use super::events::Values;
use super::observed::Observed;
use super::process::Exit;
use crate::base::statistics::median;
use crate::event::{EpochRow, Metrics, RunFacts, RunTimes};
use crate::models::{Better, CommandSpec, DECIDING_LOSSES};
use crate::plan::LimitsSpec;

/// A program's reports so far.
#[derive(Debug)]
pub(super) struct Report<'a> {
    spec: &'a CommandSpec,
    max_loss: Option<f64>,
    pub(super) parameters: u64,
    steps: u64,
    samples: u64,
    epochs: Vec<EpochRow>,
    /// Number of epochs that the program was told as `{train.epochs}`; `None` if it was not told, or has not yet ended
    /// without failure.
    ordered_epochs: Option<usize>,
    /// Final metrics: from the event `finished`, else from the last epoch that has them.
    metrics: Metrics,
    /// Times from the event `finished`.
    end_times: BTreeMap<String, f64>,
    /// Reported times by name, one value per epoch; empty if no value was finite.
    times: BTreeMap<String, Vec<f64>>,
    diverged: Option<String>,
    /// Values scraped from the output for the next row.
    row: Option<Values>,
    /// Training losses scraped for the next row.
    losses: Vec<f64>,
    /// What the program reported about its steps.
    pub(super) observed: Observed,
    /// Whether the program, or its observer, has sent a warning.
    pub(super) has_warned: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(spec: &'a CommandSpec, limits: &LimitsSpec) -> Self {
        Self {
            spec,
            max_loss: limits.max_loss,
            ordered_epochs: None,
            parameters: 0,
            steps: 0,
            samples: 0,
            epochs: Vec::new(),
            metrics: Metrics::new(),
            end_times: BTreeMap::new(),
            times: BTreeMap::new(),
            diverged: None,
            row: None,
            losses: Vec::new(),
            observed: Observed::default(),
            has_warned: false,
        }
    }

    /// Why the run diverged; `None` if it did not.
    pub(super) fn diverged(&self) -> Option<&str> {
        self.diverged.as_deref()
    }

    fn is_time(&self, name: &str) -> bool {
        self.spec
            .metrics
            .get(name)
            .is_some_and(|metric| metric.time)
    }

    /// Adds an epoch and returns its row.
    ///
    /// # Errors
    /// An epoch whose number is not larger than the previous one's; a sentence.
    pub(super) fn epoch(&mut self, told: Values) -> Result<EpochRow, String> {
        let last = self.epochs.last().map(|row| row.epoch);
        let next = last.map_or(0, |last| last + 1);
        let epoch = told.epoch.unwrap_or(next);
        if let Some(last) = last.filter(|last| epoch <= *last) {
            return Err(format!("epoch {epoch} comes after epoch {last}"));
        }
        self.count(&told);
        let mut validation = Metrics::new();
        for (name, value) in told.metrics {
            if self.is_time(&name) {
                self.times.entry(name).or_default().extend(value);
                continue;
            }
            if value.is_none() && name.ends_with("loss") {
                self.diverge(format!("`{name}` was no finite number after epoch {epoch}"));
            }
            self.metrics.insert(name.clone(), value);
            validation.insert(name, value);
        }
        let train_loss = told.train_loss.filter(|loss| loss.is_finite());
        if told.train_loss.is_some() && train_loss.is_none() {
            self.diverge(format!(
                "`train_loss` was no finite number after epoch {epoch}"
            ));
        }
        if let (Some(loss), Some(most)) = (train_loss, self.max_loss)
            && loss > most
        {
            self.diverge(format!("loss {loss} after epoch {epoch} is above {most}"));
        }
        let row = EpochRow {
            epoch,
            train_loss,
            validation,
            lr: told.lr,
            steps: Vec::new(),
        };
        self.epochs.push(row.clone());
        Ok(row)
    }

    /// To be called when the program has ended without failure. `epochs` is the value of `{train.epochs}`. If more rows
    /// than that were scraped, they are reduced to one per epoch, unless a verdict was given on each (`verdicts`).
    pub(super) fn finish_successfully(&mut self, epochs: usize, verdicts: bool) {
        self.ordered_epochs = self.spec.has_placeholder("train.epochs").then_some(epochs);
        let is_scraped = !self.spec.scrape.is_empty() && !verdicts;
        if is_scraped && self.ordered_epochs.is_some() && self.epochs.len() > epochs {
            self.epochs = EpochRow::one_per_epoch(&self.epochs, epochs);
        }
    }

    fn diverge(&mut self, reason: String) {
        self.diverged.get_or_insert(reason);
    }

    fn count(&mut self, told: &Values) {
        self.parameters = told.parameters.unwrap_or(self.parameters);
        self.steps = told.steps.unwrap_or(self.steps);
        self.samples = told.samples.unwrap_or(self.samples);
    }

    /// Adds what the program reported at its end.
    ///
    /// # Errors
    /// A training loss or an epoch number, which belong to the event `epoch`; a sentence.
    pub(super) fn finished(&mut self, told: Values) -> Result<(), String> {
        if told.train_loss.is_some() || told.epoch.is_some() {
            return Err("`train_loss` and `epoch` belong to an `epoch`, not to `finished`".into());
        }
        self.count(&told);
        for (name, value) in told.metrics {
            if self.is_time(&name) {
                self.times.entry(name.clone()).or_default();
                self.end_times.extend(value.map(|value| (name, value)));
                continue;
            }
            self.metrics.insert(name, value);
        }
        self.check_values();
        Ok(())
    }

    /// Marks the run as diverged if a declared metric is not finite at the end.
    pub(super) fn check_values(&mut self) {
        let is_undefined = |name: &&String| match self.times.get(*name) {
            Some(values) => values.is_empty() && !self.end_times.contains_key(*name),
            None => self.metrics.get(*name).is_some_and(Option::is_none),
        };
        if let Some(name) = self.spec.metrics.keys().find(is_undefined) {
            self.diverge(format!("`{name}` was no finite number at the end"));
        }
    }

    /// Adds a value that was found in the output to the current row. A new row begins with a metric that the row
    /// already has, or with a training loss after another metric; the finished row is then returned. Training losses
    /// before other metrics are averaged.
    pub(super) fn scraped(&mut self, name: &str, value: f64) -> Option<EpochRow> {
        let is_loss = name == "train_loss";
        let averages = self.spec.scrape.len() > 1;
        let row = self.row.get_or_insert_default();
        let is_new = if is_loss {
            !row.metrics.is_empty() || (row.train_loss.is_some() && !averages)
        } else {
            row.metrics.iter().any(|(known, _)| known == name)
        };
        let finished = is_new.then(|| std::mem::take(row));
        if is_loss {
            if is_new {
                self.losses = Vec::new();
            }
            self.losses.push(value);
            let sum: f64 = self.losses.iter().sum();
            row.train_loss = Some(sum / self.losses.len() as f64);
        } else {
            row.metrics
                .push((name.to_owned(), value.is_finite().then_some(value)));
        }
        self.epoch(finished?).ok()
    }

    /// Finishes the row of the values that were scraped last; `None` if there is none.
    pub(super) fn last_scraped(&mut self) -> Option<EpochRow> {
        let row = self.row.take()?;
        self.epoch(row).ok()
    }

    /// Declared metrics that the program has not reported.
    pub(super) fn missing(&self) -> Vec<&str> {
        let names = self.spec.metrics.keys().map(String::as_str);
        let is_missing =
            |name: &&str| !self.metrics.contains_key(*name) && !self.times.contains_key(*name);
        names.filter(is_missing).collect()
    }

    /// Whether a metric is searched for in the output.
    pub(super) fn is_scraped(&self, name: &str) -> bool {
        self.spec.scrape.contains_key(name)
    }

    /// Facts and times of the whole run.
    pub(super) fn finish(
        self,
        exit: &Exit,
        threads: usize,
        numeric_class: String,
    ) -> (RunFacts, RunTimes) {
        let deciding = |row: &EpochRow| {
            let mut told = DECIDING_LOSSES.iter();
            let told = told.find_map(|name| row.validation.get(*name).copied().flatten());
            told.or(row.train_loss)
        };
        let losses = self.epochs.iter();
        let losses = losses.filter_map(|row| Some((row.epoch, deciding(row)?)));
        let best = losses.min_by(|one, other| one.1.total_cmp(&other.1));
        let mut metrics = self.metrics;
        for (name, metric) in &self.spec.metrics {
            let values = self.epochs.iter();
            let values = values.filter_map(|row| row.validation.get(name).copied().flatten());
            let values: Vec<f64> = values.collect();
            let best = match metric.better {
                Better::Lower => values.iter().copied().reduce(f64::min),
                Better::Higher => values.iter().copied().reduce(f64::max),
            };
            // The best `loss` is the fact `best_loss` already, unless the program reports `val_loss` or `test_loss`.
            if values.len() > 1 && name != "loss" {
                metrics.insert(format!("best_{name}"), best);
            }
        }
        let mut facts = RunFacts {
            diverged: self.diverged,
            parameters: self.parameters,
            steps: self.steps,
            samples: self.samples,
            // Values that were scraped only at the end form a single row, for any number of epochs.
            epochs: match (self.epochs.len(), self.ordered_epochs) {
                (0 | 1, Some(ordered)) => ordered,
                (told, _) => told,
            },
            best_epoch: best.map(|best| best.0),
            first_loss: self.epochs.first().and_then(|row| row.train_loss),
            final_loss: self.epochs.last().and_then(|row| row.train_loss),
            best_loss: best.map(|best| best.1),
            metrics,
            ..RunFacts::default()
        };
        let mut own: BTreeMap<String, f64> = self
            .times
            .into_iter()
            .filter_map(|(name, values)| Some((name, median(&values)?)))
            .collect();
        own.extend(self.end_times);
        let mut times = RunTimes {
            measured_steps: None,
            total_s: exit.seconds,
            threads,
            numeric_class,
            own,
            ..RunTimes::default()
        };
        self.observed.complete(&mut facts, &mut times);
        (facts, times)
    }
}
