//! `tensorboard/`: losses, metrics, throughput and phases of every run as event files. Not in git.
//!
//! Steps count over the whole run, from 0. Times are seconds since the worker's first instruction: start-up time plus
//! the times of the steps before, without validation, so that equal measurements give equal bytes.

mod wire;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::event::{EpochRow, RunFacts, RunTimes, StepRow};

use super::ResultsError;
use super::files::{create_folder, replace};
use super::slug::cell_slug;
use wire::{record, scalar_event, version_event};

/// File name; `TensorBoard` recognises event files by `tfevents` in their names.
const NAME: &str = "events.out.tfevents.0.fieldtrial";

/// The content of one run's event file.
#[derive(Debug, Clone, Copy)]
pub struct RunScalars<'a> {
    /// Epochs of the run.
    pub epochs: &'a [EpochRow],
    /// Steps of each epoch.
    pub steps: &'a [Vec<StepRow>],
    /// Facts of the run.
    pub facts: Option<&'a RunFacts>,
    /// Times of the run.
    pub times: Option<&'a RunTimes>,
}

/// Path of a run's event file, relative to the results folder.
pub fn event_file(key: &str, seed: u64, block: usize) -> PathBuf {
    let cell = cell_slug(key);
    format!("tensorboard/{cell}/seed-{seed}-block-{block}/{NAME}").into()
}

/// Writes the event file of a run to `path`.
///
/// # Errors
/// [`ResultsError::System`]; the old file is unchanged then.
pub fn write_events(path: &Path, run: RunScalars<'_>) -> Result<(), ResultsError> {
    create_folder(path.parent().unwrap_or(Path::new(".")))?;
    replace(path, |file| {
        let mut out = BufWriter::new(file);
        write_scalars(&mut out, run)?;
        out.flush()
    })
}

/// Removes event files of runs that are not in `known`, and folders that are empty afterwards.
pub fn remove_other_events(results: &Path, known: &[PathBuf]) {
    let list = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let known: BTreeSet<PathBuf> = known.iter().map(|path| results.join(path)).collect();
    for cell in list(&results.join("tensorboard")) {
        for run in list(&cell) {
            let file = run.join(NAME);
            let is_known = known.contains(&file);
            // Failures are ignored; `remove_dir` fails, as intended, unless the folder is empty.
            if !is_known && fs::remove_file(file).is_ok() {
                let _ = fs::remove_dir(run);
            }
        }
        let _ = fs::remove_dir(cell);
    }
}

fn write_scalars(out: &mut impl Write, run: RunScalars<'_>) -> io::Result<()> {
    out.write_all(&record(&version_event()))?;
    let mut seconds = run.times.map_or(0.0, |times| times.startup_s);
    let mut step = 0;
    for (place, epoch) in run.epochs.iter().enumerate() {
        for row in run.steps.get(place).into_iter().flatten() {
            seconds += row.step_ms / 1000.0;
            write(out, (seconds, step), &[("loss/step", row.loss)])?;
            step += 1;
        }
        write(out, (seconds, step.saturating_sub(1)), &of_epoch(epoch))?;
    }
    write(out, (seconds, step.saturating_sub(1)), &at_the_end(run))
}

/// Writes the values of a step as one event. Missing and non-finite values are left out: `TensorBoard` would draw them
/// at 0.
fn write<T: AsRef<str>>(
    out: &mut impl Write,
    (seconds, step): (f64, u64),
    values: &[(T, Option<f64>)],
) -> io::Result<()> {
    let there = values.iter().filter_map(|(tag, value)| {
        let value = value.filter(|value| value.is_finite())?;
        Some((tag.as_ref(), value))
    });
    let there: Vec<(&str, f64)> = there.collect();
    if there.is_empty() {
        return Ok(());
    }
    out.write_all(&record(&scalar_event(seconds, step, &there)))
}

fn of_epoch(epoch: &EpochRow) -> Vec<(String, Option<f64>)> {
    let mut values = vec![
        ("loss/epoch".to_owned(), epoch.train_loss),
        ("learning-rate".to_owned(), epoch.lr),
    ];
    let metrics = epoch.validation.iter();
    values.extend(metrics.map(|(name, value)| (format!("validation/{name}"), *value)));
    values
}

fn at_the_end(run: RunScalars<'_>) -> Vec<(String, Option<f64>)> {
    let metrics = run.facts.into_iter().flat_map(|facts| &facts.metrics);
    let metrics = metrics.map(|(name, value)| (format!("end/{name}"), *value));
    let mut values: Vec<(String, Option<f64>)> = metrics.collect();
    if let Some(times) = run.times {
        let phases = &times.phases;
        // A program of the user may leave out times.
        let is_whole = !times.are_reported_by_program();
        let times = [
            ("throughput/samples_per_s", times.samples_per_s),
            ("throughput/step_ms", times.step_ms),
            ("phases/data_wait_ms", phases.data_wait_ms),
            ("phases/transfer_ms", phases.transfer_ms),
            ("phases/forward_ms", phases.forward_ms),
            ("phases/loss_ms", phases.loss_ms),
            ("phases/backward_ms", phases.backward_ms),
            ("phases/optimizer_ms", phases.optimizer_ms),
            ("phases/other_ms", phases.other_ms),
        ];
        let times = times
            .into_iter()
            .filter(|(_, value)| is_whole || *value != 0.0);
        values.extend(times.map(|(tag, value)| (tag.to_owned(), Some(value))));
    }
    values
}

#[cfg(test)]
mod tests;
