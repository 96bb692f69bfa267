//! `fieldtrial worker` (hidden): one run: order on stdin, events on stdout.
//!
//! Standard output is first redirected, so that output of libraries goes to standard error and cannot break the
//! protocol. A thread reads stdin: it passes on the parent's replies after epochs; if stdin closes, the parent has
//! exited, and the process ends itself, even in the middle of a step.

use std::io::{self, BufRead, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::descendants::{self, EndSignal};
use crate::base::os;
use crate::datasets::is_converting_panic;
use crate::device::DeviceKind;
use crate::event::{
    Event, FailedStatus, Order, PANIC_PREFIX, PROTOCOL_VERSION, Reply, THREAD_START_ERROR,
};
use crate::plan::CellSpec;
use crate::progress::write_line;
use crate::{program, train};

use super::{Outcome, exit_code};

const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Exit code of a worker whose parent has exited.
const ORPHANED: i32 = 1;

/// Reads the order, trains, and sends events. The status of the run is in the events, not in the exit code.
pub(super) fn worker() -> Outcome {
    os::keep_freed_memory();
    let events = Arc::new(Mutex::new(EventWriter::new(os::take_stdout()?)));
    panic::set_hook(Box::new(tell_panic));
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        // The parent ended before it sent an order.
        os::exit_at_once(ORPHANED);
    }
    let (sender, replies) = mpsc::channel();
    thread::spawn(move || listen(&sender));
    match read_order(&line) {
        Ok(order) => {
            if let Some(silence) = order.cell.limits.silence {
                let events = Arc::clone(&events);
                thread::spawn(move || tell_alive(&events, silence));
            }
            limit_memory(&order.cell);
            let (verdicts, is_program) = (order.verdicts, order.cell.program.is_some());
            let mut emit = |event| {
                locked(&events).write(&event);
                match event {
                    Event::Epoch(_) if verdicts => wait(&replies),
                    // The replies to a program are read in another thread.
                    _ if is_program => Reply::Continue,
                    _ => replies.try_recv().unwrap_or(Reply::Continue),
                }
            };
            if is_program {
                // When stdin closes, this process first ends its program, so it must not be killed with its parent.
                os::continue_at_end_of_parent();
                let cores = order.program.as_ref().and_then(|files| files.cores);
                if let Some((first, count)) = cores {
                    descendants::use_cores(first, count);
                }
                program::run(&order, &mut || replies.try_recv().ok(), &mut emit);
            } else {
                os::end_with_parent();
                train::run(order, &mut emit);
            }
        }
        Err(reason) => locked(&events).refuse(reason),
    }
    Ok(exit_code::GOOD)
}

/// Sends the parent signs of life, four times within `silence` seconds, at most once a second.
fn tell_alive(events: &Mutex<EventWriter<impl Write>>, silence: f64) {
    let pause = Duration::from_secs_f64((silence / 4.0).clamp(0.01, 1.0));
    loop {
        thread::sleep(pause);
        locked(events).write(&Event::Alive);
    }
}

fn locked<W>(events: &Mutex<W>) -> MutexGuard<'_, W> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Parses an order. The version is checked first, because an order of another version may have other fields.
fn read_order(line: &str) -> Result<Order<CellSpec>, String> {
    let unreadable = |error: serde_json::Error| format!("cannot read its order: {error}");
    let order: Value = serde_json::from_str(line).map_err(unreadable)?;
    let version = &order["protocol"];
    if *version != PROTOCOL_VERSION {
        return Err(format!(
            "its order has protocol version {version}, this worker has {PROTOCOL_VERSION}"
        ));
    }
    serde_json::from_value(order).map_err(unreadable)
}

/// Limits the memory of this process to `limits.memory`, only for cells on the CPU: the CUDA driver maps more address
/// space than there is memory.
fn limit_memory(cell: &CellSpec) {
    let limit = cell.limits.memory;
    if let Some(bytes) = limit.filter(|_| cell.train.device == DeviceKind::Cpu)
        && let Err(error) = os::limit_memory(bytes)
    {
        eprintln!("warning: cannot limit memory to {bytes} bytes: {error}");
    }
}

/// Passes the parent's replies on. The end of the stream, or an invalid line, ends this process and the program that it
/// has started, even if the other thread is inside a GPU driver.
fn listen(replies: &Sender<Reply>) {
    pass_on(io::stdin().lock(), replies);
    end_without_parent();
}

/// Ends this process and the program that it has started, and removes that program's order.
fn end_without_parent() -> ! {
    descendants::send_signal(&descendants::descendant_ids(), EndSignal::Kill);
    program::remove_order_files();
    os::exit_at_once(ORPHANED)
}

fn pass_on(input: impl BufRead, replies: &Sender<Reply>) {
    for line in input.lines() {
        let reply = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(reply) = reply else { return };
        // Sending fails only if the run has ended; the process exits soon.
        let _ = replies.send(reply);
    }
}

fn wait(replies: &Receiver<Reply>) -> Reply {
    // The channel closes only when the listening thread ends this process.
    replies.recv().unwrap_or(Reply::Stop)
}

/// Prints a panic message as one line, which the parent recognises.
fn tell_panic(info: &PanicHookInfo<'_>) {
    if is_converting_panic() {
        return;
    }
    let message = info.payload_as_str().unwrap_or("no message");
    if is_refused_thread(message) {
        return eprintln!("{THREAD_START_ERROR}");
    }
    let place = info.location();
    let (file, line) = place.map_or(("unknown", 0), |place| (place.file(), place.line()));
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("{PANIC_PREFIX}{file}:{line}: {message}");
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
        let is_progress = matches!(event, Event::Progress { .. } | Event::Assessing { .. });
        if is_progress && !self.tells_progress(Instant::now()) {
            return;
        }
        if write_line(&mut self.out, event).is_err() {
            // Standard output is closed: the parent is gone.
            end_without_parent();
        }
    }

    /// Whether progress at `now` is reported (at most several times a second).
    fn tells_progress(&mut self, now: Instant) -> bool {
        let is_long_ago = |last| now.saturating_duration_since(last) >= PROGRESS_EVERY;
        let is_due = self.last_progress.is_none_or(is_long_ago);
        if is_due {
            self.last_progress = Some(now);
        }
        is_due
    }

    fn refuse(&mut self, reason: String) {
        self.write(&Event::Hello {
            protocol: PROTOCOL_VERSION,
            code_hash: String::new(),
        });
        self.write(&Event::Failed {
            status: FailedStatus::Bug,
            reason,
        });
    }
}

/// Whether a panic's message says that the operating system refused to start a thread: a limit of the machine, not a
/// bug.
pub fn is_refused_thread(message: &str) -> bool {
    (message.contains("kind: WouldBlock") && message.contains("code: 11"))
        || is_thread_without_stack(message)
}

/// Whether a panic's message says that a new thread got no memory for the stack of its signal handlers. Such a thread
/// panics before its function begins, so the panic cannot be caught.
pub fn is_thread_without_stack(message: &str) -> bool {
    message.starts_with("failed to allocate an alternative stack")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_another_version_is_refused_before_its_cell_is_read() {
        let refused = read_order(r#"{"protocol": 99, "cell": "?"}"#).unwrap_err();
        assert_eq!(
            refused,
            "its order has protocol version 99, this worker has 2"
        );
        assert!(read_order("nonsense").is_err());
    }

    #[test]
    fn replies_are_passed_on_until_an_invalid_line() {
        let (sender, replies) = mpsc::channel();
        pass_on(&b"\"go-on\"\n\"stop\"\nhm\n\"stop\"\n"[..], &sender);
        drop(sender);
        let replies: Vec<Reply> = replies.iter().collect();
        assert_eq!(replies, [Reply::Continue, Reply::Stop]);
    }

    #[test]
    fn progress_is_sent_at_most_ten_times_a_second() {
        let mut events = EventWriter::new(Vec::new());
        let began = Instant::now();
        let mut told = |ms| events.tells_progress(began + Duration::from_millis(ms));
        let told = [0, 50, 99, 100, 150, 199, 200, 1000].map(&mut told);
        assert_eq!(told, [true, false, false, true, false, false, true, true]);
        // Progress that is not reported is not written.
        let mut out = Vec::new();
        let mut events = EventWriter::new(&mut out);
        events.last_progress = Some(Instant::now() + Duration::from_hours(1));
        events.write(&Event::Progress {
            epoch: 0,
            step: 0,
            loss: None,
        });
        assert!(out.is_empty());
    }

    #[test]
    fn a_refused_thread_is_told_from_a_bug() {
        for limit in [
            "failed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }",
            "The global thread pool has not been initialized.: ThreadPoolBuildError { kind: IOError(Os { code: 11, kind: \
             WouldBlock, message: \"Resource temporarily unavailable\" }) }",
        ] {
            assert!(is_refused_thread(limit), "{limit}");
        }
        assert!(!is_refused_thread("index out of bounds: the len is 11"));
    }
}
