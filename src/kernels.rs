//! What computes in Fieldtrial: devices, and the differentiable operations that dfdx lacks, compiled for speed.
//!
//! The crate `fieldtrial-engine` shows these rooms under its own name and adds what trains with them. Rooms are named
//! `crate::room` in all four crates (docs/adr/0015).

pub mod base;

pub mod device;
pub mod measure;

pub mod ops;
