//! Helpers for every module: seeded random streams, statistics, units, text, hashes and the operating system.
//!
//! Imports no other module of the program.

mod allocator;
pub mod build_info;
pub mod descendants;
pub mod file;
pub mod hash;
pub mod os;
pub mod pareto;
pub mod png;
mod seed;
pub mod shell;
pub mod statistics;
pub mod tally;
pub mod temporary;
pub mod text;
pub mod units;

pub use seed::{Purpose, Seed};
