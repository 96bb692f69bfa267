//! What becomes of runs in Fieldtrial: the rooms that start them, keep their results, compare and search.
//!
//! The crate `fieldtrial` shows them under its own name and adds what people see: progress, reports, commands. Rooms are
//! named `crate::room` in all four crates (docs/adr/0015).

pub use fieldtrial_engine::{
    base, datasets, device, diag, event, layers, loader, losses, manifest, measure, models, ops,
    optim, plan, tasks, train, verify,
};

pub mod results;

pub mod execute;
pub mod record;

pub mod compare;

pub mod search;
