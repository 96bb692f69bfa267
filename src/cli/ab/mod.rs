//! `fieldtrial ab`: runs two builds in turns and compares them.

mod arguments;
mod conclude;
mod contestants;
mod frame;
mod trial;
mod words;

use crate::ab::AbError;
use crate::diag::Failure;

use super::interrupt::Interrupt;
use super::{Outcome, Problem, exit_code};

pub(super) use arguments::AbArguments;

use frame::Frame;
use trial::Trial;

pub(super) fn ab(arguments: &AbArguments) -> Outcome {
    let frame = Frame::of(arguments)?;
    frame.check(arguments)?;
    let interrupt = Interrupt::listen()?;
    let contestants =
        match contestants::contestants(arguments, &frame.manifest, interrupt.is_asked()) {
            Ok(contestants) => contestants,
            Err(error) => return code_of(error),
        };
    let trial = Trial {
        arguments,
        frame: &frame,
        contestants: &contestants,
        interrupt: &interrupt,
    };
    trial.run().or_else(code_of)
}

/// Prints why it ended, and returns the exit code.
fn code_of(error: AbError) -> Outcome {
    let (failure, code) = match error {
        AbError::Mistake(failure) => return Err(Problem::Mistake(failure)),
        AbError::Unlike(failure) => (failure, exit_code::NOT_COMPARABLE),
        AbError::Died(failure) => (failure, exit_code::FAILED),
        AbError::Interrupted => return Ok(exit_code::INTERRUPTED),
    };
    eprint!("{}", failure.render(Failure::is_stderr_coloured()));
    Ok(code)
}
