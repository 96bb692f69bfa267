//! The program `fieldtrial`.

use std::io::{self, Write};
use std::process::ExitCode;

use fieldtrial::cli;

fn main() -> ExitCode {
    // The panic's own message has been printed; what is left is to say whose fault it is.
    std::panic::catch_unwind(cli::run).unwrap_or_else(|_| {
        // Nobody may read it any more.
        let _ = writeln!(
            io::stderr(),
            "error: this is a bug in fieldtrial, please report it with the lines above"
        );
        ExitCode::from(cli::exit_code::BUG)
    })
}
