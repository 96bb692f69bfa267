//! `fieldtrial worker` (hidden): one run, told on stdin, answered as events on stdout.
//!
//! The real standard output is moved away first, so that a library's print lands on standard error and cannot break the
//! protocol. A thread watches stdin: when it closes, the parent is gone, and this process ends itself, also in the
//! middle of a step.

use std::io::{self, BufRead, Write};
use std::panic::{self, PanicHookInfo};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::os;
use crate::device::DeviceKind;
use crate::event::{Event, FailedStatus, Order, PANIC_MARK, PROTOCOL_VERSION};
use crate::plan::CellSpec;
use crate::train;

use super::{Outcome, exit_code};

/// Shortest time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Exit code of a worker whose parent is gone; nobody reads it.
const ORPHANED: i32 = 1;

/// Reads the order, trains, tells. How the run ended is in the events, not in the exit code.
pub(super) fn worker() -> Outcome {
    os::keep_freed_memory();
    let mut events = EventWriter::new(os::take_stdout()?);
    panic::set_hook(Box::new(tell_panic));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    thread::spawn(end_with_parent);
    match read_order(&line) {
        Ok(order) => {
            limit_memory(&order.cell);
            train::run(order, &mut |event| events.write(&event));
        }
        Err(reason) => events.refuse(reason),
    }
    Ok(exit_code::GOOD)
}

/// Reads the version by itself first: an order of another version may look different in all else.
fn read_order(line: &str) -> Result<Order<CellSpec>, String> {
    let order: Value =
        serde_json::from_str(line).map_err(|e| format!("cannot read its order: {e}"))?;
    let version = &order["protocol"];
    if *version != PROTOCOL_VERSION {
        return Err(format!(
            "its order has protocol version {version}, this worker has {PROTOCOL_VERSION}"
        ));
    }
    serde_json::from_value(order).map_err(|e| format!("cannot read its order: {e}"))
}

/// On CUDA cells none: the driver maps more address space than there is memory.
fn limit_memory(cell: &CellSpec) {
    let limit = cell.limits.memory;
    if let Some(bytes) = limit.filter(|_| cell.train.device == DeviceKind::Cpu)
        && let Err(error) = os::limit_memory(bytes)
    {
        eprintln!("warning: cannot limit memory to {bytes} bytes: {error}");
    }
}

fn end_with_parent() {
    // Nothing is ever sent after the order; the end of the stream is the message.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    process::exit(ORPHANED);
}

/// One line that the parent recognises, whatever the message looks like.
fn tell_panic(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place = info.location().map_or_else(
        || "unknown:0".to_owned(),
        |place| format!("{}:{}", place.file(), place.line()),
    );
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{PANIC_MARK}{place}: {message}");
}

struct EventWriter<W> {
    out: W,
    last_progress: Option<Instant>,
}

impl<W: Write> EventWriter<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            last_progress: None,
        }
    }

    fn write(&mut self, event: &Event) {
        if matches!(event, Event::Progress { .. } | Event::Assessing { .. }) {
            if self
                .last_progress
                .is_some_and(|last| last.elapsed() < PROGRESS_EVERY)
            {
                return;
            }
            self.last_progress = Some(Instant::now());
        }
        let written = serde_json::to_vec(event)
            .map_err(io::Error::other)
            .and_then(|mut line| {
                line.push(b'\n');
                self.out.write_all(&line)?;
                self.out.flush()
            });
        if written.is_err() {
            // Nobody listens: the parent is gone.
            process::exit(ORPHANED);
        }
    }

    fn refuse(&mut self, reason: String) {
        self.write(&Event::Hello {
            protocol: PROTOCOL_VERSION,
            code_hash: String::new(),
        });
        self.write(&Event::Failed {
            status: FailedStatus::Error,
            reason,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_another_version_is_refused_before_its_cell_is_read() {
        let refused = read_order(r#"{"protocol": 99, "cell": "?"}"#).unwrap_err();
        assert_eq!(
            refused,
            "its order has protocol version 99, this worker has 1"
        );
        assert!(read_order("nonsense").is_err());
    }

    #[test]
    fn progress_is_told_at_most_ten_times_a_second() {
        let mut out = Vec::new();
        let mut events = EventWriter::new(&mut out);
        for step in 0..100 {
            events.write(&Event::Progress {
                epoch: 0,
                step,
                loss: None,
            });
        }
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
    }
}
