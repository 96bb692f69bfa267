//! The three pipes of a worker: the job on stdin, events from stdout, and stderr, which is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use serde::Serialize;

use crate::base::text::visible;
use crate::event::{Job, Order, PROTOCOL_VERSION, ProgramFiles};

/// Longest line that a worker may write; an epoch with a million steps has about 50 MiB.
const LONGEST_LINE: u64 = 256 << 20;

/// Bytes of standard error that are kept, from its end.
const STDERR_KEPT: usize = 64 << 10;

/// Writes the job. Keep the handle until the worker ends: a worker whose stdin closes exits.
pub(super) fn feed(
    child: &mut Child,
    job: &Job,
    assess_into: Option<&Path>,
    program: Option<ProgramFiles>,
) -> Option<ChildStdin> {
    let members = job.trial.as_ref().map(|trial| trial.members.clone());
    let order = Order {
        protocol: PROTOCOL_VERSION,
        cell: job.spec.as_ref(),
        seed: job.id.seed,
        block: job.id.block,
        // Only training is repeated in further blocks, not costly evaluation.
        assess_into: assess_into
            .filter(|_| job.id.block == 0)
            .map(Path::to_owned),
        verdicts: job.awaits_verdicts(),
        members: members.unwrap_or_default(),
        program,
    };
    let mut stdin = child.stdin.take()?;
    tell(&mut stdin, &order);
    Some(stdin)
}

pub(super) fn tell(stdin: &mut ChildStdin, what: &impl Serialize) {
    let mut line = serde_json::to_vec(what).unwrap_or_default();
    line.push(b'\n');
    // Failure is ignored: if the worker is gone, its exit status shows it.
    let _ = stdin.write_all(&line).and_then(|()| stdin.flush());
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

/// Reads standard error to its end and keeps the last [`STDERR_KEPT`] bytes, as text that can be shown: the line that a
/// progress bar writes over and over is one line each time.
pub(super) fn drain(stderr: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut piece = [0; 4096];
        let Some(mut stderr) = stderr else {
            return String::new();
        };
        while let Ok(n @ 1..) = stderr.read(&mut piece) {
            kept.extend_from_slice(&piece[..n]);
            if kept.len() > 2 * STDERR_KEPT {
                kept.drain(..kept.len() - STDERR_KEPT);
            }
        }
        let from = kept.len().saturating_sub(STDERR_KEPT);
        visible(&String::from_utf8_lossy(&kept[from..]).replace('\r', "\n")).into_owned()
    })
}
