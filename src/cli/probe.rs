//! `fieldtrial probe` (hidden): describes a device as JSON on standard output (`plan::device_facts`).

use clap::Args;

use crate::base::os;
use crate::device::DeviceKind;
use crate::plan;
use crate::progress::write_line;

use super::{Outcome, exit_code};

#[derive(Debug, Args)]
pub(super) struct ProbeArguments {
    /// `cpu`, `cuda` or `cuda:N`
    device: DeviceKind,
}

pub(super) fn probe(arguments: &ProbeArguments) -> Outcome {
    // Output of libraries must not mix with the JSON.
    let mut out = os::take_stdout()?;
    let answer = plan::probe(arguments.device);
    write_line(&mut out, &answer)?;
    Ok(exit_code::GOOD)
}
