//! [`WorkerProgram`]: spawns a worker, sends its job, reads its events, enforces limits, kills it.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::descendants;
use crate::base::os::{self, ExitInfo};
use crate::base::text::count;
use crate::device::DeviceKind;
use crate::event::{
    EpochRow, Event, Job, Profile, ProgramFiles, Pruned, Reply, RunOutcome, RunTimes, Sample,
    Status,
};
use crate::results::{cell_slug, move_times_to_fixed_columns};

use super::line::parse_event;
use super::outcome::{EndedByParent, Evidence, judge};
use super::pipes::{Replies, Stderr, feed, read_lines};
use super::{CpuShare, Launch};

/// Interval between checks of a worker that sends no output.
const POLL: Duration = Duration::from_millis(50);

/// First pause before checking whether a worker that closed its output has exited; each further pause is 1.5 times as long.
const FIRST_PAUSE: Duration = Duration::from_micros(100);

/// How long to wait for more of the remaining output of a worker that has exited. It is in the pipe already, but on a busy
/// machine the reader thread may be late; a process that the worker left may keep the pipe open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the remaining output is read at most: a process that the worker left may write without end.
const ALL_OUTPUT_TIMEOUT: Duration = Duration::from_mins(1);
/// Largest number of warnings of a run that are passed on.
const MOST_WARNINGS: usize = 100;

/// How long a worker may take to end after its program was killed, or to write the state of its training.
const WORKER_TIME: Duration = Duration::from_secs(10);

/// A program that speaks the worker protocol and executes one run: this one, called as `fieldtrial worker`.
#[derive(Debug)]
pub struct WorkerProgram {
    program: PathBuf,
    arguments: Vec<String>,
    /// Memory of the machine in bytes, if known: a run that is killed (SIGKILL) when its memory
    /// is near this counts as `oom`.
    machine_bytes: Option<u64>,
    /// Absolute path where runs of the first block write images of costly evaluations; `None` skips these evaluations.
    pub assess_into: Option<PathBuf>,
    /// Absolute path of the results folder, in which programs of `kind = "command"` have their working files and logs.
    pub results: Option<PathBuf>,
    /// Size in bytes below which a run writes its weights even if `train.save-to` is not set.
    pub keep_weights_below: u64,
}

impl WorkerProgram {
    /// The running executable as the worker program.
    ///
    /// # Errors
    /// The operating system cannot determine the program's path.
    pub fn running_executable(machine_bytes: Option<u64>) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self::new(program, vec!["worker".into()], machine_bytes))
    }

    /// Another program that speaks the protocol (another build of this one, or a test's).
    pub fn new(program: PathBuf, arguments: Vec<String>, machine_bytes: Option<u64>) -> Self {
        Self {
            program,
            arguments,
            machine_bytes,
            assess_into: None,
            results: None,
            keep_weights_below: 0,
        }
    }

    /// Starts the worker with pipes, in a separate process group.
    fn spawn(&self, threads: usize) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("RAYON_NUM_THREADS", threads.to_string())
            // With another workspace size cuBLAS may choose another summation order and give other bits. This is cuBLAS's
            // default size on current GPUs; setting it overrides the user's environment.
            .env("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            // This variable would override the TF32 setting of `train.precision`.
            .env_remove("NVIDIA_TF32_OVERRIDE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        os::in_own_group(&mut command);
        command.spawn()
    }

    /// Where the program of a run of `kind = "command"` has its files; `None` for built-in models.
    fn files(&self, job: &Job, share: CpuShare) -> Option<ProgramFiles> {
        let results = self.results.as_deref()?;
        job.spec.program.as_ref()?;
        let name = format!(
            "{}-seed{}-{}",
            cell_slug(&job.spec.key),
            job.id.seed,
            job.id.block
        );
        Some(ProgramFiles {
            folder: results.join("files").join(&name),
            log: results.join("logs").join(format!("{name}.log")),
            cores: share.cores,
        })
    }
}

/// The memory limit in bytes that a worker sets for itself; `None` for CUDA runs.
fn memory_limit(job: &Job) -> Option<u64> {
    let is_cpu = job.spec.train.device == DeviceKind::Cpu;
    job.spec.limits.memory.filter(|_| is_cpu)
}

impl Launch for WorkerProgram {
    fn launch(
        &self,
        job: &Job,
        share: CpuShare,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Event) -> Option<Pruned>,
    ) -> RunOutcome {
        let began = Instant::now();
        let mut child = match self.spawn(share.threads) {
            Ok(child) => child,
            Err(error) => {
                let reason = format!("cannot start a worker: {error}");
                return RunOutcome::empty(Status::Failed, reason);
            }
        };
        let grace = Duration::try_from_secs_f64(job.spec.limits.grace).unwrap_or_default();
        let duration = |seconds: Option<f64>| Duration::try_from_secs_f64(seconds?).ok();
        let files = self.files(job, share);
        let assess_into = self.assess_into.as_deref();
        let replies = feed(&mut child, job, assess_into, files, self.keep_weights_below);
        let stderr = Stderr::of(child.stderr.take());
        let mut watch = Watch {
            lines: read_lines(&mut child),
            child,
            replies,
            awaits_verdicts: job.awaits_replies(),
            began,
            deadline: duration(job.spec.limits.time),
            silence: duration(job.spec.limits.silence),
            last_heard: began,
            grace: job.spec.program.is_some().then_some(grace),
            kill_at: None,
            stop,
            heard: WorkerOutput::default(),
        };
        let ended = watch.read_until_exit(emit);
        watch.count_left_out(emit);
        drop(watch.replies.take());
        let stderr = stderr.text(OUTPUT_TIMEOUT);
        let memory = (memory_limit(job), self.machine_bytes);
        outcome(watch.heard, ended, stderr, memory, began)
    }
}

/// What the worker has reported so far: events, samples, and evidence of how the run ends.
#[derive(Default)]
struct WorkerOutput {
    evidence: Evidence,
    has_said_hello: bool,
    /// Whether the worker has saved its training state, and so can save it again before it ends.
    is_saving: bool,
    epochs: Vec<EpochRow>,
    samples: Vec<Sample>,
    profile: Option<Profile>,
    warnings: usize,
    bytes: u64,
}

struct Watch<'a> {
    child: Child,
    lines: Receiver<Vec<u8>>,
    /// The worker's stdin; kept open until the end, because a worker whose stdin closes exits.
    replies: Option<Replies>,
    awaits_verdicts: bool,
    began: Instant,
    deadline: Option<Duration>,
    /// Longest time without output of the worker.
    silence: Option<Duration>,
    last_heard: Instant,
    /// Time that the program of a command has to end after it was asked to; `None` for built-in models.
    grace: Option<Duration>,
    /// Time at which a worker that was asked to end its program is killed.
    kill_at: Option<Instant>,
    stop: &'a AtomicBool,
    heard: WorkerOutput,
}

impl Watch<'_> {
    /// Reads until the process has exited; kills it on time limit, Ctrl-C or a protocol violation.
    fn read_until_exit(&mut self, emit: &mut dyn FnMut(Event) -> Option<Pruned>) -> ExitInfo {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => self.hear(&line, emit),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(pause);
                    pause = (pause + pause / 2).min(POLL);
                }
            }
            match os::wait_without_blocking(&mut self.child) {
                Ok(Some(ended)) => {
                    if self.grace.is_some() {
                        // A worker that was killed could not end its program; the program is in the worker's process
                        // group.
                        descendants::end_group_of(self.child.id());
                    }
                    self.read_remaining(emit);
                    return ended;
                }
                Ok(None) => self.end_if_due(),
                Err(_) => return ExitInfo::default(),
            }
        }
    }

    /// Reads the lines that were written before the exit and are still in the pipe.
    fn read_remaining(&mut self, emit: &mut dyn FnMut(Event) -> Option<Pruned>) {
        let exited = Instant::now();
        while exited.elapsed() < ALL_OUTPUT_TIMEOUT
            && let Ok(line) = self.lines.recv_timeout(OUTPUT_TIMEOUT)
        {
            self.hear(&line, emit);
        }
        // A pipe that is still open is held by another process of the worker's group.
        descendants::end_group_of(self.child.id());
    }

    /// Emits a warning that says how many warnings were not passed on.
    fn count_left_out(&self, emit: &mut dyn FnMut(Event) -> Option<Pruned>) {
        if let Some(more @ 1..) = self.heard.warnings.checked_sub(MOST_WARNINGS) {
            let message = format!("not shown: {}", count(more, "further warning"));
            emit(Event::Warning { message });
        }
    }

    fn end_if_due(&mut self) {
        if self.heard.evidence.by_parent.is_some() {
            if self.kill_at.is_some_and(|time| Instant::now() >= time) {
                self.kill_at = None;
                os::kill_group(&mut self.child);
            }
            return;
        }
        let is_late = self.deadline.filter(|&limit| self.began.elapsed() >= limit);
        if self.stop.load(Ordering::SeqCst) {
            self.end(EndedByParent::Interrupted);
        } else if let Some(limit) = is_late {
            self.end(EndedByParent::Timeout(limit));
        } else if let Some(limit) = self
            .silence
            .filter(|&limit| self.last_heard.elapsed() >= limit)
        {
            self.end(EndedByParent::Silence(limit));
        }
    }

    /// Kills the worker. The worker of a command is asked to end its program first; a worker that writes training
    /// states is asked to write a last one.
    fn end(&mut self, why: EndedByParent) {
        let saves = self.heard.is_saving && !matches!(why, EndedByParent::Silence(_));
        let grace = self.grace.or(saves.then_some(Duration::ZERO));
        let grace = grace.filter(|_| !matches!(why, EndedByParent::Protocol(_)));
        self.heard.evidence.by_parent = Some(why);
        match (grace, &self.replies) {
            (Some(grace), Some(replies)) => {
                replies.send(&Reply::End);
                self.kill_at = Some(Instant::now() + grace + WORKER_TIME);
            }
            _ => os::kill_group(&mut self.child),
        }
    }

    fn hear(&mut self, line: &[u8], emit: &mut dyn FnMut(Event) -> Option<Pruned>) {
        if self.heard.evidence.by_parent.is_some() {
            return;
        }
        self.last_heard = Instant::now();
        match parse_event(line, self.heard.has_said_hello) {
            Ok(Event::Alive) => {}
            Ok(event) => {
                // A profile is not part of the run's record, so it does not count in `log_bytes`.
                if !matches!(event, Event::Profile(_)) {
                    self.heard.bytes += line.len() as u64;
                }
                self.heard.note(&event);
                if matches!(event, Event::Warning { .. }) && self.heard.warnings > MOST_WARNINGS {
                    return;
                }
                let waits = self.awaits_verdicts && matches!(event, Event::Epoch(_));
                let pruned = emit(event);
                if waits {
                    if let Some(replies) = &self.replies {
                        replies.send(&pruned.as_ref().map_or(Reply::Continue, |_| Reply::Stop));
                    }
                    if pruned.is_some() {
                        self.heard.evidence.pruned = pruned;
                    }
                }
            }
            Err(fault) => self.end(EndedByParent::Protocol(fault)),
        }
    }
}

impl WorkerOutput {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Hello { .. } => self.has_said_hello = true,
            Event::Saved { .. } => self.is_saving = true,
            Event::Epoch(row) => self.epochs.push(row.as_ref().clone()),
            Event::Sample(sample) => self.samples.push(sample.clone()),
            Event::Profile(profile) => self.profile = Some(profile.as_ref().clone()),
            Event::Warning { .. } => self.warnings += 1,
            Event::Finished { facts, times } => {
                self.evidence.finished = Some((facts.as_ref().clone(), times.as_ref().clone()));
            }
            Event::Failed { status, reason } => {
                let failed = Some((*status, reason.clone()));
                (self.evidence.finished, self.evidence.failed) = (None, failed);
            }
            Event::Started { .. }
            | Event::Resumed { .. }
            | Event::Progress { .. }
            | Event::Assessing { .. }
            | Event::Alive => {}
        }
    }
}

fn outcome(
    heard: WorkerOutput,
    ended: ExitInfo,
    stderr: String,
    (limit_bytes, machine_bytes): (Option<u64>, Option<u64>),
    began: Instant,
) -> RunOutcome {
    let mut evidence = Evidence {
        ended,
        stderr,
        limit_bytes,
        machine_bytes,
        ..heard.evidence
    };
    if let Some((_, times)) = &mut evidence.finished {
        times.log_bytes = Some(heard.bytes);
        move_times_to_fixed_columns(times);
    }
    let (status, reason) = judge(&evidence);
    let pruned = evidence.pruned.filter(|_| status == Status::Pruned);
    let (facts, times) = evidence.finished.unzip();
    let of_worker = ended.peak_rss_bytes;
    let earlier_s = times.as_ref().and_then(|times| times.resumed_after_s);
    // For `kind = "command"`, the memory of the user's program is measured, and not that of its worker.
    let is_of_command = times
        .as_ref()
        .is_some_and(RunTimes::are_reported_by_program);
    let peak = own_peak(times.as_ref()).max(of_worker.filter(|_| !is_of_command));
    let mut epochs = heard.epochs;
    if let Some(facts) = facts.as_ref().filter(|_| is_of_command)
        && epochs.len() > facts.epochs
    {
        epochs = EpochRow::one_per_epoch(&epochs, facts.epochs);
    }
    RunOutcome {
        pruned,
        facts,
        times,
        epochs,
        samples: heard.samples,
        profile: heard.profile,
        stderr: evidence.stderr,
        wall_s: began.elapsed().as_secs_f64() + earlier_s.unwrap_or(0.0),
        peak_rss_bytes: peak,
        cpu_s: ended.cpu_s,
        ..RunOutcome::empty(status, reason)
    }
}

/// The worker resets the kernel's peak-memory counter between training and validation and reports the peak of each.
fn own_peak(times: Option<&RunTimes>) -> Option<u64> {
    let times = times?;
    times.peak_train_bytes.max(times.peak_validation_bytes)
}
