//! [`JsonLines`]: events of the runs as JSON lines for programs (`run --format json`, docs/events.md).

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::event::{
    Event, PROTOCOL_VERSION, RunEvent, RunFacts, RunId, RunTimes, Status, StopReason,
};
use crate::results::json_line;

use super::pairs::RunName;

/// Version of the format; readers refuse unsupported versions.
pub const EVENTS_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Line<'a> {
    Hello {
        events: u32,
        worker_protocol: u32,
        program: &'a str,
    },
    Start {
        runs: usize,
        slots: usize,
    },
    RunStarted {
        run: RunName,
        slot: usize,
        estimated_s: Option<f64>,
    },
    Worker {
        run: RunName,
        said: &'a Event,
    },
    RunEnded {
        run: RunName,
        status: Status,
        reason: &'a str,
        wall_s: f64,
        peak_rss_bytes: Option<u64>,
        facts: Option<&'a RunFacts>,
        times: Option<&'a RunTimes>,
    },
    Kept {
        run: RunName,
        status: Status,
        reason: &'a str,
    },
    NotNeeded {
        run: RunName,
    },
    Stopping {
        reason: &'static str,
        running: usize,
    },
    End {
        left: usize,
    },
    Summary {
        ended: usize,
        kept: usize,
        left: usize,
        wall_s: f64,
        results: &'a Path,
        report: Option<&'a Path>,
        answer: &'a [String],
    },
}

#[derive(Debug)]
pub(super) struct JsonLines<W> {
    /// `None` once the reader has closed the pipe: training continues.
    out: Option<W>,
    /// Keys of the current runs.
    keys: HashMap<RunId, String>,
}

/// Writes a value as one line of JSON, and flushes it.
pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    out.write_all((json_line(value) + "\n").as_bytes())?;
    out.flush()
}

impl<W: Write> JsonLines<W> {
    /// Writes the version first.
    pub(super) fn new(out: W) -> Self {
        let mut lines = Self {
            out: Some(out),
            keys: HashMap::new(),
        };
        lines.write(&Line::Hello {
            events: EVENTS_VERSION,
            worker_protocol: PROTOCOL_VERSION,
            program: env!("CARGO_PKG_VERSION"),
        });
        lines
    }

    pub(super) fn write(&mut self, line: &Line<'_>) {
        let Some(out) = &mut self.out else { return };
        if let Err(error) = write_line(out, line) {
            // Training continues, and its results are complete. No warning is printed if the reader has closed the
            // pipe.
            if error.kind() != io::ErrorKind::BrokenPipe {
                eprintln!("warning: no further events are printed: {error}");
            }
            self.out = None;
        }
    }

    pub(super) fn handle(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Start { runs, slots } => self.write(&Line::Start {
                runs: *runs,
                slots: *slots,
            }),
            RunEvent::RunStarted { job, slot } => {
                self.keys.insert(job.id, job.spec.key.clone());
                self.write(&Line::RunStarted {
                    run: RunName::of(&job.spec.key, job.id),
                    slot: *slot,
                    estimated_s: job.estimated_s,
                });
            }
            RunEvent::Worker { id, event } => self.pass_on(*id, event),
            RunEvent::RunEnded { job, outcome } => {
                self.keys.remove(&job.id);
                self.write(&Line::RunEnded {
                    run: RunName::of(&job.spec.key, job.id),
                    status: outcome.status,
                    reason: &outcome.reason,
                    wall_s: outcome.wall_s,
                    peak_rss_bytes: outcome.peak_rss_bytes,
                    facts: outcome.facts.as_ref(),
                    times: outcome.times.as_ref(),
                });
            }
            RunEvent::Kept(trial) => self.write(&Line::Kept {
                run: RunName::of(&trial.job.spec.key, trial.job.id),
                status: trial.status,
                reason: &trial.reason,
            }),
            RunEvent::NotNeeded { job } => self.write(&Line::NotNeeded {
                run: RunName::of(&job.spec.key, job.id),
            }),
            RunEvent::Stopping { reason, running } => self.write(&Line::Stopping {
                reason: match reason {
                    StopReason::Interrupted => "interrupted",
                    StopReason::Failures { .. } => "failures",
                },
                running: *running,
            }),
            RunEvent::Tick => {}
            RunEvent::End { left } => self.write(&Line::End { left: *left }),
        }
    }

    /// Passes on the events that show a run's progress. `Hello` has no content, the end is in `run-ended`, and profiles
    /// are in files.
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
            let run = RunName::of(key, id);
            self.write(&Line::Worker { run, said });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe whose reader closes it after the first line.
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
