//! [`Side`]: the process of one side of a comparison.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::os;
use crate::diag::Failure;
use crate::event::Status;
use crate::results::FORMAT_VERSION;

use super::AbError;
use super::protocol::{Ended, Hello, RunName, SIDE_PROTOCOL, Said, Turn};

const LOOK: Duration = Duration::from_millis(50);

/// Time limit for a side to write its results after its parent gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Exit code of a side with a wrong manifest, in every build.
const MISTAKE: i32 = 2;

/// Number of last lines of a side's standard error that are kept.
const LAST_LINES: usize = 20;

/// How a side is started.
#[derive(Debug, Clone)]
pub struct SideOrder {
    /// Name in messages: `HEAD~1 at 0150c8c`.
    pub label: String,
    /// Its program.
    pub program: PathBuf,
    /// Its manifest.
    pub manifest: PathBuf,
    /// The path against which the manifest's paths are resolved.
    pub located_at: PathBuf,
    /// Folder of its results.
    pub results: PathBuf,
    /// The session.
    pub session: String,
    /// Overrides (`--set`).
    pub set: Vec<String>,
    /// Selection of cells (`--only`).
    pub only: Option<String>,
    /// Whether to ignore kept runs.
    pub fresh: bool,
}

/// A message of a side during a run.
#[derive(Debug, Clone, PartialEq)]
pub enum SideMessage {
    /// Progress of the run: a text, and the fraction that is done.
    Progress(String, f64),
    /// A warning for the user.
    Warning(String),
}

/// A side that has planned and waits for its turn.
#[derive(Debug)]
pub struct Side {
    /// Name in messages.
    pub label: String,
    /// Its description and runs.
    pub hello: Hello,
    process: Process,
}

impl Side {
    /// Starts a side and waits until it has planned; its messages go to `say`.
    ///
    /// # Errors
    /// A mistake in its manifest, another version of the protocol or of the results, Ctrl-C.
    pub fn start(
        order: &SideOrder,
        interrupted: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, AbError> {
        let mut process = Process::start(order)?;
        loop {
            match process.hear() {
                SideOutput::Line(line) => {
                    let hello = greeting(&line, &order.label)?;
                    process.has_greeted = true;
                    let label = order.label.clone();
                    return Ok(Self {
                        label,
                        hello,
                        process,
                    });
                }
                SideOutput::Words(text) => say(&text),
                SideOutput::Silence => {}
                SideOutput::End => return Err(process.no_greeting(&order.label)),
            }
            if interrupted.load(Ordering::SeqCst) {
                return Err(AbError::Interrupted);
            }
        }
    }

    /// Runs `name` on this side; its messages go to `tell`.
    ///
    /// # Errors
    /// The side has ended; Ctrl-C, once the run has ended.
    pub fn run(
        &mut self,
        name: &RunName,
        interrupted: &AtomicBool,
        tell: &mut dyn FnMut(SideMessage),
    ) -> Result<Ended, AbError> {
        self.process.tell(&Turn::Run(name.clone()));
        let mut is_stopping = false;
        loop {
            let heard = self.process.hear();
            match self.understood(heard)? {
                Some(Said::Progress { text, share }) => tell(SideMessage::Progress(text, share)),
                Some(Said::Warning { message }) => tell(SideMessage::Warning(message)),
                Some(Said::Ended(ended)) if ended.name == *name => {
                    let is_whole = ended.status != Status::NotRun && !is_stopping;
                    return if is_whole {
                        Ok(ended)
                    } else {
                        Err(AbError::Interrupted)
                    };
                }
                _ => {}
            }
            if !is_stopping && interrupted.load(Ordering::SeqCst) {
                self.process.tell(&Turn::Stop);
                is_stopping = true;
            }
        }
    }

    /// Lets the side write its results, and waits for its end.
    ///
    /// # Errors
    /// The side has ended without its last message.
    pub fn finish(mut self) -> Result<(), AbError> {
        self.process.tell(&Turn::Finish);
        loop {
            let heard = self.process.hear();
            if self.understood(heard)? == Some(Said::Bye) {
                return Ok(());
            }
        }
    }

    fn understood(&mut self, heard: SideOutput) -> Result<Option<Said>, AbError> {
        match heard {
            SideOutput::Line(line) => Ok(serde_json::from_str(&line).ok()),
            SideOutput::Words(message) => Ok(Some(Said::Warning { message })),
            SideOutput::Silence => Ok(None),
            SideOutput::End => Err(self.process.died(&self.label)),
        }
    }
}

/// Parses the first line of a side, and checks that this program supports its versions.
fn greeting(line: &str, label: &str) -> Result<Hello, AbError> {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let hello = &value["hello"];
    if hello["side"] != SIDE_PROTOCOL {
        let version = match hello["side"].as_u64() {
            Some(version) => format!("version {version} of the protocol of sides"),
            None => "no protocol of sides that this program knows".to_owned(),
        };
        let title = format!("{label} speaks {version}, this program version {SIDE_PROTOCOL}");
        return Err(unlike(title));
    }
    if hello["format"] != FORMAT_VERSION {
        let title = format!(
            "{label} writes results of format {}, this program reads format {FORMAT_VERSION}",
            hello["format"]
        );
        return Err(unlike(title));
    }
    serde_json::from_value(hello.clone())
        .map_err(|error| unlike(format!("{label} has another greeting: {error}")))
}

fn unlike(title: String) -> AbError {
    let help = "choose a ref whose build speaks the same version, or run each build by itself and hold the two results \
                folders against each other with `compare`";
    AbError::Unlike(Failure::plain(title, Some(help.to_owned())))
}

enum SideOutput {
    Line(String),
    /// A line of standard error.
    Words(String),
    /// No output for a while.
    Silence,
    End,
}

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Receiver<SideOutput>,
    has_greeted: bool,
    last_words: Vec<String>,
}

impl Process {
    fn start(order: &SideOrder) -> Result<Self, AbError> {
        let mut command = Command::new(&order.program);
        command
            .args(arguments(order))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C reaches only the parent, which ends the sides in an orderly manner.
        os::in_own_group(&mut command);
        let mut child = command.spawn().map_err(|error| {
            let program = order.program.display();
            AbError::mistake(format!("cannot start `{program}`: {error}"), None)
        })?;
        let (sender, heard) = mpsc::channel();
        pass_lines(child.stdout.take(), sender.clone(), SideOutput::Line);
        pass_lines(child.stderr.take(), sender, SideOutput::Words);
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            heard,
            has_greeted: false,
            last_words: Vec::new(),
        })
    }

    /// Sends a message. If the side has ended, the next read reports it.
    fn tell(&mut self, turn: &Turn) {
        let mut line = serde_json::to_vec(turn).unwrap_or_default();
        line.push(b'\n');
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(&line).and_then(|()| stdin.flush());
        }
    }

    fn hear(&mut self) -> SideOutput {
        match self.heard.recv_timeout(LOOK) {
            Ok(heard) => {
                if let SideOutput::Words(text) = &heard {
                    self.last_words.push(text.clone());
                    if self.last_words.len() > LAST_LINES {
                        self.last_words.remove(0);
                    }
                }
                heard
            }
            Err(RecvTimeoutError::Timeout) => SideOutput::Silence,
            Err(RecvTimeoutError::Disconnected) => SideOutput::End,
        }
    }

    /// The error of a side that ended before it could plan.
    fn no_greeting(&mut self, label: &str) -> AbError {
        let code = self.child.wait().ok().and_then(|status| status.code());
        let words = self.last_words.join("\n");
        let unknown = ["unrecognized subcommand", "unexpected argument"];
        if unknown.iter().any(|known| words.contains(known)) {
            let title = format!(
                "{label} does not know `fieldtrial side`, by which two builds are run in turns"
            );
            return unlike(title);
        }
        if code == Some(MISTAKE) {
            return AbError::mistake(
                format!("{label} cannot plan its manifest (see above)"),
                None,
            );
        }
        self.died(label)
    }

    fn died(&mut self, label: &str) -> AbError {
        let status = self.child.wait();
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = match self.last_words.as_slice() {
            [] => String::new(),
            lines => format!(":\n{}", lines.join("\n")),
        };
        let title = format!("{label} has ended before it should ({how}){words}");
        let help = "what was finished is kept; the same command goes on".to_owned();
        AbError::Died(Failure::plain(title, Some(help)))
    }

    fn has_ended(&mut self) -> bool {
        // A child that cannot be waited for has ended.
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    /// A side whose stdin closes stops its run, writes its results and ends.
    fn drop(&mut self) {
        self.stdin = None;
        let began = Instant::now();
        while self.has_greeted && began.elapsed() < PATIENCE && !self.has_ended() {
            thread::sleep(LOOK);
        }
        if !self.has_ended() {
            os::kill_group(&mut self.child);
            let _ = self.child.wait();
        }
    }
}

fn arguments(order: &SideOrder) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["side".into(), order.manifest.clone().into()];
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    option("--located-at", order.located_at.clone().into());
    option("--results", order.results.clone().into());
    option("--session", order.session.clone().into());
    for set in &order.set {
        option("--set", set.into());
    }
    if let Some(only) = &order.only {
        option("--only", only.into());
    }
    words.extend(order.fresh.then(|| "--fresh".into()));
    words
}

fn pass_lines(
    from: Option<impl Read + Send + 'static>,
    to: Sender<SideOutput>,
    heard: fn(String) -> SideOutput,
) {
    thread::spawn(move || {
        let lines = from
            .into_iter()
            .flat_map(|from| BufReader::new(from).lines());
        for line in lines.map_while(Result::ok) {
            if to.send(heard(line)).is_err() {
                break;
            }
        }
    });
}
