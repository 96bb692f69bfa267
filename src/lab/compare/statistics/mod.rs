//! Tests, intervals and power: the numerical part of comparisons.
//!
//! Complements `base::statistics` with rank tests with exact distributions, Holm's correction, a stratified permutation
//! test, the bootstrap of a ratio of medians, change points, quantiles of Student's t, and detectable effect sizes. It does not depend on
//! cells or verdicts. `docs/adr/0010-tests-and-verdicts.md` explains the choice of tests.

mod bootstrap;
mod change_points;
mod dice;
mod holm;
mod mann_whitney;
mod permutation;
mod power;
mod ranks;
#[cfg(test)]
mod reference;
mod sign_bets;
mod sign_flip;
mod student;

pub(super) use bootstrap::{Sides, log_ratios, percentiles, ratio_of_runs};
pub(super) use change_points::{SEGMENT, Step, changes_and_blips};
pub(super) use dice::Dice;
pub(super) use holm::holm;
pub(crate) use mann_whitney::mann_whitney;
pub(super) use mann_whitney::smallest_mann_whitney;
pub(super) use permutation::{Draws, Permuted, Stratum, permute};
pub(super) use power::{detectable, detectable_mean};
pub(super) use sign_bets::{Evidence, anytime_interval};
pub use sign_flip::sign_flips;
pub(super) use sign_flip::{sign_flip, smallest_sign_flip};
pub use student::student_quantile;
