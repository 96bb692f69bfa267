//! The library behind Fieldtrial's commands: it starts training runs, stores their results, compares two results and
//! searches hyperparameters.
//!
//! The crate `fieldtrial` re-exports these modules and adds the user interface: progress, reports, commands (docs/adr/0018).

// `println!` panics if its stream is closed or full; `writeln!` returns the error.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub use fieldtrial_engine::{
    base, baselines, build_info, datasets, device, diag, event, layers, loader, losses, manifest,
    measure, models, ops, optim, plan, program, tasks, train, trained, verify,
};

pub mod results;

pub mod execute;
pub mod record;

pub mod compare;

pub mod search;
