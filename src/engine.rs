//! What trains in Fieldtrial: the rooms from `base` to `train`, compiled for speed.
//!
//! The crate `fieldtrial` shows them under its own name and adds what stands around training: results, processes,
//! reports, comparisons, search, the command line. Rooms are named `crate::room` in both (docs/adr/0015).

pub mod base;
pub mod diag;

pub mod device;
pub mod manifest;
pub mod measure;

pub mod ops;

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
