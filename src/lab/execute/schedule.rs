//! [`run`]: which run starts when, in which slot, with how many threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::device::DeviceKind;
use crate::event::{Event, Job, Pruned, RunEvent, RunId, RunOutcome, StopReason};

use crate::results::store::RunConditions;

use super::{CpuShare, Launch, Source, SourceItem};

/// Receives all events; its error ends all runs.
pub type EventSink<'a, E> = &'a mut dyn FnMut(RunEvent<'_>) -> Result<(), E>;

/// Longest time without an event; then a [`RunEvent::Tick`] is sent.
const TICK: Duration = Duration::from_millis(50);

/// Summary of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Number of runs that ended by themselves, successfully or not.
    pub ended: usize,
    /// Number of ended runs whose status makes the exit code 1.
    pub failed: usize,
    /// Number of runs that were not started, or were interrupted.
    pub left: usize,
    /// Number of runs that were not needed, because the times of their cells are precise.
    pub not_needed: usize,
    /// Why no further run started, if the schedule was stopped early.
    pub stopped: Option<StopReason>,
}

/// Executes all runs of `source`, `conditions.jobs` at a time, and passes every event to `sink`. No further run starts
/// after `max_failures` failed runs.
///
/// `interrupted` is set from outside (Ctrl-C): then workers are killed, and their runs have no result.
///
/// # Errors
/// Errors of `sink`; running workers are killed first.
pub fn run<E>(
    source: &mut dyn Source,
    launcher: &dyn Launch,
    (conditions, max_failures): (&RunConditions, Option<usize>),
    interrupted: &AtomicBool,
    sink: EventSink<'_, E>,
) -> Result<Summary, E> {
    let (sender, receiver) = mpsc::channel();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = StopOnDrop(&stop);
        let mut schedule = Schedule {
            source,
            held: Vec::new(),
            running: vec![None; conditions.jobs.max(1)],
            summary: Summary::default(),
            conditions,
            max_failures,
            launcher,
            interrupted,
            stop: &stop,
            sender,
            scope,
            last_tick: Instant::now(),
        };
        schedule.drive(&receiver, sink)
    })
}

/// Sets the stop flag when dropped. The thread scope waits for the slots' threads; after a failed sink or a panic it must
/// not wait for training, or for a verdict that will never come.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

enum Message {
    /// An event of a run, and the channel on which its worker waits for the verdict, if it does.
    Worker(RunId, Event, Option<SyncSender<Option<Pruned>>>),
    /// The outcome of a slot's run, or the panic of its thread.
    Ended(usize, thread::Result<Box<RunOutcome>>),
}

struct Schedule<'scope, 'env> {
    source: &'env mut dyn Source,
    /// Runs taken from the source that wait for their GPU.
    held: Vec<Job>,
    running: Vec<Option<Job>>,
    summary: Summary,
    conditions: &'env RunConditions,
    max_failures: Option<usize>,
    launcher: &'env dyn Launch,
    interrupted: &'env AtomicBool,
    stop: &'env AtomicBool,
    sender: Sender<Message>,
    scope: &'scope Scope<'scope, 'env>,
    last_tick: Instant,
}

impl<'scope, 'env: 'scope> Schedule<'scope, 'env> {
    fn drive<E>(
        &mut self,
        receiver: &Receiver<Message>,
        sink: EventSink<'_, E>,
    ) -> Result<Summary, E> {
        sink(RunEvent::Start {
            runs: self.source.remaining(),
            slots: self.running.len(),
        })?;
        loop {
            self.check_for_stop(sink)?;
            let was_kept = self.fill_slots(sink)?;
            if !was_kept && self.running.iter().all(Option::is_none) {
                break;
            }
            // After a kept trial the next item follows at once: there may be thousands of kept trials.
            let wait = if was_kept { Duration::ZERO } else { TICK };
            match receiver.recv_timeout(wait) {
                Ok(message) => self.handle(message, sink)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    self.tick(sink)?;
                }
            }
        }
        self.summary.left += self.held.len();
        if self.summary.stopped.is_some() {
            self.summary.left += self.source.remaining();
        }
        sink(RunEvent::End {
            left: self.summary.left,
        })?;
        Ok(self.summary)
    }

    fn handle<E>(&mut self, message: Message, sink: EventSink<'_, E>) -> Result<(), E> {
        match message {
            Message::Worker(id, event, answer) => {
                if let (Event::Epoch(row), Some(answer)) = (&event, answer) {
                    // Sending fails only if the run has been interrupted.
                    let _ = answer.send(self.source.verdict(id, row));
                }
                sink(RunEvent::Worker { id, event: &event })
            }
            Message::Ended(slot, Ok(outcome)) => self.end(slot, &outcome, sink),
            Message::Ended(_, Err(panic)) => panic::resume_unwind(panic),
        }
    }

    fn tick<E>(&mut self, sink: EventSink<'_, E>) -> Result<(), E> {
        if self.last_tick.elapsed() < TICK {
            return Ok(());
        }
        self.last_tick = Instant::now();
        sink(RunEvent::Tick)
    }

    fn check_for_stop<E>(&mut self, sink: EventSink<'_, E>) -> Result<(), E> {
        if self.summary.stopped == Some(StopReason::Interrupted) {
            return Ok(());
        }
        let limit = self.max_failures;
        let failures = limit.filter(|&limit| self.summary.failed >= limit);
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

    /// Starts runs until nothing more can start before one ends. Returns early with true for a trial that was already
    /// finished, or a run that is not needed: the next one may follow at once.
    fn fill_slots<E>(&mut self, sink: EventSink<'_, E>) -> Result<bool, E> {
        let free = |running: &[Option<Job>]| running.iter().position(Option::is_none);
        while let (Some(slot), None) = (free(&self.running), self.summary.stopped) {
            match self.next() {
                None => break,
                Some(SourceItem::Run(job)) => {
                    sink(RunEvent::RunStarted { job: &job, slot })?;
                    self.start(job, slot);
                }
                Some(SourceItem::Kept(trial)) => {
                    sink(RunEvent::Kept(&trial))?;
                    return Ok(true);
                }
                Some(SourceItem::NotNeeded(job)) => {
                    sink(RunEvent::NotNeeded { job: &job })?;
                    self.summary.not_needed += 1;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The next run whose GPU is free (a GPU executes one run at a time), or the next kept trial.
    ///
    /// The source is queried as late as possible, since a search proposes from the results so far.
    fn next(&mut self) -> Option<SourceItem> {
        if let Some(place) = self.held.iter().position(|job| self.is_free(job)) {
            return Some(SourceItem::Run(self.held.remove(place)));
        }
        while self.held.len() < self.running.len() {
            match self.source.next()? {
                SourceItem::Run(job) if !self.is_free(&job) => self.held.push(job),
                next => return Some(next),
            }
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
        let own = self.conditions.cores_per_run();
        let share = CpuShare {
            threads: self.conditions.threads(&job.spec),
            cores: (self.conditions.jobs > 1).then_some((slot * own, own)),
        };
        let (launcher, stop, sender) = (self.launcher, self.stop, self.sender.clone());
        let awaits_verdicts = job.awaits_replies();
        self.scope.spawn(move || {
            let mut emit = |event| {
                if awaits_verdicts && matches!(event, Event::Epoch(_)) {
                    return ask(&sender, job.id, event, stop);
                }
                drop(sender.send(Message::Worker(job.id, event, None)));
                None
            };
            let launch = || Box::new(launcher.launch(&job, share, stop, &mut emit));
            // The schedule would wait forever for a thread that panicked, for example when the system cannot create the
            // threads for its pipes.
            let outcome = panic::catch_unwind(AssertUnwindSafe(launch));
            // Sending fails only if the receiver is gone, because the sink failed.
            drop(sender.send(Message::Ended(slot, outcome)));
        });
    }

    fn end<E>(
        &mut self,
        slot: usize,
        outcome: &RunOutcome,
        sink: EventSink<'_, E>,
    ) -> Result<(), E> {
        let Some(mut job) = self.running[slot].take() else {
            return Ok(());
        };
        if outcome.is_finished() {
            self.summary.ended += 1;
            self.summary.failed += usize::from(outcome.status.is_failure());
        } else {
            self.summary.left += 1;
        }
        self.source.ended(&mut job, outcome);
        sink(RunEvent::RunEnded { job: &job, outcome })
    }
}

/// Waits for the verdict, unless the schedule is stopping: then no reply comes, and the run is killed anyway.
fn ask(sender: &Sender<Message>, id: RunId, event: Event, stop: &AtomicBool) -> Option<Pruned> {
    let (answer, verdict) = mpsc::sync_channel(1);
    drop(sender.send(Message::Worker(id, event, Some(answer))));
    loop {
        match verdict.recv_timeout(TICK) {
            Ok(verdict) => return verdict,
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::SeqCst) => {}
            Err(_) => return None,
        }
    }
}
