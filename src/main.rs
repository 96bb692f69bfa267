//! The program `fieldtrial`.

use std::io::{self, Write};
use std::process::ExitCode;

use fieldtrial::cli;

fn main() -> ExitCode {
    // The panic has printed its message; add that it is a bug of the program.
    std::panic::catch_unwind(cli::run).unwrap_or_else(|_| {
        // Standard error may be closed.
        let _ = writeln!(
            io::stderr(),
            "error: this is a bug in fieldtrial, please report it with the lines above"
        );
        ExitCode::from(cli::exit_code::BUG)
    })
}
