//! Starts the runs of Fieldtrial, keeps their results, compares and searches.
//!
//! The crate `fieldtrial` re-exports these modules and adds what people see: progress, reports, commands (docs/adr/0018).

pub use fieldtrial_engine::{
    base, build_info, datasets, device, diag, event, layers, loader, losses, manifest, measure,
    models, ops, optim, plan, tasks, train, verify,
};

pub mod results;

pub mod execute;
pub mod record;

pub mod compare;

pub mod search;
