//! [`Outputs`]: reads the output of a child process, line by line.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Number of the last lines of standard error that are kept.
const LAST_LINES: usize = 20;

/// Longest time to wait for a line before [`Output::Silence`] is returned.
pub(super) const LINE_TIMEOUT: Duration = Duration::from_millis(50);

pub(super) enum Output {
    /// A line of standard output.
    Line(String),
    /// A line of standard error.
    StderrLine(String),
    /// No line arrived within [`LINE_TIMEOUT`].
    Silence,
    End,
}

#[derive(Debug)]
pub(super) struct Outputs {
    lines: Receiver<Output>,
    /// The last lines of standard error so far.
    pub(super) stderr_tail: Vec<String>,
}

impl Outputs {
    /// Reads the output of `child`, whose standard output and standard error must be pipes.
    pub(super) fn of(child: &mut Child) -> Self {
        let (sender, lines) = mpsc::channel();
        pass_lines(child.stdout.take(), sender.clone(), Output::Line);
        pass_lines(child.stderr.take(), sender, Output::StderrLine);
        Self {
            lines,
            stderr_tail: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Output {
        match self.lines.recv_timeout(LINE_TIMEOUT) {
            Ok(output) => {
                if let Output::StderrLine(text) = &output {
                    self.stderr_tail.push(text.clone());
                    if self.stderr_tail.len() > LAST_LINES {
                        self.stderr_tail.remove(0);
                    }
                }
                output
            }
            Err(RecvTimeoutError::Timeout) => Output::Silence,
            Err(RecvTimeoutError::Disconnected) => Output::End,
        }
    }
}

fn pass_lines(
    from: Option<impl Read + Send + 'static>,
    to: Sender<Output>,
    output: fn(String) -> Output,
) {
    thread::spawn(move || {
        let lines = from.map(|from| BufReader::new(from).lines());
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            if to.send(output(line)).is_err() {
                break;
            }
        }
    });
}
