//! One run of a command, inside the worker: starts the program, reads its events, ends it.
//!
//! `docs/worker-protocol.md` describes the protocol. Owns [`run`]. `order.rs` writes the files for the program,
//! `events.rs` reads what it reports, `report.rs` and `observed.rs` convert the events to facts and times, `output.rs`
//! stores its output, and `process.rs` watches and ends its processes.

mod events;
mod observed;
mod order;
mod output;
mod process;
mod report;

use std::io::Write;
use std::time::{Duration, Instant};

use crate::event::{Emit, Event, FailedStatus, Order, PROTOCOL_VERSION, Reply, numeric_class};
use crate::models::CommandSpec;
use crate::plan::{CellSpec, Program};

pub use order::remove_order_files;

use events::{EventFile, ProgramEvent};
use observed::Observed;
use order::Files;
use output::Output;
use process::{Exit, Failure, Process, failed};
use report::Report;

/// How long the loop waits for the program's exit before it reads events again.
const POLL: Duration = Duration::from_millis(10);

/// Time from the decision to prune to SIGTERM, in which a program that reads verdicts can end by itself.
const PRUNE_TIME: Duration = Duration::from_secs(2);

/// Returns the next reply that the parent process has sent without a question from here; `None` if there is none.
pub type UnsolicitedReplies<'a> = dyn FnMut() -> Option<Reply> + 'a;

/// Runs the command of the order's cell, and sends every event to `emit`, from [`Event::Hello`] to [`Event::Finished`]
/// or [`Event::Failed`]. `asked` returns replies that the parent has sent without a question from here.
///
/// After [`Reply::End`] the program is ended and neither of the two final events is sent, since the parent knows the
/// reason.
pub fn run(order: &Order<CellSpec>, asked: &mut UnsolicitedReplies<'_>, emit: &mut Emit<'_>) {
    let cell = &order.cell;
    let program = cell.program.as_deref();
    emit(Event::Hello {
        protocol: PROTOCOL_VERSION,
        code_hash: program.map_or_else(String::new, |program| program.code_hash.clone()),
    });
    let (Some(program), Some(spec)) = (program, cell.model.command()) else {
        let reason = "its order has no program".to_owned();
        let status = FailedStatus::Bug;
        emit(Event::Failed { status, reason });
        return;
    };
    let run = Run {
        order,
        spec,
        program,
    };
    match run.supervise(asked, emit) {
        Ok(finished) => {
            finished.map(emit);
        }
        Err((status, reason)) => {
            emit(Event::Failed { status, reason });
        }
    }
}

struct Run<'a> {
    order: &'a Order<CellSpec>,
    spec: &'a CommandSpec,
    program: &'a Program,
}

impl Run<'_> {
    /// Warns if the program was observed and no optimizer step was seen.
    fn tell_if_unseen(&self, report: &Report<'_>, emit: &mut Emit<'_>) {
        if self.spec.observe.is_some() && report.observed.is_empty() && !report.has_warned {
            let message = "no optimizer step was seen: nothing was observed".to_owned();
            emit(Event::Warning { message });
        }
    }

    /// Runs the program to its end. Returns [`Event::Finished`] with facts and times; `None` if the parent ended the
    /// run.
    fn supervise(
        &self,
        asked: &mut UnsolicitedReplies<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Option<Event>, Failure> {
        self.check_code("since it was planned")?;
        let files = Files::write(self.order, self.program)
            .map_err(|error| failed(format!("cannot write its order: {error}")))?;
        let mut output = Output::new(self.spec, files.log())
            .map_err(|error| failed(format!("no pipe for its output: {error}")))?;
        let command = files.command(self.order, self.program)?;
        let mut process = Process::start(command, &mut output).map_err(|error| {
            let name = self.program.arguments.first().map_or("", String::as_str);
            failed(format!("cannot start `{name}`: {error}"))
        })?;
        let mut watch = Watch {
            run: self,
            files: &files,
            events: files.events(),
            report: Report::new(self.spec, &self.order.cell.limits),
            fault: None,
            is_pruned: false,
            is_ended_by_parent: false,
            grace: Duration::try_from_secs_f64(self.order.cell.limits.grace).unwrap_or_default(),
        };
        let exit = watch.watch(&mut process, &output, asked, emit);
        let left = process.end_descendants();
        let printed = output.finish();
        watch.read_rest(&printed.found, emit);
        let Watch {
            mut report,
            fault,
            is_pruned,
            is_ended_by_parent,
            ..
        } = watch;
        if left > 0 {
            emit(ended(left));
        }
        if !printed.tail.is_empty() {
            // The parent stores the last lines of a failed run. Writing fails only if the parent has exited.
            let _ = std::io::stderr().write_all(printed.tail.as_bytes());
        }
        if is_ended_by_parent {
            return Ok(None);
        }
        if let Some(fault) = fault {
            return Err(failed(fault));
        }
        self.check_code("while it ran")?;
        if !is_pruned && report.diverged().is_none() {
            exit.check(&printed.last_line)?;
            complete(&report)?;
            report.check_values();
            report.finish_successfully(self.order.cell.train.epochs, self.order.verdicts);
            self.tell_if_unseen(&report, emit);
        }
        self.tell_operations(&report, emit);
        let (facts, mut times) = report.finish(&exit, self.threads(), self.numeric_class());
        times.peak_train_bytes = process.peak_bytes();
        "sum over its processes (shared pages once), sampled; ru_maxrss"
            .clone_into(&mut times.memory_source);
        Ok(Some(Event::Finished {
            facts: Box::new(facts),
            times: Box::new(times),
        }))
    }

    fn threads(&self) -> usize {
        order::threads(&self.order.cell, self.program)
    }

    fn numeric_class(&self) -> String {
        let train = &self.order.cell.train;
        numeric_class(train.device, train.precision)
    }

    fn tell_operations(&self, report: &Report<'_>, emit: &mut Emit<'_>) {
        let order = self.order;
        let is_wanted = order.cell.measure.is_profiled_run(order.seed, order.block);
        if let Some(profile) = report.observed.profile().filter(|_| is_wanted) {
            emit(Event::Profile(Box::new(profile)));
        }
    }

    /// Fails if a file of the command's `code` has changed; `when` says in the message since when.
    fn check_code(&self, when: &str) -> Result<(), Failure> {
        let changed = order::changed_code(self.spec, self.program);
        let names: Vec<String> = changed.iter().map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(failed(format!("code changed {when}: {}", names.join(", "))))
    }
}

/// The warning that `count` processes of the program were still running after its exit and were ended.
fn ended(count: usize) -> Event {
    let message = match count {
        1 => "1 process that it had started was ended".to_owned(),
        _ => format!("{count} processes that it had started were ended"),
    };
    Event::Warning { message }
}

/// Fails if the program has not reported everything that the manifest declares.
fn complete(report: &Report<'_>) -> Result<(), Failure> {
    let missing = report.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let by_scrape = missing.iter().any(|name| report.is_scraped(name));
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    let why = if by_scrape {
        "; no number in what it printed matches its expression in `scrape`"
    } else {
        ""
    };
    Err(failed(format!(
        "it ended without {names}, which `metrics` declares{why}"
    )))
}

/// State of a run during the execution of its program.
struct Watch<'a> {
    run: &'a Run<'a>,
    files: &'a Files,
    events: EventFile,
    report: Report<'a>,
    /// Error in an event; later events are not read.
    fault: Option<String>,
    is_pruned: bool,
    is_ended_by_parent: bool,
    grace: Duration,
}

impl Watch<'_> {
    /// Reads events and output until the program has exited. Ends the program if the parent asks for it, if an event is
    /// wrong, or if the run has diverged or is pruned.
    fn watch(
        &mut self,
        process: &mut Process,
        output: &Output,
        asked: &mut UnsolicitedReplies<'_>,
        emit: &mut Emit<'_>,
    ) -> Exit {
        let mut due: Option<(Instant, bool)> = None;
        loop {
            let exit = process.exited(POLL);
            for (name, value) in output.found() {
                self.scraped(&name, value, emit);
            }
            self.read_events(emit);
            if let Some(exit) = exit {
                return exit;
            }
            let now = Instant::now();
            let is_to_end = match asked() {
                Some(Reply::End) => {
                    self.is_ended_by_parent = true;
                    true
                }
                _ => self.is_ended_by_parent || self.is_over(),
            };
            due = match due {
                None if is_to_end => {
                    process.terminate();
                    Some((now + self.grace, true))
                }
                None if self.is_pruned => Some((now + PRUNE_TIME, false)),
                Some((time, true)) if now >= time => {
                    process.kill();
                    Some((now + self.grace, true))
                }
                Some((time, false)) if now >= time || is_to_end => {
                    process.terminate();
                    Some((now + self.grace, true))
                }
                due => due,
            };
        }
    }

    /// Whether later events and output no longer count: an event was wrong, or the run has diverged.
    fn is_over(&self) -> bool {
        self.fault.is_some() || self.report.diverged().is_some()
    }

    fn read_events(&mut self, emit: &mut Emit<'_>) {
        loop {
            if self.is_over() || self.is_pruned || self.is_ended_by_parent {
                return;
            }
            match self.events.next_line() {
                Ok(Some(line)) => self.event(&line, emit),
                Ok(None) => return,
                Err(fault) => self.fault = Some(fault),
            }
        }
    }

    /// Reads the events and the output that were not yet read when the program exited.
    fn read_rest(&mut self, found: &[(String, f64)], emit: &mut Emit<'_>) {
        for (name, value) in found {
            self.scraped(name, *value, emit);
        }
        self.read_events(emit);
        if !self.is_ended_by_parent && !self.is_pruned && !self.is_over() {
            if let Some(row) = self.report.last_scraped() {
                self.epoch(row, emit);
            }
            if let Some(half) = self.events.unfinished_line() {
                let message = format!("its last event has no end and is left out: `{half}`");
                emit(Event::Warning { message });
            }
        }
    }

    fn event(&mut self, line: &str, emit: &mut Emit<'_>) {
        let is_of_observer = self.run.spec.observe.is_some() && events::is_step_event(line);
        if is_of_observer && self.report.observed.is_wrong {
            return;
        }
        let Err(reason) = self.take(line, emit) else {
            return;
        };
        let reason = format!("event {}: {reason}", self.events.line());
        if is_of_observer {
            // The fault is the observer's, so the program's run counts, but without the observed values.
            self.report.has_warned = true;
            self.report.observed = Observed::wrong();
            let message =
                format!("nothing observed counts, because of an error of the observer: {reason}");
            emit(Event::Warning { message });
        } else {
            self.fault = Some(reason);
        }
    }

    fn take(&mut self, line: &str, emit: &mut Emit<'_>) -> Result<(), String> {
        match events::parse(line, self.run.spec)? {
            ProgramEvent::Reported(event) => {
                match event {
                    Event::Started { parameters, .. } => self.report.parameters = parameters,
                    Event::Warning { .. } => self.report.has_warned = true,
                    _ => {}
                }
                emit(event);
            }
            ProgramEvent::Epoch(told) => {
                let row = self.report.epoch(told)?;
                self.epoch(row, emit);
            }
            ProgramEvent::Finished(told) => self.report.finished(told)?,
            ProgramEvent::Steps(told) => self.report.observed.steps(&told)?,
            ProgramEvent::Phases(told) => self.report.observed.phases(&told)?,
            ProgramEvent::Operations(told) => self.report.observed.operations(told)?,
            ProgramEvent::Memory(told) => self.report.observed.memory(told),
        }
        Ok(())
    }

    fn scraped(&mut self, name: &str, value: f64, emit: &mut Emit<'_>) {
        if self.is_over() || self.is_pruned || self.is_ended_by_parent {
            return;
        }
        if let Some(row) = self.report.scraped(name, value) {
            self.epoch(row, emit);
        }
    }

    fn epoch(&mut self, row: crate::event::EpochRow, emit: &mut Emit<'_>) {
        let number = row.epoch;
        let verdict = emit(Event::Epoch(Box::new(row)));
        if self.run.order.verdicts {
            self.files.write_verdict(number, verdict);
        }
        match verdict {
            Reply::Continue => {}
            Reply::Stop => self.is_pruned = true,
            Reply::End => self.is_ended_by_parent = true,
        }
    }
}
