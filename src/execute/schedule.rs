//! [`run`]: which run starts when, in which slot, with how many threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::device::DeviceKind;
use crate::event::{Event, Job, RunEvent, RunId, RunOutcome, StopReason};

use super::Launch;

/// Whoever looks on; its error ends everything.
pub type Sink<'a, E> = &'a mut dyn FnMut(RunEvent<'_>) -> Result<(), E>;

/// Longest time without an event; then comes a [`RunEvent::Tick`].
const TICK: Duration = Duration::from_millis(50);

/// How runs share the machine, and when to give up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Runs at one time. With 1 every run has the machine for itself.
    pub jobs: usize,
    /// Cores of the machine, divided among the slots.
    pub cores: usize,
    /// Failed runs after which no further one starts.
    pub max_failures: Option<usize>,
}

/// What came of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Runs that ended by themselves, well or badly.
    pub ended: usize,
    /// Of these, runs with a status that makes the exit code 1.
    pub failed: usize,
    /// Runs that were not begun, or broken off.
    pub left: usize,
    /// Why no further run started, where something stopped it.
    pub stopped: Option<StopReason>,
}

/// Does all runs of `source`, `options.jobs` at a time, and hands every event to `sink`.
///
/// `interrupted` is set from outside (Ctrl-C): workers are ended then, and their runs count as not run.
///
/// # Errors
/// The sink's; running workers are ended first.
pub fn run<E>(
    source: &mut dyn Iterator<Item = Job>,
    launcher: &dyn Launch,
    options: &Options,
    interrupted: &AtomicBool,
    sink: Sink<'_, E>,
) -> Result<Summary, E> {
    let (sender, receiver) = mpsc::channel();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut schedule = Schedule {
            source,
            held: Vec::new(),
            running: vec![None; options.jobs.max(1)],
            summary: Summary::default(),
            options,
            launcher,
            interrupted,
            stop: &stop,
            sender,
            scope,
        };
        let outcome = schedule.drive(&receiver, sink);
        // The scope waits for the slots' threads: a failed sink must not wait for training.
        stop.store(true, Ordering::SeqCst);
        outcome
    })
}

enum Message {
    Worker(RunId, Event),
    Ended(usize, Box<RunOutcome>),
}

struct Schedule<'scope, 'env> {
    source: &'env mut dyn Iterator<Item = Job>,
    /// Runs taken from the source whose GPU is busy.
    held: Vec<Job>,
    running: Vec<Option<Job>>,
    summary: Summary,
    options: &'env Options,
    launcher: &'env dyn Launch,
    interrupted: &'env AtomicBool,
    stop: &'env AtomicBool,
    sender: Sender<Message>,
    scope: &'scope Scope<'scope, 'env>,
}

impl<'scope, 'env: 'scope> Schedule<'scope, 'env> {
    fn drive<E>(&mut self, receiver: &Receiver<Message>, sink: Sink<'_, E>) -> Result<Summary, E> {
        sink(RunEvent::Start {
            runs: self.source.size_hint().0,
            slots: self.running.len(),
        })?;
        loop {
            self.look_for_a_stop(sink)?;
            self.fill_slots(sink)?;
            if self.running.iter().all(Option::is_none) {
                break;
            }
            match receiver.recv_timeout(TICK) {
                Ok(Message::Worker(id, event)) => sink(RunEvent::Worker { id, event: &event })?,
                Ok(Message::Ended(slot, outcome)) => self.end(slot, &outcome, sink)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    sink(RunEvent::Tick)?;
                }
            }
        }
        self.summary.left += self.held.len();
        if self.summary.stopped.is_some() {
            self.summary.left += self.source.size_hint().0;
        }
        sink(RunEvent::End {
            left: self.summary.left,
        })?;
        Ok(self.summary)
    }

    fn look_for_a_stop<E>(&mut self, sink: Sink<'_, E>) -> Result<(), E> {
        if self.summary.stopped == Some(StopReason::Interrupted) {
            return Ok(());
        }
        let failures = self
            .options
            .max_failures
            .filter(|&n| self.summary.failed >= n);
        let reason = if self.interrupted.load(Ordering::SeqCst) {
            self.stop.store(true, Ordering::SeqCst);
            StopReason::Interrupted
        } else if let (Some(limit), None) = (failures, self.summary.stopped) {
            StopReason::Failures { limit }
        } else {
            return Ok(());
        };
        self.summary.stopped = Some(reason);
        let running = self.running.iter().flatten().count();
        sink(RunEvent::Stopping { reason, running })
    }

    fn fill_slots<E>(&mut self, sink: Sink<'_, E>) -> Result<(), E> {
        if self.summary.stopped.is_some() {
            return Ok(());
        }
        while let Some(slot) = self.running.iter().position(Option::is_none) {
            let Some(job) = self.next_job() else { break };
            sink(RunEvent::RunStarted { job: &job, slot })?;
            self.start(job, slot);
        }
        Ok(())
    }

    /// The next run whose GPU is free; a GPU has one run at a time.
    ///
    /// The source is asked as late as possible: a search proposes from what has ended so far.
    fn next_job(&mut self) -> Option<Job> {
        if let Some(place) = self.held.iter().position(|job| self.is_free(job)) {
            return Some(self.held.remove(place));
        }
        while self.held.len() < self.running.len() {
            let job = self.source.next()?;
            if self.is_free(&job) {
                return Some(job);
            }
            self.held.push(job);
        }
        None
    }

    fn is_free(&self, job: &Job) -> bool {
        let device = job.spec.train.device;
        let mut running = self.running.iter().flatten();
        device == DeviceKind::Cpu || !running.any(|other| other.spec.train.device == device)
    }

    fn start(&mut self, job: Job, slot: usize) {
        self.running[slot] = Some(job.clone());
        let threads = self.threads(&job);
        let (launcher, stop, sender) = (self.launcher, self.stop, self.sender.clone());
        self.scope.spawn(move || {
            let mut emit = |event| drop(sender.send(Message::Worker(job.id, event)));
            let outcome = launcher.launch(&job, threads, stop, &mut emit);
            // Fails only when nobody listens any more: the sink failed.
            drop(sender.send(Message::Ended(slot, Box::new(outcome))));
        });
    }

    /// What the cell asks for, else its share of the cores.
    fn threads(&self, job: &Job) -> usize {
        let share = (self.options.cores / self.running.len()).max(1);
        job.spec.train.threads.unwrap_or(share)
    }

    fn end<E>(&mut self, slot: usize, outcome: &RunOutcome, sink: Sink<'_, E>) -> Result<(), E> {
        let Some(job) = self.running[slot].take() else {
            return Ok(());
        };
        if outcome.is_finished() {
            self.summary.ended += 1;
            self.summary.failed += usize::from(outcome.status.is_failure());
        } else {
            self.summary.left += 1;
        }
        sink(RunEvent::RunEnded { job: &job, outcome })
    }
}
