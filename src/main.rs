//! The program `fieldtrial`.

use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;

use fieldtrial::base::os;
use fieldtrial::cli;
use fieldtrial::datasets::is_contained_panic;
use fieldtrial::event::NO_THREAD;

fn main() -> ExitCode {
    os::keep_whole_stacks();
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| match info.payload_as_str() {
        Some(message) if cli::is_thread_without_stack(message) => os::end_at_once(
            cli::exit_code::FAILED.into(),
            format_args!("error: {NO_THREAD}\n"),
        ),
        Some(message) if cli::is_refused_thread(message) => {}
        _ if is_contained_panic() => {}
        _ => print(info),
    }));
    panic::catch_unwind(cli::run).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>();
        let (sentence, code) = if message.is_some_and(|text| cli::is_refused_thread(text)) {
            (NO_THREAD, cli::exit_code::FAILED)
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
