//! Runs two builds, or two versions of a manifest, in turns on one machine, so that drifts of the machine affect both
//! alike.
//!
//! ```text
//!  REF ──checkout──▶ build ──▶ `fieldtrial side` ◀─┐  turns: A B, B A, …
//!                                                  ├── run_pairs ──▶ reports/NAME/ab/{before,after}
//!  working tree ───▶ build ──▶ `fieldtrial side` ◀─┘                 two results folders of one session
//! ```
//! Each side plans its own manifest and stores its own results. This module pairs their runs by key, seed and block,
//! decides which side runs next, and manages both processes. It computes no verdicts: `compare` reads the two folders,
//! and decides whether a cell needs more pairs.

mod builder;
mod checkout;
mod error;
mod output;
mod protocol;
mod run_pairs;
mod side;
mod turns;
mod until_sure;

pub use crate::progress::{EndedRun, RunName};
pub use builder::{build, has_package};
pub use checkout::Checkout;
pub use error::AbError;
pub use protocol::{Hello, OfferedRun, SIDE_PROTOCOL, SideMessage, SideRequest};
pub use run_pairs::{PairCounts, PairEvent, run_pairs};
pub use side::Side;
pub use turns::{BeforeOrAfter, Order, Pair, Turns};
pub use until_sure::SequentialTests;
