//! The numerical part of Fieldtrial: devices, and the differentiable operations that dfdx lacks, compiled for speed.
//!
//! `fieldtrial-engine` re-exports these modules and adds training on top of them (docs/adr/0018).

// `println!` panics if its stream is closed or full; `writeln!` returns the error.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod base;

pub mod device;
pub mod measure;

pub mod ops;
