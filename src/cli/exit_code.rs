//! The exit codes of the program.

/// Success. Skipped or infeasible cells only give a warning.
pub const GOOD: u8 = 0;
/// A cell failed (diverged, timeout, oom, failed, panicked, killed), a comparison found a regression, or results are
/// stale.
pub const FAILED: u8 = 1;
/// The user's mistake: the manifest, an option, a missing or unreadable file or data; or every cell is infeasible.
pub const MISTAKE: u8 = 2;
/// Two results cannot be compared.
pub const NOT_COMPARABLE: u8 = 3;
/// There is nothing to compare.
pub const NOTHING_TO_COMPARE: u8 = 4;
/// A bug of this program.
pub const BUG: u8 = 70;
/// Interrupted (Ctrl-C); finished runs are kept.
pub const INTERRUPTED: u8 = 130;

/// [`FAILED`] if something has failed, else [`GOOD`].
pub(super) fn failed_if(has_failed: bool) -> u8 {
    if has_failed { FAILED } else { GOOD }
}
