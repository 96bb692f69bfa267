//! The parts of a report, one file each: functions from a [`super::view::View`] to values for templates.

pub(crate) mod batch_curve;
pub(crate) mod bottleneck;
pub(crate) mod cells;
pub(crate) mod chosen;

pub(crate) mod complexity;
pub(crate) mod confusion;
pub(crate) mod cost;
pub(crate) mod difference;
pub(crate) mod environment;
pub(crate) mod field;
pub(crate) mod findings;
pub(crate) mod gpu;
pub(crate) mod leak;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod method;
pub(crate) mod ops;
pub(crate) mod parallel;
pub(crate) mod phases;
pub(crate) mod plots;
pub(crate) mod quality;
pub(crate) mod ranking;
pub(crate) mod reach;

pub(crate) mod run_parts;
pub(crate) mod samples;
pub(crate) mod scaling;
pub(crate) mod speed;
pub(crate) mod targets;
pub(crate) mod tasks;
pub(crate) mod treatment;
pub(crate) mod worker_curve;
