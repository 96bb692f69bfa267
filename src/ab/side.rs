//! [`Side`]: the process of one side of a comparison.

use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::os;
use crate::diag::Failure;
use crate::event::Status;
use crate::progress::write_line;
use crate::results::FORMAT_VERSION;

use super::output::{LINE_TIMEOUT, Output, Outputs};
use super::protocol::{Hello, SIDE_PROTOCOL, SideMessage, SideRequest};
use super::{AbError, EndedRun, RunName};

/// How long the parent waits for a side that it ends early to write its results; then it kills the side.
const PATIENCE: Duration = Duration::from_secs(20);

/// Exit code of a side whose manifest has a mistake; equal in all builds.
const MISTAKE: i32 = 2;

/// The process of a side, which has planned and waits for requests.
#[derive(Debug)]
pub struct Side {
    /// Name of the side in messages.
    pub label: String,
    /// Versions, code and machine of the side, and the runs that it can execute.
    pub hello: Hello,
    process: Process,
}

impl Side {
    /// Starts the process of a side by `command` and waits until it has planned. Lines of its standard error are passed
    /// to `say`.
    ///
    /// # Errors
    /// A mistake in the side's manifest; another version of the protocol or of the format of results; Ctrl-C.
    pub fn start(
        label: &str,
        command: Command,
        interrupted: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, AbError> {
        let mut process = Process::start(command)?;
        loop {
            match process.outputs.next() {
                Output::Line(line) => {
                    let hello = greeting(&line, label)?;
                    process.has_greeted = true;
                    return Ok(Self {
                        label: label.to_owned(),
                        hello,
                        process,
                    });
                }
                Output::StderrLine(text) => say(&text),
                Output::Silence => {}
                Output::End => return Err(process.no_greeting(label)),
            }
            if interrupted.load(Ordering::SeqCst) {
                return Err(AbError::Interrupted);
            }
        }
    }

    /// Executes the run `name` on this side and returns its result; other messages of the side are passed to `tell`.
    ///
    /// # Errors
    /// The side has ended too early; Ctrl-C, once the run has ended.
    pub fn run(
        &mut self,
        name: &RunName,
        interrupted: &AtomicBool,
        tell: &mut dyn FnMut(SideMessage),
    ) -> Result<EndedRun, AbError> {
        self.process.send(&SideRequest::Run(name.clone()));
        let mut is_stopping = false;
        loop {
            match self.next()? {
                Some(SideMessage::Ended(ended)) if ended.name == *name => {
                    if ended.status == Status::NotRun || is_stopping {
                        return Err(AbError::Interrupted);
                    }
                    return Ok(ended);
                }
                Some(said) => tell(said),
                None => {}
            }
            if !is_stopping && interrupted.load(Ordering::SeqCst) {
                self.process.send(&SideRequest::Stop);
                is_stopping = true;
            }
        }
    }

    /// Lets the side write its results, and waits until it has done so.
    ///
    /// # Errors
    /// The side ended before it sent [`SideMessage::Bye`].
    pub fn finish(mut self) -> Result<(), AbError> {
        self.process.send(&SideRequest::Finish);
        while self.next()? != Some(SideMessage::Bye) {}
        Ok(())
    }

    /// The next message of the side, or a line of its standard error as a warning; `None` if no line arrives within
    /// [`LINE_TIMEOUT`], or if a line of standard output is no message.
    fn next(&mut self) -> Result<Option<SideMessage>, AbError> {
        match self.process.outputs.next() {
            Output::Line(line) => Ok(serde_json::from_str(&line).ok()),
            Output::StderrLine(message) => Ok(Some(SideMessage::Warning { message })),
            Output::Silence => Ok(None),
            Output::End => Err(self.process.died(&self.label)),
        }
    }
}

/// Parses the first message of a side, and checks that this program knows its versions.
fn greeting(line: &str, label: &str) -> Result<Hello, AbError> {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let hello = &value["hello"];
    if hello["side"] != SIDE_PROTOCOL {
        let version = match hello["side"].as_u64() {
            Some(version) => format!("version {version} of the protocol of sides"),
            None => "no protocol between `ab` and its builds that this program knows".to_owned(),
        };
        return Err(unlike(format!(
            "{label} uses {version}, this program uses version {SIDE_PROTOCOL}"
        )));
    }
    let format = &hello["format"];
    if *format != FORMAT_VERSION {
        return Err(unlike(format!(
            "{label} writes results of format {format}, this program reads format {FORMAT_VERSION}"
        )));
    }
    serde_json::from_value(hello.clone()).map_err(|error| {
        unlike(format!(
            "{label} sent a first message that this program cannot read: {error}"
        ))
    })
}

fn unlike(title: String) -> AbError {
    let help = "choose a ref whose build uses the same version, or run each build by itself and compare the two results \
                folders with `compare`";
    AbError::IncompatibleSides(Failure::without_source(title, Some(help.to_owned())))
}

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    outputs: Outputs,
    has_greeted: bool,
}

impl Process {
    fn start(mut command: Command) -> Result<Self, AbError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // In its own process group, a side does not get Ctrl-C from the terminal; the parent ends it in an orderly
        // manner.
        os::in_own_group(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            AbError::mistake(format!("cannot start `{program}`: {error}"), None)
        })?;
        Ok(Self {
            stdin: child.stdin.take(),
            outputs: Outputs::of(&mut child),
            child,
            has_greeted: false,
        })
    }

    /// Sends a request. An error is ignored: if the side has ended, the next read reports it.
    fn send(&mut self, turn: &SideRequest) {
        if let Some(stdin) = &mut self.stdin {
            let _ = write_line(stdin, turn);
        }
    }

    /// The error for a side that ended before its first message.
    fn no_greeting(&mut self, label: &str) -> AbError {
        let code = self.child.wait().ok().and_then(|status| status.code());
        let words = self.outputs.stderr_tail.join("\n");
        let unknown = ["unrecognized subcommand", "unexpected argument"];
        if unknown.iter().any(|known| words.contains(known)) {
            return unlike(format!(
                "{label} does not know `fieldtrial side`, by which two builds are run in turns"
            ));
        }
        if code == Some(MISTAKE) {
            let title = format!("{label} cannot plan its manifest (see above)");
            return AbError::mistake(title, None);
        }
        self.died(label)
    }

    fn died(&mut self, label: &str) -> AbError {
        let status = self.child.wait();
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = match &*self.outputs.stderr_tail {
            [] => String::new(),
            lines => format!(":\n{}", lines.join("\n")),
        };
        let title = format!("{label} has ended before it should ({how}){words}");
        let help = "finished runs are kept; run the same command again to continue".to_owned();
        AbError::Died(Failure::without_source(title, Some(help)))
    }

    fn has_ended(&mut self) -> bool {
        // A child that cannot be waited for counts as ended.
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    /// Closes the side's standard input: it then stops its run, writes its results and ends. Kills it if it takes too
    /// long.
    fn drop(&mut self) {
        self.stdin = None;
        let began = Instant::now();
        while self.has_greeted && began.elapsed() < PATIENCE && !self.has_ended() {
            thread::sleep(LINE_TIMEOUT);
        }
        if !self.has_ended() {
            os::kill_group(&mut self.child);
            let _ = self.child.wait();
        }
    }
}
