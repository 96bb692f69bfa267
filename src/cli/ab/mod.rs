//! `fieldtrial ab`: runs two builds in turns and compares them.

mod arguments;
mod conclude;

mod ab_run;
mod frame;
mod side_source;
mod words;

use crate::ab::AbError;

use super::interrupt::Interrupt;
use super::output::print_failure;
use super::{Outcome, Problem, exit_code};

pub(super) use arguments::AbArguments;

use ab_run::AbRun;
use frame::SharedSettings;
use side_source::sides;

pub(super) fn ab(arguments: &AbArguments) -> Outcome {
    let frame = SharedSettings::of(arguments)?;
    let interrupt = Interrupt::listen()?;
    let sides = sides(arguments, &frame.manifest, interrupt.is_asked());
    let run = |sides| {
        let ab_run = AbRun {
            arguments,
            frame: &frame,
            sides,
            interrupt: &interrupt,
        };
        ab_run.run()
    };
    sides.and_then(run).or_else(code_of)
}

/// Prints the error, unless the user interrupted, and returns its exit code; a mistake of the user is passed on as an
/// error.
fn code_of(error: AbError) -> Outcome {
    let (failure, code) = match error {
        AbError::Mistake(failure) => return Err(Problem::Mistake(failure)),
        AbError::IncompatibleSides(failure) => (failure, exit_code::NOT_COMPARABLE),
        AbError::Died(failure) => (failure, exit_code::FAILED),
        AbError::Interrupted => return Ok(exit_code::INTERRUPTED),
    };
    print_failure(&failure);
    Ok(code)
}
