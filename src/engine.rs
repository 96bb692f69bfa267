//! What trains in Fieldtrial: the rooms from `diag` to `train`, on the kernels' `base` to `ops`.
//!
//! The crates above show them under their own names and add what stands around training: processes, results, comparisons,
//! search, then reports and the command line. Rooms are named `crate::room` in all four crates (docs/adr/0015).

pub use fieldtrial_kernels::{base, device, measure, ops};

pub mod diag;

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

pub mod train;
pub mod verify;
