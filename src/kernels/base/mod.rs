//! What every module may use: seeded random streams, statistics, units, text, and later hashes and the operating system.
//!
//! Owns no concept of the program; imports nothing of it.

mod allocator;
pub mod build_info;
pub mod hash;
pub mod os;
pub mod pareto;
pub mod png;
mod seed;
pub mod shell;
pub mod statistics;
pub mod text;
pub mod units;

pub use seed::{Purpose, Seed};
