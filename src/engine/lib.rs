//! The part of Fieldtrial that trains: models, tasks, manifests, plans and the worker.
//!
//! It re-exports the modules of `fieldtrial-kernels`, and the crates that depend on it re-export its modules, so that
//! `crate::plan` is the same path in all of them (docs/adr/0018).

// `println!` panics if its stream is closed or full; `writeln!` returns the error.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub use fieldtrial_kernels::{base, device, measure, ops};

pub mod build_info;
pub mod diag;

#[cfg(test)]
mod testing;

pub mod manifest;

pub mod datasets;
pub mod layers;
pub mod losses;
pub mod optim;

pub mod loader;
pub mod models;

pub mod tasks;

pub mod plan;

pub mod event;

pub mod baselines;
pub mod program;
pub mod train;
pub mod trained;
pub mod verify;
