//! [`RequestedRuns`]: the runs that the parent requests, one after the other.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::ab::{OfferedRun, RunName, SideRequest};
use crate::event::{Job, RunId};
use crate::execute::{Source, SourceItem};
use crate::plan::{CellSpec, PlannedCell};

/// A queue of runs that blocks until the parent requests the next run.
#[derive(Debug)]
pub(super) struct RequestedRuns {
    names: Receiver<RunName>,
    jobs: HashMap<RunName, Job>,
}

impl RequestedRuns {
    /// Reads stdin on a thread; the flag is set when the current run must stop.
    pub(super) fn listen(cells: &[PlannedCell], runs: &[OfferedRun]) -> (Self, Arc<AtomicBool>) {
        let (sender, asked) = mpsc::channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        thread::spawn(move || listen(io::stdin().lock(), &sender, &stop));
        let specs = cells.iter().map(|cell| Arc::new(cell.spec.clone()));
        let rows = specs
            .enumerate()
            .map(|(row, spec)| (spec.key.clone(), (row, spec)));
        let rows: HashMap<String, (usize, Arc<CellSpec>)> = rows.collect();
        let job = |OfferedRun {
                       name, estimated_s, ..
                   }: &OfferedRun| {
            let (cell, spec) = rows.get(&name.key)?;
            let job = Job {
                id: RunId {
                    cell: *cell,
                    seed: name.seed,
                    block: name.block,
                },
                spec: Arc::clone(spec),
                estimated_s: *estimated_s,

                // Runs of pairs are never resumed, since their times would not be comparable.
                resume: None,
                trial: None,
            };
            Some((name.clone(), job))
        };
        let source = Self {
            names: asked,
            jobs: runs.iter().filter_map(job).collect(),
        };
        (source, is_stopped)
    }
}

impl Source for RequestedRuns {
    /// Returns 0, because the number is unknown: the parent decides how many runs follow.
    fn remaining(&self) -> usize {
        0
    }

    fn next(&mut self) -> Option<SourceItem> {
        loop {
            let name = self.names.recv().ok()?;
            // A run that was not offered is ignored; the parent requests only offered runs.
            if let Some(job) = self.jobs.get(&name) {
                return Some(SourceItem::Run(job.clone()));
            }
        }
    }
}

/// Passes runs on until the parent finishes, stops, or is gone.
fn listen(input: impl BufRead, runs: &Sender<RunName>, stop: &AtomicBool) {
    for line in input.lines() {
        let turn = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        match turn {
            Some(SideRequest::Run(name)) => {
                if runs.send(name).is_err() {
                    return;
                }
            }
            Some(SideRequest::Finish) => return,
            Some(SideRequest::Stop) | None => break,
        }
    }
    stop.store(true, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of runs that were passed on, and whether a stop was requested.
    fn heard(input: &str) -> (usize, bool) {
        let (sender, receiver) = mpsc::channel();
        let stop = AtomicBool::new(false);
        listen(input.as_bytes(), &sender, &stop);
        drop(sender);
        (receiver.iter().count(), stop.into_inner())
    }

    #[test]
    fn finish_ends_the_queue_and_a_closed_stdin_stops_the_run() {
        let run = r#"{"run":{"key":"k","seed":1,"block":0}}"#;
        assert_eq!(
            heard(&format!("{run}\n{run}\n\"finish\"\n{run}\n")),
            (2, false)
        );
        assert_eq!(heard(&format!("{run}\n\"stop\"\n")), (1, true));
        assert_eq!(heard(&format!("{run}\n")), (1, true));
        assert_eq!(heard("nonsense\n"), (0, true));
    }
}
