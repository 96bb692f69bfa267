//! [`History`]: the times of an experiment over its sessions, with changes.

use crate::compare::Threshold;
use crate::compare::statistics::SEGMENT;
use crate::results::Environment;
use crate::results::git::LoggedCommit;

/// Smallest number of sessions of a cell from which a lasting change can be found.
pub const SESSIONS_FOR_A_CHANGE: usize = 2 * SEGMENT;

/// The times of an experiment on one machine class (the must-match fields of its environment).
#[derive(Debug, Clone)]
pub struct History {
    /// Name of the results folder.
    pub name: String,
    /// The machine and build.
    pub environment: Environment,
    /// Must-match fields in which this machine and build differ from those of the newest times, with this machine's
    /// values.
    pub differing: Vec<(String, String)>,
    /// Sessions in the order of time.
    pub sessions: Vec<MeasuredSession>,
    /// Histories of the cells, in plan order.
    pub cells: Vec<CellHistory>,
}

/// A session, and the first commit that has its times.
#[derive(Debug, Clone)]
pub struct MeasuredSession {
    /// Name of the session; in results of versions that recorded none, the hash of the commit.
    pub id: String,
    /// The first commit that has the times of the session.
    pub commit: LoggedCommit,
}

/// The times of a cell, one point per session; where work per sample, number of threads or precision changed, another
/// history begins.
#[derive(Debug, Clone)]
pub struct CellHistory {
    /// The axis values that distinguish the cell, or its key.
    pub label: String,
    /// Whether the newest results have the cell with the same work and conditions.
    pub is_current: bool,
    /// Whether times are those of whole runs, because the program reports no steps, and not times per sample.
    pub is_whole_run: bool,
    /// The cell's points, in the order of sessions.
    pub points: Vec<HistoryPoint>,
    /// Smallest relative difference that matters.
    pub threshold: Threshold,
    /// Lasting changes of the time, in order of sessions.
    pub changes: Vec<Shift>,
    /// Sessions whose time is apart from those before and after, in order.
    pub blips: Vec<Shift>,
}

/// The time of a cell in a session.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPoint {
    /// Index of the session in [`History::sessions`].
    pub session: usize,
    /// Median over the runs, in ms per sample (or per run).
    pub ms: f64,
}

/// A lasting change of a time, or a blip: a single session whose time is apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Index in [`History::sessions`] of the first session after the change, or of the blip.
    pub session: usize,
    /// Geometric mean of the times before the change, or around the blip, in ms.
    pub before_ms: f64,
    /// Geometric mean of the times from the change on, or time of the blip, in ms.
    pub after_ms: f64,
    /// Two-sided p-value before the correction for the number of cells.
    pub p: f64,
}

impl Shift {
    /// `after / before`.
    pub fn ratio(&self) -> f64 {
        self.after_ms / self.before_ms
    }
}
