//! [`Stdout`]: standard output for commands whose exit code matters too.

use std::io::{self, ErrorKind, Write};

/// Standard output that ignores a closed pipe: the exit code of a gate must not depend on its reader.
///
/// Commands that only print end at the first such error, with [`GOOD`](super::exit_code::GOOD).
#[derive(Debug)]
pub(super) struct Stdout(io::Stdout);

impl Stdout {
    pub(super) fn new() -> Self {
        Self(io::stdout())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}
