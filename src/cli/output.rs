//! [`Stdout`]: standard output for commands that also return an exit code; [`print_failure`] for standard error.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;

use crate::diag::Failure;

/// Output format of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

/// Prints an error on standard error.
pub(super) fn print_failure(failure: &Failure) {
    eprint!("{}", failure.render(Failure::is_stderr_coloured()));
}

/// Standard output that ignores a closed pipe: the exit code of a gate must not depend on whether its output is read.
///
/// Commands that only print end at the first closed pipe, with [`GOOD`](super::exit_code::GOOD).
#[derive(Debug)]
pub(super) struct Stdout(io::Stdout);

impl Stdout {
    pub(super) fn new() -> Self {
        Self(io::stdout())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ignoring_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        ignoring_closed(self.0.flush(), ())
    }
}

fn ignoring_closed<T>(done: io::Result<T>, instead: T) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(instead),
        done => done,
    }
}
