//! Every exit code of the program, for scripts and `just`.

/// It went well. Cells that are skipped or infeasible are a warning.
pub const GOOD: u8 = 0;
/// A cell failed (diverged, timeout, oom, failed, panicked, killed), or a comparison found a regression.
pub const FAILED: u8 = 1;
/// The user's mistake: the manifest, an option, a file or data that are missing or cannot be read; or every cell is infeasible.
pub const MISTAKE: u8 = 2;
/// Two results cannot be compared.
pub const NOT_COMPARABLE: u8 = 3;
/// There is nothing to compare.
pub const NOTHING_TO_COMPARE: u8 = 4;
/// Our bug.
pub const BUG: u8 = 70;
/// Interrupted (Ctrl-C): what is finished is kept.
pub const INTERRUPTED: u8 = 130;
