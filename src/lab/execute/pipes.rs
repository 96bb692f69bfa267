//! The three pipes of a worker: the job on stdin, events from stdout, and stderr, whose end is kept.
//!
//! Each has a thread of its own, so that the parent never blocks on a worker that does not read, is stopped, or has
//! started a process that keeps the pipes open.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::base::text::escape_control;
use crate::event::{Job, Order, PROTOCOL_VERSION, ProgramFiles};

/// Longest line that a worker may write; an epoch with a million steps has about 50 MiB.
const LONGEST_LINE: u64 = 256 << 20;

/// Bytes of standard error that are kept, from its end.
const STDERR_KEPT: usize = 64 << 10;

/// Sends text to a worker's stdin. Keep this value until the worker ends: a worker whose stdin closes exits.
#[derive(Debug)]
pub(super) struct Replies(Sender<Vec<u8>>);

impl Replies {
    fn to(mut stdin: ChildStdin) -> Self {
        let (sender, lines) = mpsc::channel::<Vec<u8>>();
        thread::spawn(move || {
            for line in lines {
                if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                    // The worker is gone; its exit status shows it.
                    break;
                }
            }
        });
        Self(sender)
    }

    pub(super) fn send(&self, what: &impl Serialize) {
        let mut line = serde_json::to_vec(what).unwrap_or_default();
        line.push(b'\n');
        // Fails only if the worker has exited.
        let _ = self.0.send(line);
    }
}

/// Writes the instructions for the job (cell, seed, block, files) to the worker's stdin.
pub(super) fn feed(
    child: &mut Child,
    job: &Job,
    assess_into: Option<&Path>,
    program: Option<ProgramFiles>,
    keep_weights_below: u64,
) -> Option<Replies> {
    let members = job.trial.as_ref().map(|trial| trial.members.clone());
    let order = Order {
        protocol: PROTOCOL_VERSION,
        cell: job.spec.as_ref(),
        seed: job.id.seed,
        block: job.id.block,
        // Blocks after the first repeat only the training, without the costly evaluation.
        assess_into: assess_into
            .filter(|_| job.id.block == 0)
            .map(Path::to_owned),
        verdicts: job.awaits_replies(),
        members: members.unwrap_or_default(),
        keep_weights_below: if job.spec.measure.keep_weights {
            keep_weights_below
        } else {
            0
        },
        resume: job.resume.clone(),
        program,
    };
    let replies = Replies::to(child.stdin.take()?);
    replies.send(&order);
    Some(replies)
}

/// Reads lines in a separate thread, so that the receiver can wait with a timeout.
pub(super) fn read_lines(child: &mut Child) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(64);
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while let Ok(1..) = reader
                .by_ref()
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)
            {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The last [`STDERR_KEPT`] bytes of a worker's standard error, as text that can be shown: a line that a progress bar
/// overwrites by `\r` becomes one line per update.
pub(super) struct Stderr {
    kept: Arc<Mutex<Vec<u8>>>,
    /// A channel that closes when the stream has ended.
    end: Receiver<()>,
}

impl Stderr {
    /// Reads `stderr` in a separate thread.
    pub(super) fn of(stderr: Option<impl Read + Send + 'static>) -> Self {
        let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (at_end, end) = mpsc::channel::<()>();
        if let Some(mut stderr) = stderr {
            let kept = Arc::clone(&kept);
            thread::spawn(move || {
                let _at_end = at_end;
                let mut piece = [0; 4096];
                while let Ok(n @ 1..) = stderr.read(&mut piece) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&piece[..n]);
                    if kept.len() > 2 * STDERR_KEPT {
                        let surplus = kept.len() - STDERR_KEPT;
                        kept.drain(..surplus);
                    }
                }
            });
        }
        Self { kept, end }
    }

    /// The last [`STDERR_KEPT`] bytes, with control characters made visible, after waiting at most `time` for the end.
    pub(super) fn text(self, time: Duration) -> String {
        let _ = self.end.recv_timeout(time);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let from = kept.len().saturating_sub(STDERR_KEPT);
        escape_control(&String::from_utf8_lossy(&kept[from..]).replace('\r', "\n")).into_owned()
    }
}
