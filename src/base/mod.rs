//! What every room may use: seeded random streams, and later statistics, units, text, hashes, the operating system.
//!
//! Owns no concept of the program; imports nothing of it.

pub mod build_info;
pub mod hash;
pub mod os;
mod seed;

pub use seed::{Purpose, Seed};
