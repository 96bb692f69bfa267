//! [`Process`]: a program with all its child processes.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::output::Output;
use crate::base::descendants::{self, EndSignal};
use crate::event::FailedStatus;

/// Interval at which the memory of all processes is summed.
const MEMORY_EVERY: Duration = Duration::from_millis(500);

/// Least ratio of the interval between two sums of memory to the time that a sum takes, which grows with the number of
/// processes on the machine. With 200, at least 99.5 % of a core is left to the program.
const SHARE: u32 = 200;

/// Time that is given to the program's remaining processes to end by themselves, like Python's resource tracker after
/// `mp.spawn`.
const LEAVE_TIME: Duration = Duration::from_secs(1);

/// Longest time to wait for killed processes to end.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Words in the last line of a program that ran out of memory.
const OUT_OF_MEMORY: [&str; 5] = [
    "MemoryError",
    "DefaultCPUAllocator",
    "std::bad_alloc",
    "CUDA out of memory",
    "OutOfMemoryError",
];

/// A running program with its child processes.
#[derive(Debug)]
pub(super) struct Process {
    exits: Receiver<(ExitStatus, Instant)>,
    began: Instant,
    /// Largest observed sum of the memory of all processes, in bytes.
    peak_bytes: u64,
    next_sample: Instant,
}

/// How a program ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    status: ExitStatus,
    /// Seconds from the program's start to its exit.
    pub(super) seconds: f64,
}

impl Process {
    /// Starts `command` in this process's group; its output goes to `output`. Orphaned descendants are re-parented to
    /// this process. No `pre_exec` hook is used: it would add 0.4 ms to the program's time.
    pub(super) fn start(mut command: Command, output: &mut Output) -> std::io::Result<Self> {
        descendants::adopt_orphans();
        let (stdout, stderr) = output.writers()?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let (sender, exits) = mpsc::channel();
        let (started, is_started) = mpsc::channel();
        // A separate thread waits for the exit, so that its time is exact.
        thread::spawn(move || {
            let began = Instant::now();
            let child = command.spawn();
            drop(command);
            match child {
                Ok(mut child) => {
                    let _ = started.send(Ok(began));
                    if let Ok(status) = child.wait() {
                        let _ = sender.send((status, Instant::now()));
                    }
                }
                Err(error) => drop(started.send(Err(error))),
            }
        });
        let gone = || std::io::Error::other("the thread that starts it ended");
        let began = is_started.recv().unwrap_or_else(|_| Err(gone()))?;
        Ok(Self {
            exits,
            began,
            peak_bytes: 0,
            next_sample: began + MEMORY_EVERY,
        })
    }

    /// Waits at most `time` for the program's exit; `None` if the program still runs.
    pub(super) fn exited(&mut self, time: Duration) -> Option<Exit> {
        let (status, at) = self.exits.recv_timeout(time).ok().or_else(|| {
            self.sample_memory();
            None
        })?;
        let seconds = at.duration_since(self.began).as_secs_f64();
        Some(Exit { status, seconds })
    }

    fn sample_memory(&mut self) {
        let now = Instant::now();
        if now >= self.next_sample {
            let bytes = descendants::memory_bytes_of(&descendants::descendant_ids());
            self.peak_bytes = self.peak_bytes.max(bytes);
            self.next_sample = now + MEMORY_EVERY.max(now.elapsed() * SHARE);
        }
    }

    /// Sends SIGTERM to all processes of the program.
    #[expect(clippy::unused_self, reason = "there is one program in a worker")]
    pub(super) fn terminate(&self) {
        descendants::send_signal(&descendants::descendant_ids(), EndSignal::Terminate);
    }

    /// Kills all processes of the program.
    #[expect(clippy::unused_self, reason = "there is one program in a worker")]
    pub(super) fn kill(&self) {
        descendants::send_signal(&descendants::descendant_ids(), EndSignal::Kill);
    }

    /// Gives the descendants that the program has left running time to end, then kills the rest; returns how many were
    /// killed.
    pub(super) fn end_descendants(&self) -> usize {
        let began = Instant::now();
        while descendants::reap_ended() && began.elapsed() < LEAVE_TIME {
            thread::sleep(Duration::from_millis(2));
        }
        let began = Instant::now();
        let mut left = 0;
        while descendants::reap_ended() && began.elapsed() < KILL_TIME {
            let processes = descendants::descendant_ids();
            left = left.max(processes.len());
            self.kill();
            thread::sleep(Duration::from_millis(2));
        }
        left
    }

    /// Largest observed memory in bytes: the larger of the sampled sum over all processes and the peak of a single
    /// process; `None` if neither is known.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        let sampled = Some(self.peak_bytes).filter(|bytes| *bytes > 0);
        sampled.max(descendants::peak_rss_bytes())
    }
}

impl Exit {
    /// Fails unless the program ended with exit code 0; with `oom` if its last line says that memory ran out.
    pub(super) fn check(&self, last_line: &str) -> Result<(), Failure> {
        if self.status.success() {
            return Ok(());
        }
        let last_line: String = last_line.trim().chars().take(200).collect();
        let said = if last_line.is_empty() {
            String::new()
        } else {
            format!(": {last_line}")
        };
        if OUT_OF_MEMORY.iter().any(|word| last_line.contains(word)) {
            return Err((FailedStatus::Oom, last_line));
        }
        Err(failed(match (self.status.code(), signal(self.status)) {
            (Some(code), _) => format!("exit code {code}{said}"),
            (None, Some(signal)) => format!("signal {signal}{said}"),
            (None, None) => format!("unknown end{said}"),
        }))
    }
}

/// The signal that ended a process; `None` if no signal did, or if the system has none.
fn signal(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    {
        let _ = status;
        None
    }
}

pub(super) type Failure = (FailedStatus, String);

pub(super) fn failed(reason: impl Into<String>) -> Failure {
    (FailedStatus::Error, reason.into())
}
