//! [`Show`]: how much of a run is printed, and the lines that are printed only on request.

use std::collections::HashMap;

use crate::base::units::{human, human_seconds};
use crate::event::{EpochRow, Event, RunEvent, RunId, RunOutcome};

use super::line::{Names, stderr_lines, stderr_tail};

/// Output during runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Show {
    /// Level of text for people, on standard error.
    pub detail: Detail,
    /// Whether every event is also printed on standard output as a line of JSON.
    pub events: bool,
}

/// Amount of text printed for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// Only warnings and failed runs.
    Quiet,
    /// Also a line for each finished run, and the summary.
    #[default]
    Normal,
    /// Also the start of each run, each epoch, and all standard error of the worker.
    Verbose,
}

impl Detail {
    /// The lines of a worker's standard error that are printed after its end.
    pub(super) fn words(self, outcome: &RunOutcome) -> Vec<&str> {
        if self < Self::Verbose {
            stderr_tail(outcome)
        } else {
            stderr_lines(outcome)
        }
    }
}

/// Formats starts of runs and epochs, if they are requested.
#[derive(Debug)]
pub(super) struct Details {
    detail: Detail,
    names: HashMap<RunId, String>,
}

impl Details {
    pub(super) fn new(detail: Detail) -> Self {
        Self {
            detail,
            names: HashMap::new(),
        }
    }

    pub(super) fn line(&mut self, event: &RunEvent<'_>, names: &Names) -> Option<String> {
        if self.detail < Detail::Verbose {
            return None;
        }
        match event {
            RunEvent::RunStarted { job, .. } => {
                let name = names.name(job);
                let expected = job.estimated_s.map_or_else(
                    || "no estimate".to_owned(),
                    |seconds| format!("estimated {}", human_seconds(seconds)),
                );
                self.names.insert(job.id, name.clone());
                Some(format!("starts  {name}  {expected}"))
            }
            RunEvent::Worker {
                id,
                event: Event::Epoch(row),
            } => {
                let name = self.names.get(id)?;
                Some(format!("epoch {}  {name}  {}", row.epoch + 1, losses(row)))
            }
            RunEvent::RunEnded { job, .. } => {
                self.names.remove(&job.id);
                None
            }
            _ => None,
        }
    }
}

/// `train_loss 0.118  val_loss 0.121`
fn losses(row: &EpochRow) -> String {
    let shown = |value: Option<f64>| value.map_or("not finite".to_owned(), |v| human(v, 3));
    let mut all = vec![format!("train_loss {}", shown(row.train_loss))];
    let validation = row.validation.iter();
    all.extend(validation.map(|(name, value)| format!("{name} {}", shown(*value))));
    all.join("  ")
}
