//! [`JsonLines`]: events of the runs as JSON lines for programs (`run --format json`, docs/events.md).

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::event::{Event, Job, KeptTrial, PROTOCOL_VERSION, RunEvent, RunId, StopReason};
use crate::results::json_line;

use super::pairs::RunName;

/// Version of the format of the event lines; readers refuse versions that they do not know.
pub const EVENTS_VERSION: u32 = 1;

/// One line of output; the field `event` comes first.
#[derive(Debug, Serialize)]
struct Line {
    event: &'static str,
    #[serde(flatten)]
    content: Value,
}

#[derive(Debug)]
pub(super) struct JsonLines<W> {
    /// Where lines are written; `None` after an error, such as a pipe that the reader has closed.
    out: Option<W>,
    /// Key of the cell of each current run.
    keys: HashMap<RunId, String>,
}

/// Writes a value as one line of JSON, and flushes it.
pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    out.write_all((json_line(value) + "\n").as_bytes())?;
    out.flush()
}

impl<W: Write> JsonLines<W> {
    /// Writes the line `hello` with the format's version.
    pub(super) fn new(out: W) -> Self {
        let mut lines = Self {
            out: Some(out),
            keys: HashMap::new(),
        };
        let hello = json!({
            "events": EVENTS_VERSION,
            "worker_protocol": PROTOCOL_VERSION,
            "program": env!("CARGO_PKG_VERSION"),
        });
        lines.write("hello", hello);
        lines
    }

    pub(super) fn write(&mut self, event: &'static str, content: Value) {
        let Some(out) = &mut self.out else { return };
        if let Err(error) = write_line(out, &Line { event, content }) {
            // Training continues without event lines, and its results are complete. If the reader has closed the pipe,
            // there is no warning.
            if error.kind() != io::ErrorKind::BrokenPipe {
                eprintln!("warning: no further events are printed: {error}");
            }
            self.out = None;
        }
    }

    pub(super) fn handle(&mut self, event: &RunEvent<'_>) {
        let run = |job: &Job| RunName::of(&job.spec.key, job.id);
        let (name, content) = match event {
            RunEvent::Start { runs, slots } => ("start", json!({ "runs": runs, "slots": slots })),
            RunEvent::RunStarted { job, slot } => {
                self.keys.insert(job.id, job.spec.key.clone());
                let estimated_s = job.estimated_s;
                let content = json!({ "run": run(job), "slot": slot, "estimated_s": estimated_s });
                ("run-started", content)
            }
            RunEvent::Worker { id, event } => return self.pass_on(*id, event),
            RunEvent::RunEnded { job, outcome } => {
                self.keys.remove(&job.id);
                let content = json!({
                    "run": run(job),
                    "status": outcome.status,
                    "reason": outcome.reason,
                    "wall_s": outcome.wall_s,
                    "peak_rss_bytes": outcome.peak_rss_bytes,
                    "facts": outcome.facts,
                    "times": outcome.times,
                });
                ("run-ended", content)
            }
            RunEvent::Kept(KeptTrial {
                job,
                status,
                reason,
                ..
            }) => (
                "kept",
                json!({ "run": run(job), "status": status, "reason": reason }),
            ),
            RunEvent::NotNeeded { job } => ("not-needed", json!({ "run": run(job) })),
            RunEvent::Stopping { reason, running } => {
                let reason = match reason {
                    StopReason::Interrupted => "interrupted",
                    StopReason::Failures { .. } => "failures",
                };
                ("stopping", json!({ "reason": reason, "running": running }))
            }
            RunEvent::Tick => return,
            RunEvent::End { left } => ("end", json!({ "left": left })),
        };
        self.write(name, content);
    }

    /// Writes a worker's event if it shows the run's progress. Other events are left out: `Hello` has no information,
    /// the run's results are in the line `run-ended`, and profiles are in files.
    fn pass_on(&mut self, id: RunId, said: &Event) {
        let is_told = matches!(
            said,
            Event::Started { .. }
                | Event::Resumed { .. }
                | Event::Saved { .. }
                | Event::Progress { .. }
                | Event::Epoch(_)
                | Event::Assessing { .. }
                | Event::Sample(_)
                | Event::Warning { .. }
        );
        if is_told && let Some(key) = self.keys.get(&id) {
            let content = json!({ "run": RunName::of(key, id), "said": said });
            self.write("worker", content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that the reader closes after the first line.
    #[derive(Default)]
    struct Closing {
        written: Vec<u8>,
    }

    impl Write for &mut Closing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.written.contains(&b'\n') {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.written.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_line_is_the_version_and_writing_stops_when_the_reader_closes() {
        let mut pipe = Closing::default();
        let mut lines = JsonLines::new(&mut pipe);
        lines.handle(&RunEvent::Start { runs: 1, slots: 1 });
        lines.handle(&RunEvent::End { left: 0 });
        let text = String::from_utf8(pipe.written).expect("UTF-8");
        let begins = format!("{{\"event\":\"hello\",\"events\":{EVENTS_VERSION},");
        assert!(text.starts_with(&begins), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
