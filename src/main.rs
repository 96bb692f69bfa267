//! The program `fieldtrial`.

use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;

use fieldtrial::base::os;
use fieldtrial::cli;
use fieldtrial::datasets::is_converting_panic;
use fieldtrial::event::THREAD_START_ERROR;

fn main() -> ExitCode {
    os::ignore_small_min_stack();
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| match info.payload_as_str() {
        Some(message) if cli::is_thread_without_stack(message) => os::exit_with_message(
            cli::exit_code::FAILED.into(),
            format_args!("error: {THREAD_START_ERROR}\n"),
        ),
        Some(message) if cli::is_refused_thread(message) => {}
        _ if is_converting_panic() => {}
        _ => print(info),
    }));
    panic::catch_unwind(cli::run).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>();
        let (sentence, code) = if message.is_some_and(|text| cli::is_refused_thread(text)) {
            (THREAD_START_ERROR, cli::exit_code::FAILED)
        } else {
            // The panic has already printed its message.
            (
                "this is a bug in fieldtrial, please report it with the lines above",
                cli::exit_code::BUG,
            )
        };
        // Standard error may be closed, so an error of this write is ignored.
        let _ = writeln!(io::stderr(), "error: {sentence}");
        ExitCode::from(code)
    })
}
